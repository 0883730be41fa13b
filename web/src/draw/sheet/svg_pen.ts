/** A pen that writes SVG: what is drawn with it stays lines, shapes and text. */
import type { Pen } from "./pen.ts";

type Style = string | CanvasGradient | CanvasPattern;

interface State {
  fillStyle: Style;
  strokeStyle: Style;
  lineWidth: number;
  lineJoin: CanvasLineJoin;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  globalAlpha: number;
  dash: readonly number[];
  /** Place and size of a unit: what drawing needs of a matrix. */
  x: number;
  y: number;
  k: number;
  /** Groups that clips have opened. */
  clips: number;
}

const FRESH: State = {
  fillStyle: "#000",
  strokeStyle: "#000",
  lineWidth: 1,
  lineJoin: "miter",
  font: "10px sans-serif",
  textAlign: "start",
  textBaseline: "alphabetic",
  globalAlpha: 1,
  dash: [],
  x: 0,
  y: 0,
  k: 1,
  clips: 0,
};
/** How far below its middle line the letters of a font stand, in sizes of the font. */
const MIDDLE = 0.35;
const ANCHORS: Partial<Record<CanvasTextAlign, string>> = { center: "middle", right: "end", end: "end" };

export class SvgPen implements Pen {
  private state: State = { ...FRESH };
  private readonly saved: State[] = [];
  private readonly parts: string[] = [];
  private path: string[] = [];
  private clipCount = 0;
  private readonly colours = new Map<string, readonly [string, number]>();

  /** `ruler` is a canvas: widths of texts and colours of the style sheet are the browser's to know. */
  constructor(private readonly ruler: CanvasRenderingContext2D) {}

  /** The document; what stands in names is text in it, whatever it looks like. */
  document(width: number, height: number, title: string): string {
    while (this.saved.length > 0) this.restore();
    const size = `width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}"`;
    const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">\n<title>${escaped(title)}</title>\n`;
    return `${head}${this.parts.join("\n")}${"</g>".repeat(this.state.clips)}\n</svg>\n`;
  }

  get fillStyle(): Style { return this.state.fillStyle; } // prettier-ignore
  set fillStyle(value: Style) { this.state.fillStyle = value; } // prettier-ignore
  get strokeStyle(): Style { return this.state.strokeStyle; } // prettier-ignore
  set strokeStyle(value: Style) { this.state.strokeStyle = value; } // prettier-ignore
  get lineWidth(): number { return this.state.lineWidth; } // prettier-ignore
  set lineWidth(value: number) { this.state.lineWidth = value; } // prettier-ignore
  get lineJoin(): CanvasLineJoin { return this.state.lineJoin; } // prettier-ignore
  set lineJoin(value: CanvasLineJoin) { this.state.lineJoin = value; } // prettier-ignore
  get font(): string { return this.state.font; } // prettier-ignore
  set font(value: string) { this.state.font = value; } // prettier-ignore
  get textAlign(): CanvasTextAlign { return this.state.textAlign; } // prettier-ignore
  set textAlign(value: CanvasTextAlign) { this.state.textAlign = value; } // prettier-ignore
  get textBaseline(): CanvasTextBaseline { return this.state.textBaseline; } // prettier-ignore
  set textBaseline(value: CanvasTextBaseline) { this.state.textBaseline = value; } // prettier-ignore
  get globalAlpha(): number { return this.state.globalAlpha; } // prettier-ignore
  set globalAlpha(value: number) { this.state.globalAlpha = value; } // prettier-ignore

  save(): void {
    this.saved.push(this.state);
    this.state = { ...this.state, clips: 0 };
  }

  restore(): void {
    const before = this.saved.pop();
    if (!before) return;
    if (this.state.clips > 0) this.parts.push("</g>".repeat(this.state.clips));
    this.state = before;
  }

  translate(x: number, y: number): void {
    this.state.x += x * this.state.k;
    this.state.y += y * this.state.k;
  }

  /** Both ways alike: nothing here is stretched. */
  scale(k: number): void {
    this.state.k *= k;
  }

  setLineDash(dash: number[]): void {
    this.state.dash = dash;
  }

  beginPath(): void {
    this.path = [];
  }

  closePath(): void {
    this.path.push("Z");
  }

  moveTo(x: number, y: number): void {
    this.path.push(`M${this.at(x, y)}`);
  }

  lineTo(x: number, y: number): void {
    this.path.push(`${this.path.length === 0 ? "M" : "L"}${this.at(x, y)}`);
  }

  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void {
    this.path.push(`C${this.at(x1, y1)} ${this.at(x2, y2)} ${this.at(x, y)}`);
  }

  /** A whole circle: the only arc that is drawn here. */
  arc(x: number, y: number, radius: number): void {
    const r = this.length(radius);
    this.path.push(`M${this.at(x - radius, y)}a${r} ${r} 0 1 0 ${this.length(2 * radius)} 0`);
    this.path.push(`a${r} ${r} 0 1 0 ${this.length(-2 * radius)} 0Z`);
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path.push(this.box(x, y, width, height));
  }

