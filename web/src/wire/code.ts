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

/** Where a kernel's operations came from. */
export interface OriginWire {
  kernel: string;
  schedule: number;
  scheduleName: string;
  /** Tensor operations with the user's lines, as far as they were recorded. */
  operations: { name: string; file: string; line: number; nodes: number }[];
  stack: { file: string; line: number; function: string; source: string }[];
}
