/** What the server says about NVIDIA's stall samples. See docs/api.md. */
import { readArrays, sum } from "./arrays.ts";

/** A wave of a multiprocessor. */
export interface StallLaneWire {
  gpc: number;
  tpc: number;
  sm: number;
  wave: number;
  samples: number;
  /** Runs of the lane; those of all lanes stand one behind the other. */
  runs: number;
}

export interface StallsHead {
  /** Samples of the stream, and how many of them, the first, are on the lanes. */
  samples: number;
  shown: number;
  /** Packets that say that something before them was lost. */
  lost: number;
  /** Cycles of a sample. */
  cycles: number;
  reasons: string[];
  /** Reason and number of its samples, most first. */
  totals: [number, number][];
  lanes: StallLaneWire[];
  /** The instructions that were met most, with what was waited for at each. */
  places: { pc: number; samples: number; reasons: [number, number][] }[];
  /** How many instructions were met. */
  sites: number;
}

export interface Stalls {
  head: StallsHead;
  /** The first run of each lane, and one more: where the last lane ends. */
  from: Int32Array;
  start: Float64Array;
  end: Float64Array;
  pc: Float64Array;
  reason: Int32Array;
  active: Int32Array;
}

/** The reply of …/hardware/ROW/stalls. */
export function readStalls(data: ArrayBuffer): Stalls {
  const { head, f64, i32 } = readArrays<StallsHead>(data);
  const counts = head.lanes.map((lane) => lane.runs);
  const n = sum(counts);
  const from = new Int32Array(counts.length + 1);
  counts.forEach((number, i) => (from[i + 1] = from[i]! + number));
  return { head, from, start: f64(n), end: f64(n), pc: f64(n), reason: i32(n), active: i32(n) };
}