  roundRect(x: number, y: number, width: number, height: number, radii: unknown = 0): void {
    const all = (Array.isArray(radii) ? radii : [radii]) as number[];
    const most = Math.min(Math.abs(width), Math.abs(height)) / 2;
    const [a, b, c, d] = [0, 1, 2, 3].map((at) => Math.min(most, all[at] ?? all[at % 2 === 1 ? 1 : 0] ?? all[0]!)) as [
      number,
      number,
      number,
      number,
    ];
    const corner = (r: number, toX: number, toY: number): string =>
      r === 0 ? "" : `A${this.length(r)} ${this.length(r)} 0 0 1 ${this.at(toX, toY)}`;
    this.path.push(
      `M${this.at(x + a, y)}L${this.at(x + width - b, y)}${corner(b, x + width, y + b)}`,
      `L${this.at(x + width, y + height - c)}${corner(c, x + width - c, y + height)}`,
      `L${this.at(x + d, y + height)}${corner(d, x, y + height - d)}L${this.at(x, y + a)}${corner(a, x + a, y)}Z`,
    );
  }

  clip(): void {
    const id = `clip${++this.clipCount}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path.join("")}"/></clipPath><g clip-path="url(#${id})">`);
    this.state.clips++;
  }

  fill(): void {
    if (this.path.length > 0) this.parts.push(`<path d="${this.path.join("")}"${this.fillOf()}/>`);
  }

  stroke(): void {
    if (this.path.length > 0) this.parts.push(`<path d="${this.path.join("")}" fill="none"${this.strokeOf()}/>`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    if (width > 0 && height > 0) this.parts.push(`<rect${this.sides(x, y, width, height)}${this.fillOf()}/>`);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`<path d="${this.box(x, y, width, height)}" fill="none"${this.strokeOf()}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    if (text.trim() === "") return;
    const { textAlign, textBaseline } = this.state;
    const { size, weight, family } = fontOf(this.state.font);
    const down = textBaseline === "middle" ? MIDDLE * size : textBaseline === "top" ? 0.8 * size : 0;
    const anchor = ANCHORS[textAlign];
    const attributes = [
      ` x="${round(this.state.x + x * this.state.k)}" y="${round(this.state.y + (y + down) * this.state.k)}"`,
      ` font-family="${escaped(family)}" font-size="${this.length(size)}"`,
      weight === "400" ? "" : ` font-weight="${weight}"`,
      anchor === undefined ? "" : ` text-anchor="${anchor}"`,
    ];
    this.parts.push(`<text${attributes.join("")}${this.fillOf()} xml:space="preserve">${escaped(text)}</text>`);
  }

  measureText(text: string): TextMetrics {
    this.ruler.font = this.state.font;
    return this.ruler.measureText(text);
  }

  private at(x: number, y: number): string {
    const { state } = this;
    return `${round(state.x + x * state.k)} ${round(state.y + y * state.k)}`;
  }

  private length(value: number): string {
    return round(value * this.state.k);
  }

  private box(x: number, y: number, width: number, height: number): string {
    return `M${this.at(x, y)}h${this.length(width)}v${this.length(height)}h${this.length(-width)}Z`;
  }

  private sides(x: number, y: number, width: number, height: number): string {
    const { state } = this;
    const place = ` x="${round(state.x + x * state.k)}" y="${round(state.y + y * state.k)}"`;
    return `${place} width="${this.length(width)}" height="${this.length(height)}"`;
  }

  private fillOf(): string {
    const [colour, alpha] = this.colour(this.state.fillStyle);
    return ` fill="${colour}"${alpha < 1 ? ` fill-opacity="${round(alpha)}"` : ""}`;
  }

  private strokeOf(): string {
    const { lineJoin, dash, lineWidth } = this.state;
    const [colour, alpha] = this.colour(this.state.strokeStyle);
    return [
      ` stroke="${colour}" stroke-width="${this.length(lineWidth)}"`,
      alpha < 1 ? ` stroke-opacity="${round(alpha)}"` : "",
      lineJoin === "miter" ? "" : ` stroke-linejoin="${lineJoin}"`,
      dash.length === 0 ? "" : ` stroke-dasharray="${dash.map((one) => this.length(one)).join(" ")}"`,
    ].join("");
  }

  /** A colour as every program reads it, and how much of it; the browser knows what the style sheet's words mean. */
  private colour(style: Style): readonly [string, number] {
    const css = typeof style === "string" ? style : "#000";
    let found = this.colours.get(css);
    if (!found) {
      this.ruler.fillStyle = "#000";
      this.ruler.fillStyle = css;
      const plain = this.ruler.fillStyle;
      const parts = /^rgba\((\d+), (\d+), (\d+), ([\d.e-]+)\)$/.exec(plain);
      found = parts ? [`rgb(${parts[1]},${parts[2]},${parts[3]})`, Number(parts[4])] : [plain, 1];
      this.colours.set(css, found);
    }
    return [found[0], found[1] * this.state.globalAlpha];
  }
}

function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** "600 11px Inter, sans-serif" in its parts. */
function fontOf(font: string): { size: number; weight: string; family: string } {
  const found = /^(?:(\d+) )?([\d.]+)px (.+)$/.exec(font);
  return { weight: found?.[1] ?? "400", size: Number(found?.[2] ?? 10), family: found?.[3] ?? "sans-serif" };
}

/** Text as it may stand in XML: what XML has no letter for becomes a box. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd") // eslint-disable-line no-control-regex
    .replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]!);
}
