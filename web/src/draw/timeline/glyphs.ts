/** Letters as masks, made once per size: a frame with hundreds of labels then costs a few milliseconds. */
import { mix, type Raster } from "./raster.ts";
import type { Ink } from "./surface.ts";

interface Glyph {
  left: number;
  top: number;
  width: number;
  height: number;
  mask: Uint8Array;
}

/** Places within a pixel at which a letter may begin. */
const PLACES = 4;
/** Scripts whose letters change with their neighbours are drawn as whole words. */
const SIMPLE = /^[\u0020-\u024f\u0370-\u04ff\u2000-\u206f\u2190-\u22ff]*$/;
const WORDS = 2000;

export class Glyphs {
  private readonly context: CanvasRenderingContext2D;
  private readonly advances = new Map<string, number>();
  private readonly glyphs = new Map<string, Glyph>();
  private readonly words = new Map<string, Glyph>();

  constructor(
    private readonly font: string,
    private readonly size: number,
  ) {
    const canvas = document.createElement("canvas");
    canvas.width = 64;
    canvas.height = Math.ceil(size * 2);
    this.context = canvas.getContext("2d", { willReadFrequently: true })!;
    this.context.font = font;
  }

  /** Width of a letter, px. */
  readonly advance = (char: string): number => {
    let width = this.advances.get(char);
    if (width === undefined) {
      this.context.font = this.font;
      width = this.context.measureText(char).width;
      this.advances.set(char, width);
    }
    return width;
  };

  /** Writes a text with its middle line at y. */
  draw(raster: Raster, text: string, x: number, y: number, ink: Ink): void {
    if (!SIMPLE.test(text)) return this.blit(raster, this.word(text), Math.round(x), y, ink);
    let at = x;
    for (const char of text) {
      if (char !== " ") {
        const whole = Math.floor(at);
        const place = Math.floor((at - whole) * PLACES);
        this.blit(raster, this.glyph(char, place), whole, y, ink);
      }
      at += this.advance(char);
    }
  }

  private blit(raster: Raster, glyph: Glyph, x: number, y: number, ink: Ink): void {
    const left = x + glyph.left;
    const top = Math.round(y) + glyph.top;
    if (top < 0 || top + glyph.height > raster.height) {
      if (top >= raster.height || top + glyph.height <= 0) return;
    }
    const { pixels, width } = raster;
    const from = Math.max(0, -left);
    const to = Math.min(glyph.width, width - left);
    for (let row = Math.max(0, -top); row < glyph.height && top + row < raster.height; row++) {
      const base = (top + row) * width + left;
      const source = row * glyph.width;
      for (let column = from; column < to; column++) {
        const strength = glyph.mask[source + column]!;
        if (strength > 0) pixels[base + column] = mix(pixels[base + column]!, ink, strength + (strength >> 7));
      }
    }
  }

  private glyph(char: string, place: number): Glyph {
    const key = char + place;
    let glyph = this.glyphs.get(key);
    if (!glyph) {
      glyph = this.render(char, place / PLACES);
      this.glyphs.set(key, glyph);
    }
    return glyph;
  }

  private word(text: string): Glyph {
    let glyph = this.words.get(text);
    if (!glyph) {
      if (this.words.size > WORDS) this.words.clear();
      glyph = this.render(text, 0);
      this.words.set(text, glyph);
    }
    return glyph;
  }

  private render(text: string, shift: number): Glyph {
    const { context, size } = this;
    const pad = 3;
    const width = Math.ceil(context.measureText(text).width) + 2 * pad + 1;
    const height = Math.ceil(size * 2);
    const { canvas } = context;
    if (canvas.width < width) canvas.width = width;
    context.font = this.font;
    context.textBaseline = "middle";
    context.fillStyle = "#fff";
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.fillText(text, pad + shift, height / 2);
    const { data } = context.getImageData(0, 0, width, height);
    let top = height;
    let bottom = 0;
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        if (data[(y * width + x) * 4 + 3]! > 0) {
          top = Math.min(top, y);
          bottom = y + 1;
        }
      }
    if (bottom === 0) return { left: 0, top: 0, width: 0, height: 0, mask: new Uint8Array(0) };
    const mask = new Uint8Array(width * (bottom - top));
    for (let i = 0; i < mask.length; i++) mask[i] = data[(top * width + i) * 4 + 3]!;
    return { left: -pad, top: top - height / 2, width, height: bottom - top, mask };
  }
}
