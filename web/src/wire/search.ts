/** Search results and what else the server finds by name. See docs/api.md. */

export interface Hit {
  kind: string;
  text: string;
  note: string;
  context: number;
  step: number;
  match: number;
  node: number;
  count: number;
  /** Slices of it on the timeline (of a kernel: on devices), and what they took together. */
  runs: number;
  total: number;
}

export interface SearchWire {
  query: string;
  /** What is wrong with the query: a pattern that is none, a kind that there is not. */
  error: string | null;
  total: number;
  hits: Hit[];
  /** Names close to the query when nothing was found. */
  near: Hit[];
  /** What was searched: contexts 124, steps 8236, … */
  searched: Record<string, number>;
}
