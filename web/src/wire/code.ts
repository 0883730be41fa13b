/** Code of kernels and other artifacts as the server sends them. See docs/api.md. */

export interface CodeWire {
  context: number[];
  /** Lines of source, 0 when there is none. */
  lines: number[];
  /** Ops of the op list, 0 when there is none. */
  ops: number[];
  /** 1 when its compilation failed. */
  error: number[];
  /** 1 when its binary holds instructions of a processor. */
  machine: number[];
  /** Runs on devices and ns of all of them, -1 when they were not counted. */
  runs: number[];
  total: number[];
}

export interface ArtifactWire {
  row: number;
  kind: string;
  language: string;
  name: string;
  bytes: number;
  /** There is more than was sent. */
  cut: boolean;
  text: string;
}

/** Where a kernel came from: one answer for each place in a schedule at which it runs. */
export interface OriginWire {
  context: number;
  origins: PlaceOfOrigin[];
}

export interface PlaceOfOrigin {
  schedule: number;
  scheduleName: string;
  /** Place of the kernel in the schedule. */
  kernel: number;
  /** "file:line" that had the schedule made, and its source. */
  realizedAt: string | null;
  realizedSource: string | null;
  operations: { name: string; line: string | null; source: string | null; nodes: number }[];
}

/** Runs of a kernel; -1 when they were not counted. */
export interface RunsWire {
  context: number;
  count: number;
  total: number;
  /** Nanoseconds of all kernels together. */
  all: number;
}

/** Where each line of a kernel's source came from. */
export interface LinesWire {
  context: number;
  /** Row of the artifact that the lines are of, -1 for none. */
  artifact: number;
  /** A sentence when nothing, or not all, could be traced. */
  note: string | null;
  /** Tensor operations of the program, which lines point into; null when they were not asked for (`operations=1`). */
  operations: { name: string; line: string | null; source: string | null }[] | null;
  /** One for each line of the source, in order. */
  lines: LineWire[];
}

export interface LineWire {
  /** From 1. */
  line: number;
  /** "none": not out of the graph. */
  kind: "op" | "signature" | "brace" | "none";
  /** The op that rendered the line, then those that are written inside it. */
  ops: string[];
  /** Id of that node in the graph after the last pass, -1 for none. */
  node: number;
  /** The pass in which the node appeared; -1 when it was in the kernel's AST already. */
  step: number;
  stepName: string;
  /** The match of that pass, 0 for none. */
  match: number;
  rule: { file: string; line: number; source: string } | null;
  handler: string | null;
  /** Places in the list of operations. */
  operations: number[];
  /** Line of the op list that has the node, from 1; -1 for none. */
  row: number;
  /** Ops of that kind in the list. */
  alike: number;
}
