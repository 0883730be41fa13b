/** The graph after a match as the server sends it: one array a column, texts as codes into a list (-1: none). */
export interface GraphWire {
  step: number;
  match: number;
  matches: number;
  /** Position of the root in the columns. */
  root: number;
  id: number[];
  /** A stable number: a surviving node keeps it from match to match of one step. */
  identity: number[];
  op: number[];
  ops: string[];
  dtype: number[];
  dtypes: string[];
  arg: number[];
  args: string[];
  shape: number[];
  shapes: string[];
  tag: number[];
  tags: string[];
  /** Sources of node i, in order: src[srcStart[i] .. srcStart[i + 1]], as positions in the columns. */
  srcStart: number[];
  src: number[];
  added: number[];
  changed: number[];
  removed: RemovedNode[];
  error: string | null;
}

/** A node of the previous graph that this match took away; src and users are identities. */
export interface RemovedNode {
  id: number;
  identity: number;
  op: string;
  dtype: string;
  arg: string;
  shape: string;
  tag: string | null;
  src: number[];
  users: number[];
}
