/** A value over time (a counter, the memory of a device), pixel by pixel, as `store/index/series.py` has it. */
import { firstAbove } from "./buckets.ts";

export interface SeriesWindow {
  /** ns of a pixel */
  width: number;
  start: number[];
  low: number[];
  high: number[];
  mean: number[];
}

/** A step function: `value[i]` holds from `time[i]` to `time[i + 1]`, the last one until `end`. */
export class Series {
  readonly peak: number = 0;
  readonly peakTime: number = 0;
  readonly least: number = 0;
  private readonly end: number;

  constructor(
    private readonly time: ArrayLike<number>,
    private readonly value: ArrayLike<number>,
    end: number,
    origin: bigint,
  ) {
    const many = time.length;
    // a last value at the very end is a value all the same
    this.end = many > 0 ? Math.max(end, time[many - 1]! + 1) : end;
    if (many === 0) {
      this.peakTime = Number(-origin);
      return;
    }
    let [best, least] = [0, value[0]!];
    for (let at = 1; at < many; at++) {
      if (value[at]! > value[best]!) best = at;
      if (value[at]! < least) least = value[at]!;
    }
    this.peak = value[best]!;
    this.peakTime = time[best]!;
    this.least = least;
  }

  window(t0: number, t1: number, pixels: number): SeriesWindow {
    const many = t1 > t0 ? Math.max(1, Math.min(pixels, t1 - t0)) : 1;
    const length = Math.max(1, t1 - t0);
    const found: SeriesWindow = { width: (t1 - t0) / many, start: [], low: [], high: [], mean: [] };
    if (this.time.length === 0) return found;
    let first = Math.max(0, firstAbove(this.time, t0, false) - 1);
    for (let pixel = 0; pixel < many; pixel++) {
      const begin = t0 + Math.floor((pixel * length) / many);
      const stop = Math.min(t0 + Math.floor(((pixel + 1) * length) / many), Math.max(this.end, begin));
      while (first + 1 < this.time.length && this.time[first + 1]! <= begin) first++;
      if (begin >= this.end || this.time[first]! >= stop) continue;
      let [low, high, area] = [this.value[first]!, this.value[first]!, 0];
      const from = Math.max(begin, this.time[first]!);
      for (let at = first; at < this.time.length && (at === first || this.time[at]! < stop); at++) {
        const value = this.value[at]!;
        if (value < low) low = value;
        if (value > high) high = value;
        const until = at + 1 < this.time.length ? Math.min(this.time[at + 1]!, stop) : stop;
        area += value * (until - Math.max(this.time[at]!, from));
      }
      found.start.push(begin);
      found.low.push(low);
      found.high.push(high);
      found.mean.push(Math.min(high, Math.max(low, area / Math.max(1, stop - from))));
    }
    return found;
  }
}
