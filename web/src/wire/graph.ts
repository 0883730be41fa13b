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
  /** Names of instructions, where they have some; else empty. */
  name?: number[];
  names?: string[];
  /** What this entry is: a rule, or what a pass changed without one. */
  kind?: EntryKind;
  /** Positions of the GRAPH nodes that the graph consists of: several where a pass partitioned it. */
  graphs?: number[];
}

/** A match, or what a pass changed without a rule: boxes that touch, what matches do not explain, … */
export type EntryKind = "rule" | "group" | "rest" | "partition" | "metadata" | "order";

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
  name?: string | null;
  /** Identity of the body of a call that it was in, or was; -1 outside of any. */
  body?: number;
}
