/** The buffers of each device in columns, their total, and who lives in a window: as `query/memory/bands.py` has it. */
import { Series } from "./series.ts";
import type { Tables } from "./tables.ts";

interface BufferFacts {
  devices: string[];
  /** Of each device how many buffers it has, in the order of the columns. */
  counts: number[];
  dtypes: string[];
  names: string[];
  /** Ends of the timeline, and of its slices. */
  until: number;
  end: number;
  peaks: number[];
  peakTimes: number[];
}

export interface Bands {
  /** Places of those that have a band, by allocation. */
  drawn: number[];
  /** Those that live from before the window until after it. */
  folded: number[];
  left: number;
  leftBytes: number;
}

interface BufferColumns {
  id: Float64Array;
  alloc: Float64Array;
  /** NaN: never. */
  free: Float64Array;
  bytes: Float64Array;
  offset: Float64Array;
  dtype: Int32Array;
  name: Int32Array;
}

export class DeviceMemory {
  /** When each ends; never is infinite. */
  readonly ends: Float64Array;
  /** The total: as the memory view and as the timeline draw it, which end at different times. */
  readonly total: Series;
  readonly drawn: Series;

  constructor(
    readonly device: string,
    readonly columns: BufferColumns,
    readonly peak: number,
    readonly peakTime: number,
    private readonly texts: { dtypes: readonly string[]; names: readonly string[] },
    ends: { until: number; end: number },
    origin: bigint,
  ) {
    const { alloc, free, bytes } = columns;
    this.ends = free.map((time, at) => (Number.isNaN(time) ? Infinity : Math.max(time, alloc[at]!)));
    const change = new Map<number, number>();
    const changed = (time: number, by: number): unknown => change.set(time, (change.get(time) ?? 0) + by);
    alloc.forEach((time, at) => changed(time, bytes[at]!));
    free.forEach((time, at) => Number.isNaN(time) || changed(time, -bytes[at]!));
    const times = Float64Array.from(change.keys()).sort();
    let held = 0;
    const values = times.map((time) => (held += change.get(time)!));
    this.total = new Series(times, values, ends.until, origin);
    this.drawn = new Series(times, values, ends.end, origin);
  }

  get size(): number {
    return this.columns.id.length;
  }

  find(buffer: number): number {
    return this.columns.id.indexOf(buffer);
  }

  dtype(at: number): string {
    return this.texts.dtypes[this.columns.dtype[at]!] ?? "";
  }

  name(at: number): string {
    return this.texts.names[this.columns.name[at]!] ?? "";
  }

  facts(at: number): { id: number; device: string; bytes: number; dtype: string; name: string } {
    const { id, bytes } = this.columns;
    return { id: id[at]!, device: this.device, bytes: bytes[at]!, dtype: this.dtype(at), name: this.name(at) };
  }

  /** What was held right after a moment, largest first. */
  at(moment: number): number[] {
    const { id, alloc, bytes } = this.columns;
    return this.places((at) => alloc[at]! <= moment && this.ends[at]! > moment).sort(
      (a, b) => bytes[b]! - bytes[a]! || id[a]! - id[b]!,
    );
  }

  /** The buffers that live in [t0, t1), the largest areas first; what lives through what is seen has its own share. */
  bands(t0: number, t1: number, most: number, seen: readonly [number, number], shortest: number): Bands {
    const { alloc, bytes } = this.columns;
    const ends = this.ends;
    const through: number[] = [];
    const longest: number[] = [];
    const found: number[] = [];
    for (let at = 0; at < this.size; at++) {
      if (!(alloc[at]! < t1 && ends[at]! > t0)) continue;
      if (alloc[at]! <= t0 && ends[at]! >= t1) through.push(at);
      else if (alloc[at]! <= seen[0] && ends[at]! >= seen[1]) longest.push(at);
      else found.push(at);
    }
    const area = (at: number): number =>
      bytes[at]! * Math.max(shortest, Math.min(ends[at]!, t1) - Math.max(alloc[at]!, t0));
    const drawn = largest(found, area, most);
    const shown = new Set(largest(longest, (at) => bytes[at]!, Math.floor(most / 2)));
    const sum = (places: readonly number[]): number => places.reduce((total, at) => total + bytes[at]!, 0);
    return {
      drawn: [...drawn, ...shown].sort((a, b) => a - b),
      folded: [...through, ...longest.filter((at) => !shown.has(at))].sort((a, b) => a - b),
      left: found.length - drawn.length,
      leftBytes: sum(found) - sum(drawn),
    };
  }

  private places(fits: (at: number) => boolean): number[] {
    const found: number[] = [];
    for (let at = 0; at < this.size; at++) if (fits(at)) found.push(at);
    return found;
  }
}

function largest(places: number[], weight: (at: number) => number, most: number): number[] {
  if (places.length <= most) return places;
  return [...places].sort((a, b) => weight(b) - weight(a)).slice(0, most);
}

/** The memory of every device, in the order of the first allocations; none when buffers were left out. */
export function devicesOf(tables: Tables): Promise<Map<string, DeviceMemory>> {
  return tables.once("devices", async () => {
    const table = await tables.table<BufferFacts>("buffers");
    const found = new Map<string, DeviceMemory>();
    if (!table) return found;
    const { facts } = table;
    const origin = BigInt((await tables.timeline()).origin);
    const every: BufferColumns = {
      id: table.numbers("id"),
      alloc: table.numbers("alloc"),
      free: table.numbers("life"),
      bytes: table.numbers("bytes"),
      offset: table.numbers("offset"),
      dtype: table.ints("dtype"),
      name: table.ints("name"),
    };
    // kept as 1 + how long each lives, 0 for ever
    every.free.forEach((life, at) => (every.free[at] = life === 0 ? NaN : every.alloc[at]! + life - 1));
    let first = 0;
    facts.devices.forEach((device, number) => {
      const past = first + facts.counts[number]!;
      const own = Object.fromEntries(
        Object.entries(every).map(([name, column]) => [name, (column as Float64Array).subarray(first, past)]),
      ) as unknown as BufferColumns;
      first = past;
      const [peak, time] = [facts.peaks[number]!, facts.peakTimes[number]!];
      found.set(device, new DeviceMemory(device, own, peak, time, facts, facts, origin));
    });
    return found;
  });
}
