/** What the server says about two captures. See docs/api.md. */

export interface SideWire {
  names: string[];
  source: string;
  frameworks: Record<string, string>;
  host: string;
  compileNs: number;
  kernelNs: number;
  launches: number;
  steps: number;
  matches: number;
}

export type Verdict = "slower" | "faster" | "same" | "unsure";

export interface TimeWire {
  group: string;
  name: string;
  nameB: string;
  nA: number;
  nB: number;
  medianA: number;
  medianB: number;
  intervalA: [number, number] | null;
  intervalB: [number, number] | null;
  totalA: number;
  totalB: number;
  p: number | null;
  verdict: Verdict;
  tested: boolean;
}

export type KernelState = "added" | "removed" | "changed" | "same";

export interface KernelWire {
  state: KernelState;
  name: string;
  a: string;
  b: string;
  how: string;
  coded: boolean;
  unitA: number;
  unitB: number;
  launchesA: number;
  launchesB: number;
  flopsA: number;
  flopsB: number;
  bytesA: number;
  bytesB: number;
  place: string;
  kind: string;
  /** Runs more or less often, with all others of the same code. */
  uneven: boolean;
  time: TimeWire | null;
}

export interface RuleLineWire {
  file: string;
  line: number;
  text: string | null;
}

export interface DivergenceWire {
  a: string;
  b: string;
  kind: string;
  isKernel: boolean;
  step: string;
  stepNameB: string;
  stepA: number;
  stepB: number;
  match: number;
  what: string;
  follows: string[];
  rules: [RuleLineWire | null, RuleLineWire | null];
  inner: { match: number; ordinal: number } | null;
}

export interface RuleCountWire {
  rule: string;
  a: number;
  b: number;
  text_a: string;
  text_b: string;
  edited: boolean;
}

export interface PassCountWire {
  name: string;
  steps_a: number;
  steps_b: number;
  matches_a: number;
  matches_b: number;
  ns_a: number;
  ns_b: number;
  differs: boolean;
}

export interface CountWire {
  name: string;
  a: number;
  b: number;
  differs: boolean;
}

export interface MemoryPeakWire {
  device: string;
  peak_a: number;
  peak_b: number;
  held: { name: string; dtype: string; bytes: number; count_a: number; count_b: number }[];
}

export interface CompareWire {
  same: boolean;
  verdict: string;
  a: SideWire;
  b: SideWire;
  kernels: KernelWire[];
  kernelCount: number;
  divergence: DivergenceWire[];
  rules: RuleCountWire[];
  times: TimeWire[];
  /** All kernels together, all copies. */
  totals: TimeWire[];
  /** What the change of all kernels' time is made of. */
  portions: { name: string; kernels: number; ns: number }[];
  memory: MemoryPeakWire[];
  passes: PassCountWire[];
  counts: CountWire[];
  messages: CountWire[];
  normalised: string[];
  notes: string[];
}

export interface BothNodeWire {
  key: string;
  side: "both" | "a" | "b";
  op: string;
  type: string;
  arg: string;
  src: string[];
  id_a: number;
  id_b: number;
}

export interface BothGraphsWire {
  what: string;
  nodes: BothNodeWire[];
  only_a: number;
  only_b: number;
  hidden_a: number;
  hidden_b: number;
}

export interface PassPairWire {
  /** Its name, `#2` behind the second of it. */
  key: string;
  name: string;
  depth: number;
  step_a: number;
  step_b: number;
  matches_a: number;
  matches_b: number;
  state: "equal" | "parts" | "follows";
}

export interface CodeLineWire {
  kind: "same" | "changed" | "removed" | "added";
  number_a: number;
  number_b: number;
  text_a: string;
  text_b: string;
}

export interface KernelPairWire {
  name: string;
  a: string;
  b: string;
  row: KernelWire | null;
  divergence: DivergenceWire | null;
  equal: number;
  equalMatches: number;
  passes: PassPairWire[];
  language: string;
  code: CodeLineWire[];
  removed: number;
  added: number;
  graphs: BothGraphsWire | null;
  /** What its difference follows from, up to where that begins. */
  causes: DivergenceWire[];
  /** The pass that was asked for, empty for where they part, and the match. */
  chosen: string;
  match: number;
}

export interface CurveWire {
  device: string;
  time: number[];
  bytes: number[];
  peak: number;
  end: number;
}

export interface CurvesWire {
  a: CurveWire[];
  b: CurveWire[];
}

export interface CallRowWire {
  name: string;
  name_b: string;
  depth: number;
  total_a: number;
  total_b: number;
  self_a: number;
  self_b: number;
  calls_a: number;
  calls_b: number;
}

export interface BothCallsWire {
  rows: CallRowWire[];
  /** Functions that took least time on either side, beyond so many rows. */
  left_out: number;
}

export interface LaneWire {
  title: string;
  kind: string;
  start: number[];
  end: number[];
  name: number[];
  count: number[];
}

export interface LanesWire {
  lanes: LaneWire[];
  names: string[];
  length: number;
  /** Tracks that are not among the lanes. */
  left_out: number;
}

export interface BothWindowsWire {
  a: LanesWire;
  b: LanesWire;
  moments?: { kind: "marker" | "step" | "kernel" | "pass"; name: string; a: number; b: number }[];
}
