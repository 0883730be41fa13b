import { BOX, ROW } from "./drawing.ts";

/** What stands where, row by row: finds room for a box, and a way for a line. */
export class Rows {
  /** Left and right ends of what is taken, sorted, by row. */
  private readonly taken = new Map<number, number[]>();

  static rowOf(y: number): number {
    return Math.round(y / ROW);
  }

  /** Takes a stretch of a row. */
  take(row: number, left: number, right: number): void {
    const list = this.taken.get(row);
    if (list === undefined) this.taken.set(row, [left, right]);
    else list.splice(this.after(list, left), 0, left, right);
  }

  isFree(row: number, left: number, right: number): boolean {
    const list = this.taken.get(row);
    if (list === undefined) return true;
    for (let i = 0; i < list.length; i += 2) if (list[i]! < right && list[i + 1]! > left) return false;
    return true;
  }

  /** The centre nearest to x where `left` and `right` of it are free in this row. */
  nearest(row: number, x: number, left: number, right: number): number {
    const list = this.taken.get(row);
    if (list === undefined || this.isFree(row, x - left, x + right)) return x;
    let best = Infinity;
    // just beside each thing that stands here, on either side, where nothing else does
    for (let i = 0; i < list.length; i += 2) {
      for (const at of [list[i]! - right, list[i + 1]! + left]) {
        if (Math.abs(at - x) < Math.abs(best - x) && this.isFree(row, at - left + 0.01, at + right - 0.01)) best = at;
      }
    }
    return best;
  }

  private after(list: readonly number[], left: number): number {
    let low = 0;
    let high = list.length / 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[2 * middle]! < left) low = middle + 1;
      else high = middle;
    }
    return 2 * low;
  }
}

/** Points of a line from a box down to another, through the gaps of the rows between them. */
export function thread(rows: Rows, x0: number, y0: number, x1: number, y1: number): number[] {
  const way: number[] = [];
  const first = Rows.rowOf(y0);
  const last = Rows.rowOf(y1);
  let at = x0;
  for (let row = first + 1; row < last; row++) {
    // straight on for most of the way: a line that leans reads worse than one that bends once
    const wish = at + (x1 - at) / (last - row + 1);
    at = rows.nearest(row, wish, 7, 7);
    way.push(at, row * ROW - BOX / 2 + 4, at, row * ROW + BOX / 2 - 4);
  }
  return way;
}
