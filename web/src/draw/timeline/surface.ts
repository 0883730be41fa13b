/** What the rows of the timeline are drawn on: pixels of our own on the screen, a pen for pictures to keep. */
import type { Pen } from "../sheet/pen.ts";

/** A colour as the pixels have it: 0xAABBGGRR, opaque. */
export type Ink = number;

/** Columns of one pixel each, by place: where they begin, their colour, and how much of it, 0 … 256. */
export interface Columns {
  tops: Int32Array;
  inks: Uint32Array;
  amounts: Int32Array;
}

/** Coordinates are whole pixels; what lies outside is left out. */
export interface Surface {
  readonly width: number;
  readonly height: number;
  fill(x0: number, y0: number, x1: number, y1: number, ink: Ink): void;
  /** A rectangle that lets some of what is below it through; amount 0 … 256. */
  blend(x0: number, y0: number, x1: number, y1: number, ink: Ink, amount: number): void;
  rounded(x0: number, y0: number, x1: number, y1: number, ink: Ink, amount: number): void;
  /** Columns from `low` to before `high`, each from its top, or `top` if that is lower down, to `bottom`. */
  columns(low: number, high: number, top: number, bottom: number, columns: Columns): void;
}

/** How labels are written: the width of a letter, and a text with its middle line at y. */
export interface Letters {
  readonly advance: (char: string) => number;
  write(text: string, x: number, y: number, ink: Ink): void;
}

/** A colour of the pixels as a style sheet writes it. */
export function cssOf(ink: Ink): string {
  return `#${[ink & 255, (ink >> 8) & 255, (ink >> 16) & 255].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Rows by shapes and text instead of pixels. */
export class PenSurface implements Surface {
  constructor(
    private readonly pen: Pen,
    readonly width: number,
    readonly height: number,
  ) {}

  fill(x0: number, y0: number, x1: number, y1: number, ink: Ink): void {
    this.blend(x0, y0, x1, y1, ink, 256);
  }

  blend(x0: number, y0: number, x1: number, y1: number, ink: Ink, amount: number): void {
    const { pen } = this;
    const left = Math.max(0, x0);
    const top = Math.max(0, y0);
    const [w, h] = [Math.min(this.width, x1) - left, Math.min(this.height, y1) - top];
    if (w <= 0 || h <= 0) return;
    pen.globalAlpha = Math.min(1, amount / 256);
    pen.fillStyle = cssOf(ink);
    pen.fillRect(left, top, w, h);
    pen.globalAlpha = 1;
  }

  rounded(x0: number, y0: number, x1: number, y1: number, ink: Ink, amount: number): void {
    const { pen } = this;
    if (y1 <= 0 || y0 >= this.height) return;
    pen.globalAlpha = Math.min(1, amount / 256);
    pen.fillStyle = cssOf(ink);
    pen.beginPath();
    pen.roundRect(x0, y0, x1 - x0, y1 - y0, 2);
    pen.fill();
    pen.globalAlpha = 1;
  }

  columns(low: number, high: number, top: number, bottom: number, { tops, inks, amounts }: Columns): void {
    // neighbours that are alike are one shape
    for (let x = low, next = low; x < high; x = next) {
      do next++;
      while (next < high && tops[next] === tops[x] && inks[next] === inks[x] && amounts[next] === amounts[x]);
      if (tops[x]! < bottom) this.blend(x, Math.max(top, tops[x]!), next, bottom, inks[x]!, amounts[x]!);
    }
  }
}

/** Labels as text of a pen. */
export class PenLetters implements Letters {
  private readonly widths = new Map<string, number>();

  constructor(
    private readonly pen: Pen,
    private readonly font: string,
  ) {}

  advance = (char: string): number => {
    let width = this.widths.get(char);
    if (width === undefined) {
      this.pen.font = this.font;
      this.widths.set(char, (width = this.pen.measureText(char).width));
    }
    return width;
  };

  write(text: string, x: number, y: number, ink: Ink): void {
    const { pen } = this;
    pen.font = this.font;
    pen.fillStyle = cssOf(ink);
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillText(text, x, y);
  }
}
