/** Columns of a part: whole numbers as planes of bytes, the lowest bytes first, so that they pack well. */
import { headOf } from "./parts.ts";

/** Name, bytes of a number, how many there are, and what was taken from each so that none is below 0. */
type ColumnHead = readonly [name: string, width: number, count: number, low: number];

interface TableHead {
  columns: readonly ColumnHead[];
  [fact: string]: unknown;
}

/** A table that was kept in the file. */
export class Columns<Facts> {
  readonly facts: Facts;
  private readonly places = new Map<string, { head: ColumnHead; at: number }>();

  constructor(private readonly part: Uint8Array<ArrayBuffer>) {
    const { head, at } = headOf<TableHead>(part);
    this.facts = head as Facts;
    let place = at;
    for (const column of head.columns) {
      this.places.set(column[0], { head: column, at: place });
      place += column[1] * column[2];
    }
  }

  has(name: string): boolean {
    return this.places.has(name);
  }

  /** The numbers of a column; each is exact up to 2 ** 53. */
  numbers(name: string): Float64Array<ArrayBuffer> {
    const found = this.places.get(name);
    if (!found) return new Float64Array(0);
    const [, width, count, low] = found.head;
    const values = new Float64Array(count);
    let scale = 1;
    for (let plane = 0; plane < width; plane++) {
      const from = found.at + plane * count;
      for (let row = 0; row < count; row++) values[row]! += this.part[from + row]! * scale;
      scale *= 256;
    }
    if (low !== 0) for (let row = 0; row < count; row++) values[row]! += low;
    return values;
  }

  /** The same for numbers that fit into 32 bits. */
  ints(name: string): Int32Array<ArrayBuffer> {
    const found = this.places.get(name);
    if (!found) return new Int32Array(0);
    const [, width, count, low] = found.head;
    const values = new Int32Array(count);
    for (let plane = 0; plane < width; plane++) {
      const from = found.at + plane * count;
      for (let row = 0; row < count; row++) values[row]! |= this.part[from + row]! << (8 * plane);
    }
    if (low !== 0) for (let row = 0; row < count; row++) values[row]! += low;
    return values;
  }

  /** A column of f64, whose bits lie in the planes. */
  floats(name: string): Float64Array<ArrayBuffer> {
    const found = this.places.get(name);
    if (!found) return new Float64Array(0);
    const count = found.head[2];
    const bytes = new Uint8Array(8 * count);
    for (let plane = 0; plane < 8; plane++) {
      const from = found.at + plane * count;
      for (let row = 0; row < count; row++) bytes[8 * row + plane] = this.part[from + row]!;
    }
    return new Float64Array(bytes.buffer);
  }
}
