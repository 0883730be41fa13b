/** A schedule as the server sends it, and the answer to "why are these two kernels two?". See docs/api.md. */

/** A box of the schedule's graph, as the compiler says that it looks. */
export interface BoxLook {
  name: string;
  arg: string;
  type: string;
  family: number;
}

export interface KernelWire {
  /** Place in the order of execution, from 0. */
  at: number;
  name: string;
  /** Context of its code generation, -1 for a copy. */
  context: number;
  /** Node of the call in the kernel graph. */
  node: number;
  /** kernel or copy */
  kind: string;
  /** Runs of its context on devices and ns of all of them, as Top and Code have them; -1 when they were not counted. */
  runs: number;
  total: number;
  /** Operations of the user's graph that it computes, and how many nodes they are. */
  ops: string[];
  members: number;
  /** Positions in `buffers`. */
  reads: number[];
  writes: number[];
  look: BoxLook;
}

export interface BufferWire {
  name: string;
  dtype: string;
  /** null: not known before it runs. */
  elements: number | null;
  device: string;
  /** One of the program's own, not an intermediate. */
  own: boolean;
  look: BoxLook;
}

export interface ScheduleWire {
  context: number;
  name: string;
  kernels: KernelWire[];
  buffers: BufferWire[];
  /** First kernel, second kernel, buffer, "read after write" or "write after read". */
  edges: [number, number, number, string][];
  /** What all of them hang on in the graph. */
  root: BoxLook;
  /** Why there is less to show than one would expect; empty when all is there. */
  note: string;
}

export interface ReasonWire {
  buffer: string;
  /** "read after write" or "write after read" */
  kind: string;
  /** The reason in two or three words, and in a sentence. */
  reason: string;
  text: string;
  /** Why it was not taken out again. */
  kept: string;
  /** What was stored, and the tensor operations that it came from. */
  node: string;
  tensors: string[];
  step: number;
  stepName: string;
  match: number;
  file: string;
  line: number;
  source: string;
  /** The user's line: "prog.py:4", empty when unknown. */
  userLine: string;
}

export interface WhyWire {
  a: string;
  b: string;
  /** dependent, between, independent, other schedule */
  relation: string;
  sentence: string;
  reasons: ReasonWire[];
  /** Kernels that stand between the two; kernels that both read from. By place. */
  between: number[];
  common: number[];
}

/** How many kernels schedules have, and what they are called, each name once. */
export interface SchedulesWire {
  context: number[];
  kernels: number[];
  names: string[][];
}
