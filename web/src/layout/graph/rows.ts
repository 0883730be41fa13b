import { BOX, ROW } from "../layered/drawing.ts";

/** Lines keep this far from boxes. */
const MARGIN = 7;

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

  /** Where the middle of a line may be: the free stretch of a row that is nearest to x, less a margin. */
  gap(row: number, x: number): [number, number] {
    const list = this.taken.get(row);
    if (list === undefined) return [-Infinity, Infinity];
    const at = this.nearest(row, x, MARGIN, MARGIN);
    let left = -Infinity;
    let right = Infinity;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i + 1]! <= at) left = Math.max(left, list[i + 1]! + MARGIN);
      if (list[i]! >= at) right = Math.min(right, list[i]! - MARGIN);
    }
    return [left, right];
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

/** Points of a line from a box down to another, through the gaps of the rows between them, with few bends. */
export function thread(rows: Rows, x0: number, y0: number, x1: number, y1: number): number[] {
  const first = Rows.rowOf(y0) + 1;
  const last = Rows.rowOf(y1) - 1;
  const at: number[] = [];
  let wish = x0;
  let run = rows.gap(first, wish);
  let begun = first;
  for (let row = first + 1; row <= last; row++) {
    const gap = rows.gap(row, Math.max(run[0], Math.min(run[1], wish)));
    const common: [number, number] = [Math.max(run[0], gap[0]), Math.min(run[1], gap[1])];
    if (common[0] <= common[1]) {
      run = common;
      continue;
    }
    wish = Math.max(run[0], Math.min(run[1], wish));
    for (; begun < row; begun++) at.push(wish);
    run = rows.gap(row, wish);
  }
  const end = Math.max(run[0], Math.min(run[1], begun === first && Math.abs(x1 - x0) > 60 ? (x0 + x1) / 2 : x1));
  for (; begun <= last; begun++) at.push(end);
  return at.flatMap((x, i) => [x, (first + i) * ROW - BOX / 2 + 4, x, (first + i) * ROW + BOX / 2 - 4]);
}
