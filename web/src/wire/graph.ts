/** A bit of `GraphWire.fold`: its sources are the instructions of a graph, in order. */
export const LISTS = 8;

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
  /** How each node looks by itself: place in `looks`. */
  look: number[];
  looks: LooksWire;
  /** The argument with the values of its constant sources in it: code into `insides`, -1 where the look's own is right. */
  inside: number[];
  insides: string[];
  /** What may be folded away: the bits CONSTANT, INDEXING and SINK of layout/graph/fold.ts; and LISTS. */
  fold: number[];
  /** What the graph around a node says about it, as codes: the memory that it is about (GLOBAL, LOCAL, REG, ALU), the
   *  ranges that are open at it (`0,1`), and what it is indexed with (`[r1*8+r0]`). */
  space?: number[];
  spaces?: string[];
  open?: number[];
  opens?: string[];
  index?: number[];
  indexes?: string[];
  error: string | null;
  /** Names of instructions, where they have some; else empty. */
  name?: number[];
  names?: string[];
  /** What this entry is: a rule, or what a pass changed without one. */
  kind?: EntryKind;
  /** Positions of the lists of instructions that the graph consists of: several where a pass partitioned it. */
  graphs?: number[];
  /** Where this is the difference to another graph of the context: that one, what identities are in this step, how many
   *  boxes both have, and lines. A box has then the identity that it has there, or one above ARRIVED. */
  from?: { step: number; match: number; name: string };
  own?: number[];
  shared?: number;
  diff?: [string, string][];
}

/** A match, or what a pass changed without a rule: boxes that touch, what matches do not explain, … */
export type EntryKind = "rule" | "group" | "rest" | "partition" | "metadata" | "order" | "difference";

/** How nodes look, as their compiler says: one entry for each different node. */
export interface LooksWire {
  name: string[];
  arg: string[];
  type: string[];
  /** The number of its colour, 1 to 12. */
  family: number[];
  /** How many of its first sources are the body of what it calls. */
  bodies: number[];
  /** Where its memory is: GLOBAL, LOCAL, REG; empty when it has none. */
  space: string[];
  /** All of the argument and of the type; null where the box shows all. */
  wholeArg: (string | null)[];
  wholeType: (string | null)[];
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
  name?: string | null;
  /** Identity of the body of a call that it was in, or was; -1 outside of any. */
  body?: number;
  /** Place in the graph's `looks`, and its bits as `GraphWire.fold` has them. */
  look: number;
  fold: number;
}

/** Added to the identity of a box that only the second of two graphs has. */
export const ARRIVED = 2 ** 42;
