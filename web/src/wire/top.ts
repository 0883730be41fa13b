/** What the server says about names and the time that they took. See docs/api.md. */

export interface TopWire {
  group: string;
  /** Groups that have tracks: kernels, copies, host, messages. */
  groups: string[];
  /** How many names there are: more than rows when there are very many. */
  names: number;
  /** ns in which anything ran on the tracks: what shares are of. */
  total: number;
  count: number;
  exact: boolean;
  /** What was not recorded each time that it ran, in words. */
  sampled: string[];
  bins: number;
  tracks: { id: number[]; name: string[] };
  name: string[];
  /** 2 for a kernel that is the second context of its name, 1 for the first and what is none. */
  serial: number[];
  number: number[];
  colour: number[];
  sum: number[];
  /** ns in which nothing that it called ran; equal to `sum` where nothing nests. */
  self: number[];
  mean: number[];
  runs: number[];
  shortest: number[];
  longest: number[];
  median: number[];
  p95: number[];
  context: number[];
  flops: number[];
  bytesPerS: number[];
  /** `bins` counts a row. */
  histogram: number[];
}

export interface RunsWire {
  name: string;
  tracks: { track: number; name: string; count: number; total: number }[];
  slowest: { row: number; track: number; start: number; dur: number; marker: string }[];
}
