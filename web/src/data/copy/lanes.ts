/** The lanes of the timeline in the page: slices in columns, from afar as buckets, as `store/index/windows.py` has it. */
import { firstAbove, fold, offsetIn, type Entries, type Items } from "./buckets.ts";
import type { Columns } from "./columns.ts";

/** Slices a pixel up to which they are given as they are. */
const RAW = 2;

interface LaneFacts {
  /** The capture's clock at the timeline's begin, ns. */
  origin: string;
  /** ns of a unit of `start` and `dur` are 2 ** level: 0 when the slices themselves are there. */
  level: number;
  /** Of each lane the levels that the server's pyramid has. */
  levels: number[][];
}

export interface LaneWindow {
  /** ns of a bucket; 0 when the entries are slices. */
  width: number;
  start: number[];
  end: number[];
  busy: number[];
  count: number[];
  row: number[];
  name: number[];
}

export interface Lane {
  readonly track: number;
  readonly depth: number;
  /** Its rows are first … past - 1. */
  readonly first: number;
  readonly past: number;
}

export class Lanes {
  readonly lanes: Lane[] = [];
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly dur: Float64Array;
  /** Number of the name, -1 for none. */
  readonly name: Int32Array;
  /** -1 for none; empty when no slice has one. */
  readonly context: Float64Array;
  readonly correlation: Float64Array;
  readonly origin: bigint;
  /** Whether the slices are here, and not only their picture. */
  readonly exact: boolean;
  private readonly level: number;
  private readonly levels: number[][];
  private readonly numbers = new Map<string, number>();
  private readonly firsts: number[] = [];
  private readonly items: Items;
  private readonly folded = new Map<string, Entries>();

  constructor(columns: Columns<LaneFacts>) {
    this.origin = BigInt(columns.facts.origin);
    this.level = columns.facts.level;
    this.exact = this.level === 0;
    this.levels = columns.facts.levels;
    const track = columns.ints("track");
    const depth = columns.ints("depth");
    const counts = columns.ints("count");
    const gap = columns.numbers("gap");
    this.dur = columns.numbers("dur");
    this.name = columns.ints("name");
    this.context = columns.numbers("context");
    this.correlation = columns.numbers("correlation");
    this.start = gap;
    this.end = new Float64Array(gap.length);
    let row = 0;
    for (let lane = 0; lane < track.length; lane++) {
      const first = row;
      const past = row + counts[lane]!;
      let before = 0;
      for (; row < past; row++) {
        this.start[row]! += before;
        before = this.end[row] = this.start[row]! + this.dur[row]!;
      }
      this.numbers.set(`${track[lane]!}:${depth[lane]!}`, lane);
      this.firsts.push(first);
      this.lanes.push({ track: track[lane]!, depth: depth[lane]!, first, past });
    }
    const times = { low: this.start, high: this.end, name: this.name };
    this.items = this.exact
      ? { ...times, busy: this.dur, dur: this.dur, count: null, row: null }
      : {
          ...times,
          busy: columns.numbers("busy"),
          dur: columns.numbers("longest"),
          count: columns.numbers("begun"),
          row: columns.numbers("row"),
        };
  }

  /** The lane of a track and depth, null when it has no slices. */
  find(track: number, depth: number): Lane | null {
    const number = this.numbers.get(`${track}:${depth}`);
    return number === undefined ? null : this.lanes[number]!;
  }

  ofTrack(track: number): Lane[] {
    // sorted by track and depth
    const first = this.lanes.findIndex((lane) => lane.track === track);
    return first < 0 ? [] : this.lanes.slice(first, this.lanes.findLastIndex((lane) => lane.track === track) + 1);
  }

  /** The lane that a row is in. */
  at(row: number): Lane | null {
    const number = firstAbove(this.firsts, row, false) - 1;
    return row >= 0 && row < this.start.length ? this.lanes[number]! : null;
  }

  /** Rows of a lane that overlap [t0, t1). */
  within(lane: Lane, t0: number, t1: number): [number, number] {
    const past = firstAbove(this.start, t1, true, lane.first, lane.past);
    let first = firstAbove(this.start, t0, true, lane.first, lane.past);
    while (first > lane.first && this.end[first - 1]! > t0) first--;
    return [Math.min(first, past), past];
  }

  /** The window [t0, t1) of a lane as it is drawn on that many pixels. */
  window(track: number, depth: number, t0: number, t1: number, pixels: number): LaneWindow {
    const number = this.numbers.get(`${track}:${depth}`);
    if (number === undefined) return { width: 0, start: [], end: [], busy: [], count: [], row: [], name: [] };
    const pixel = Math.max(1, Math.floor((t1 - t0) / Math.max(1, pixels)));
    const bits = Math.floor(Math.log2(pixel)) + 1;
    let chosen = -1;
    for (const level of this.levels[number]!) if (level <= bits) chosen = level;
    if (!this.exact) chosen = Math.max(chosen, this.level);
    if (chosen >= 0) return this.buckets(this.foldedTo(number, chosen), chosen, t0, t1);
    return this.near(this.lanes[number]!, bits - 1, t0, t1, pixels);
  }

  private near(lane: Lane, level: number, t0: number, t1: number, pixels: number): LaneWindow {
    const width = 2 ** level;
    const offset = offsetIn(this.origin, level);
    // whole buckets, so that those at the edges are as truthful as the others
    const low = Math.floor((t0 + offset) / width) * width - offset;
    const high = (Math.floor((t1 - 1 + offset) / width) + 1) * width - offset;
    const [first, past] = this.within(lane, low, high);
    if (past - first > RAW * pixels)
      return this.buckets(fold(this.items, [first, past], level, 1, offset), level, t0, t1);
    const found: LaneWindow = { width: 0, start: [], end: [], busy: [], count: [], row: [], name: [] };
    for (let row = first; row < past; row++) {
      found.start.push(this.start[row]!);
      found.end.push(this.end[row]!);
      found.busy.push(1);
      found.count.push(1);
      found.row.push(row);
      found.name.push(this.name[row]!);
    }
    return found;
  }

  /** The buckets of a lane at a level, kept: the next window is of the same as a rule. */
  private foldedTo(number: number, level: number): Entries {
    const key = `${number}/${level}`;
    let found = this.folded.get(key);
    if (!found) {
      const lane = this.lanes[number]!;
      const unit = 2 ** this.level;
      const offset = offsetIn(this.origin >> BigInt(this.level), level - this.level);
      found = fold(this.items, [lane.first, lane.past], level - this.level, unit, offset);
      this.folded.set(key, found);
    }
    return found;
  }

  private buckets(entries: Entries, level: number, t0: number, t1: number): LaneWindow {
    const width = 2 ** level;
    const offset = offsetIn(this.origin, level);
    const first = firstAbove(entries.high, Math.floor((t0 + offset) / width), false);
    const past = firstAbove(entries.low, Math.floor((t1 - 1 + offset) / width) + 1, true);
    const found: LaneWindow = { width, start: [], end: [], busy: [], count: [], row: [], name: [] };
    for (let at = first; at < past; at++) {
      const length = (entries.high[at]! - entries.low[at]!) * width;
      found.start.push(entries.low[at]! * width - offset);
      found.end.push(entries.high[at]! * width - offset);
      found.busy.push(length > 0 ? entries.busy[at]! / length : 1);
      found.count.push(entries.count[at]!);
      found.row.push(entries.row[at]!);
      found.name.push(entries.name[at]!);
    }
    return found;
  }
}
