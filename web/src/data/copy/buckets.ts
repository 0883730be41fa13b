/**
 * Buckets of time, as `store/index/buckets.py` makes them: what a lane looks like from afar, exactly. Time is cut into
 * buckets of 2 ** level ns on the capture's own clock, so that the file shows the very picture that the server does.
 */

/** Items in order of time; `low` and `high` (exclusive) count units of time from the origin. */
export interface Items {
  readonly low: ArrayLike<number>;
  readonly high: ArrayLike<number>;
  readonly busy: ArrayLike<number>;
  /** Of the slice `row`, by which the longest is found. */
  readonly dur: ArrayLike<number>;
  readonly name: ArrayLike<number>;
  /** Null where each item is a slice: one, of the row that it stands at. */
  readonly count: ArrayLike<number> | null;
  readonly row: ArrayLike<number> | null;
}

/** Entries of one lane. */
export interface Entries extends Items {
  readonly count: ArrayLike<number>;
  readonly row: ArrayLike<number>;
}

/** How far the origin lies within a bucket of 2 ** level ns. */
export function offsetIn(origin: bigint, level: number): number {
  return Number(BigInt.asUintN(level, origin));
}

class Folded implements Entries {
  low: number[] = [];
  high: number[] = [];
  busy: number[] = [];
  count: number[] = [];
  row: number[] = [];
  dur: number[] = [];
  name: number[] = [];

  /** Adds a piece of an item: to the last bucket when it is in that. */
  add(low: number, high: number, busy: number, count: number, items: Items, at: number): void {
    const last = this.low.length - 1;
    const dur = items.dur[at]!;
    if (last >= 0 && this.low[last] === low) {
      this.busy[last]! += busy;
      this.count[last]! += count;
      if (dur <= this.dur[last]!) return;
      this.dur[last] = dur;
      this.row[last] = items.row ? items.row[at]! : at;
      this.name[last] = items.name[at]!;
      return;
    }
    this.low.push(low);
    this.high.push(high);
    this.busy.push(busy);
    this.count.push(count);
    this.dur.push(dur);
    this.row.push(items.row ? items.row[at]! : at);
    this.name.push(items.name[at]!);
  }
}

/**
 * Entries of some items: of buckets that are 2 ** shift as wide as the items' units, which are `unit` ns; `offset` is where the origin
 * lies in such a bucket, in units. The numbers of the entries count from the bucket that the origin is in.
 */
export function fold(
  items: Items,
  [first, past]: readonly [number, number],
  shift: number,
  unit: number,
  offset: number,
): Entries {
  const width = 2 ** shift;
  const found = new Folded();
  for (let at = first; at < past; at++) {
    const count = items.count ? items.count[at]! : 1;
    const low = items.low[at]! + offset;
    const high = items.high[at]! + offset;
    const a = Math.floor(low / width);
    const b = Math.max(Math.floor((high - 1) / width), a);
    if (b === a) {
      found.add(a, a + 1, items.busy[at]!, count, items, at);
      continue;
    }
    // where it begins, what it fills, where it ends
    found.add(a, a + 1, ((a + 1) * width - low) * unit, count, items, at);
    if (b > a + 1) found.add(a + 1, b, (b - a - 1) * width * unit, 0, items, at);
    found.add(b, b + 1, (high - b * width) * unit, 0, items, at);
  }
  return found;
}

/** The first place whose value is above a bound, or with `equal` at least it. */
export function firstAbove(values: ArrayLike<number>, bound: number, equal: boolean, from = 0, past?: number): number {
  let low = from;
  let high = past ?? values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (equal ? values[middle]! >= bound : values[middle]! > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}
