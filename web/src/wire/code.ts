/** Code of kernels and other artifacts as the server sends them. See docs/api.md. */

export interface CodeWire {
  context: number[];
  /** Lines of source, 0 when there is none. */
  lines: number[];
  /** 1 when its compilation failed. */
  error: number[];
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
}
