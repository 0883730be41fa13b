/** What the server says about hardware traces. See docs/api.md. */
import { perLane, readArrays, sum } from "./arrays.ts";

export interface HardwareEntry {
  row: number;
  kernel: string;
  run: number;
  device: string;
  /** "sqtt", "pmc" or "pma" */
  kind: string;
  /** "SE:0" */
  unit: string;
  arch: string;
  /** False for an engine that was traced without instructions. */
  detail: boolean;
  source: string;
  context: number;
}

export interface TraceWire {
  source: string;
  arch: string;
  packets: number;
  waves: number;
  first: number;
  last: number;
  classes: string[];
  ops: string[];
  lanes: { label: string; group: "waves" | "units" | "all"; events: number; busy: number }[];
  clock: { cycle: number[]; tick: number[] };
  resources: ResourcesWire | null;
  notes: string[];
  losses: Record<string, number>;
  /** Cycles at which packets were lost; begin and end of each stall of the trace. */
  lost: number[];
  stalls: [number, number][];
  /** "CU 0, SIMD 0": whose instructions were traced. */
  traced: string;
}

export interface Figure {
  total: number[];
  worst: number[];
  count: number[];
}

export interface InstructionsWire {
  pc: number[];
  text: string[];
  registers: string[][];
  skipped: boolean[];
  hits: number[];
  /** The event with which it issued first; -1 for none. */
  event: number[];
  latency: Figure;
  stall: Figure;
  idle: Figure;
  /** What a wait waits for: "vmcnt(1) lgkmcnt(0)", the same in words, and the instruction that has to be done first. */
  wait: string[];
  words: string[];
  awaits: number[];
  /** The line of the kernel's source, 0 where the binary does not say, and that line. */
  line: number[];
  source: string[];
  /** The context that has the source, -1 for none. */
  context: number;
  notes: string[];
}

/** An instruction as it is shown: a wait with its counters by name. */
export function instructionText(data: InstructionsWire, at: number): string {
  const wait = data.wait[at] ?? "";
  return wait === "" ? data.text[at]! : `${data.text[at]!.replace(/\(.*$/, "")} ${wait}`;
}

export interface ResourcesWire {
  vgprs: number;
  lds_bytes: number;
  scratch_bytes: number;
}

/** The control flow of a binary that nobody traced, with its instructions. */
export interface CodeFlowWire extends FlowWire {
  pc: number[];
  text: string[];
  resources: ResourcesWire | null;
}

export interface FlowWire {
  blocks: { first: number; last: number; hits: number; cycles: number }[];
  edges: { source: number; target: number; kind: "taken" | "not taken" | "always" }[];
  notes: string[];
}

export interface OccupancyWire {
  engines: { row: number; unit: string; waves: number; detail: boolean; time: number[]; value: number[] }[];
}

export interface CountersWire {
  runs: {
    row: number;
    kernel: string;
    run: number;
    device: string;
    counters: {
      name: string;
      block: string;
      total: number;
      largest: number;
      units: { xcc: number; instance: number; engine: number; array: number; values: number[] }[];
    }[];
    metrics: { name: string; value: number; unit: string; doc: string }[];
  }[];
}

export interface EventWire {
  lane: number;
  start: number;
  end: number;
  op: string;
  instruction: number;
  link: number;
  event: number;
}

/** Events of one lane in a window; columns of one length. */
export interface LaneEvents {
  start: Float64Array;
  end: Float64Array;
  kind: Int32Array;
  op: Int32Array;
  instruction: Int32Array;
  link: Int32Array;
  event: Int32Array;
  /** Twice the number of events that one stands for, plus one for the work of another SIMD. */
  weight: Int32Array;
  /** Cycles that the events it stands for took together. */
  busy: Int32Array;
}

interface WindowHead {
  /** Events of each lane. */
  counts: number[];
}

/** The lanes of a window out of the reply of …/hardware/ROW/window. */
export function readWindow(data: ArrayBuffer): LaneEvents[] {
  const { head, f64, i32 } = readArrays<WindowHead>(data);
  const n = sum(head.counts);
  return perLane(head.counts, {
    start: f64(n),
    end: f64(n),
    kind: i32(n),
    op: i32(n),
    instruction: i32(n),
    link: i32(n),
    event: i32(n),
    weight: i32(n),
    busy: i32(n),
  });
}
