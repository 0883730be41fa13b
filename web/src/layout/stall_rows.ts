/** Where the lanes of stall samples stand, and what of them falls into which pixel. */
import { count, counted } from "../base/format.ts";
import type { StallLaneWire, Stalls } from "../wire/stalls.ts";

const UNIT = 40;
const WAVE = 18;

export interface StallRow {
  /** Lanes of the row, `last` exclusive: all of a multiprocessor, or one wave's. */
  first: number;
  last: number;
  /** Whether it stands for a multiprocessor, above its waves. */
  unit: boolean;
  label: string;
  note: string;
  folded: boolean;
  y: number;
  height: number;
}

/** "GPC:0 TPC:2 SM:1" */
export function unitName({ gpc, tpc, sm }: StallLaneWire): string {
  return `GPC:${gpc} TPC:${tpc} SM:${sm}`;
}

/** Multiprocessors with their waves below them; a folded one has none. */
export function stallRows(
  lanes: readonly StallLaneWire[],
  folded: ReadonlySet<string>,
): { rows: StallRow[]; height: number } {
  const rows: StallRow[] = [];
  let y = 0;
  for (let first = 0; first < lanes.length;) {
    const label = unitName(lanes[first]!);
    let last = first;
    let samples = 0;
    while (last < lanes.length && unitName(lanes[last]!) === label) samples += lanes[last++]!.samples;
    const shut = folded.has(label);
    const note = counted(samples, "sample");
    rows.push({ first, last, unit: true, label, note, folded: shut, y, height: UNIT });
    y += UNIT;
    for (let lane = first; lane < last && !shut; lane++) {
      const { wave, samples: own } = lanes[lane]!;
      const name = `WAVE:${wave}`;
      rows.push({
        first: lane,
        last: lane + 1,
        unit: false,
        label: name,
        note: count(own),
        folded: false,
        y,
        height: WAVE,
      });
      y += WAVE;
    }
    first = last;
  }
  return { rows, height: y };
}

/** The first run of a lane that ends behind a cycle; the end of the lane when there is none. */
export function firstRun(stalls: Stalls, lane: number, cycle: number): number {
  let [low, high] = [stalls.from[lane]!, stalls.from[lane + 1]!];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (stalls.end[middle]! > cycle) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Cycles of each reason in each pixel of a window: reason after reason for the first pixel, then for the next. */
export function reasonShares(
  stalls: Stalls,
  row: { first: number; last: number },
  t0: number,
  t1: number,
  width: number,
): Float64Array {
  const kinds = stalls.head.reasons.length;
  const shares = new Float64Array(width * kinds);
  const scale = width / (t1 - t0);
  for (let lane = row.first; lane < row.last; lane++) {
    const end = stalls.from[lane + 1]!;
    for (let i = firstRun(stalls, lane, t0); i < end && stalls.start[i]! < t1; i++) {
      const from = Math.max((stalls.start[i]! - t0) * scale, 0);
      const to = Math.min((stalls.end[i]! - t0) * scale, width);
      for (let x = Math.floor(from); x < to; x++)
        shares[x * kinds + stalls.reason[i]!]! += (Math.min(to, x + 1) - Math.max(from, x)) / scale;
    }
  }
  return shares;
}

/** The run of a row's lanes at a cycle, or the nearest within `reach` cycles; -1 for none. */
export function runAt(stalls: Stalls, row: { first: number; last: number }, cycle: number, reach: number): number {
  let best = -1;
  let distance = reach;
  for (let lane = row.first; lane < row.last; lane++) {
    const end = stalls.from[lane + 1]!;
    for (let i = firstRun(stalls, lane, cycle - reach); i < end && stalls.start[i]! <= cycle + reach; i++) {
      const inside = stalls.start[i]! <= cycle && cycle < stalls.end[i]!;
      const away = inside ? -1 : Math.max(stalls.start[i]! - cycle, cycle - stalls.end[i]!, 0);
      if (away < distance || (best < 0 && away === distance)) [best, distance] = [i, away];
    }
  }
  return best;
}

/** The lane of a run. */
export function laneOf(stalls: Stalls, run: number): number {
  let lane = 0;
  while (stalls.from[lane + 1]! <= run) lane++;
  return lane;
}
