/** A picture that is written pixel by pixel: ten thousands of columns a frame cost less here than as canvas calls. */

import { cssOf, type Columns, type Ink, type Surface } from "./surface.ts";

/** Pixels up to which a loop is quicker than a call. */
const FEW = 24;

let blended = new Uint32Array(0);
let probe: CanvasRenderingContext2D | null = null;

/** A colour of the style sheet as pixels have it; what is not opaque is laid over `under`. */
export function inkOf(css: string, under: Ink = 0xff000000): Ink {
  if (!probe) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    probe = canvas.getContext("2d", { willReadFrequently: true })!;
  }
  probe.globalCompositeOperation = "copy";
  probe.fillStyle = cssOf(under);
  probe.fillRect(0, 0, 1, 1);
  probe.globalCompositeOperation = "source-over";
  probe.fillStyle = css;
  probe.fillRect(0, 0, 1, 1);
  const [r = 0, g = 0, b = 0] = probe.getImageData(0, 0, 1, 1).data;
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

/** `top` over `under` with that much of it, 0 … 256. */
export function mix(under: Ink, top: Ink, amount: number): Ink {
  const rest = 256 - amount;
  const rb = ((under & 0xff00ff) * rest + (top & 0xff00ff) * amount) >>> 8;
  const g = ((under & 0x00ff00) * rest + (top & 0x00ff00) * amount) >>> 8;
  return (0xff000000 | (rb & 0xff00ff) | (g & 0x00ff00)) >>> 0;
}

export class Raster implements Surface {
  width = 1;
  height = 1;
  pixels = new Uint32Array(1);
  private image = new ImageData(1, 1);

  resize(width: number, height: number): void {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.image = new ImageData(this.width, this.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  /** Copies the first row to all others: what goes from top to bottom is drawn once. */
  repeat(): void {
    const { pixels, width } = this;
    for (let done = width; done < pixels.length; done *= 2)
      pixels.copyWithin(done, 0, Math.min(done, pixels.length - done));
  }

  /** An opaque rectangle; coordinates are whole pixels, what lies outside is left out. */
  fill(x0: number, y0: number, x1: number, y1: number, ink: Ink): void {
    const left = Math.max(0, x0);
    const right = Math.min(this.width, x1);
    if (left >= right) return;
    const bottom = Math.min(this.height, y1);
    const { pixels, width } = this;
    if (right - left < FEW) {
      for (let y = Math.max(0, y0); y < bottom; y++) {
        for (let at = y * width + left, end = y * width + right; at < end; at++) pixels[at] = ink;
      }
      return;
    }
    for (let y = Math.max(0, y0); y < bottom; y++) pixels.fill(ink, y * width + left, y * width + right);
  }

  /** A rectangle that lets some of what is below it through; amount 0 … 256. */
  blend(x0: number, y0: number, x1: number, y1: number, ink: Ink, amount: number): void {
    if (amount >= 256) return this.fill(x0, y0, x1, y1, ink);
    const left = Math.max(0, x0);
    const right = Math.min(this.width, x1);
    const bottom = Math.min(this.height, y1);
    const { pixels, width } = this;
    for (let y = Math.max(0, y0); y < bottom; y++) {
      for (let at = y * width + left, end = y * width + right; at < end; at++)
        pixels[at] = mix(pixels[at]!, ink, amount);
    }
  }

  /** What lies below columns (ground, grid, veil) is the same all the way down, so that it is mixed in once. */
  columns(low: number, high: number, top: number, bottom: number, { tops, inks, amounts }: Columns): void {
    const { pixels, width } = this;
    if (blended.length < width) blended = new Uint32Array(width);
    const under = (bottom - 1) * width;
    for (let x = low; x < high; x++)
      if (tops[x]! < bottom)
        blended[x] = amounts[x]! >= 256 ? inks[x]! : mix(pixels[under + x]!, inks[x]!, amounts[x]!);
    // row by row, as the pixels lie in memory: column by column takes three times as long
    for (let y = top; y < bottom; y++) {
      const base = y * width;
      for (let x = low; x < high; x++) if (y >= tops[x]!) pixels[base + x] = blended[x]!;
    }
  }

  /** A filled rectangle whose corner pixels are softened. */
  rounded(x0: number, y0: number, x1: number, y1: number, ink: Ink, amount: number): void {
    const top = this.corner(x0, x1, y0);
    const bottom = this.corner(x0, x1, y1 - 1);
    const { pixels } = this;
    const [a, b] = [pixels[top + x0], pixels[top + x1 - 1]];
    const [c, d] = [pixels[bottom + x0], pixels[bottom + x1 - 1]];
    this.blend(x0, y0, x1, y1, ink, amount);
    if (top >= 0) this.soften(top, x0, x1, a!, b!);
    if (bottom >= 0) this.soften(bottom, x0, x1, c!, d!);
  }

  /** Where a row begins in the pixels when its two corners are on the picture, else -1. */
  private corner(x0: number, x1: number, y: number): number {
    return y >= 0 && y < this.height && x0 >= 0 && x1 <= this.width ? y * this.width : -1;
  }

  private soften(row: number, x0: number, x1: number, left: Ink, right: Ink): void {
    const { pixels } = this;
    pixels[row + x0] = mix(left, pixels[row + x0]!, 90);
    pixels[row + x1 - 1] = mix(right, pixels[row + x1 - 1]!, 90);
  }

  put(context: CanvasRenderingContext2D): void {
    context.putImageData(this.image, 0, 0);
  }
}
