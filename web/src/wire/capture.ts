/** What the server says about captures, contexts, steps and matches. See docs/api.md. */
import type { EntryKind } from "./graph.ts";

export interface Problem {
  reason: string;
  count: number;
  example: string;
}

export interface CaptureRow {
  id: string;
  name: string;
  /** What is on disk under that name: another when the capture was replaced. */
  stamp: string;
}

export interface CaptureInfo {
  id: string;
  name: string;
  path: string;
  state: string;
  live: boolean;
  clean: boolean;
  program: string;
  argv: string[];
  source: string;
  frameworks: Record<string, string>;
  created: string;
  problems: Problem[];
  dropped: number;
  /** Rows of each table. */
  tables: Record<string, number>;
  /** Which questions this server can answer: "schedule", "why", "origin", … */
  kinds: Record<string, number>;
  /** What is not recorded each time that it ran, in words. */
  sampled: string[];
  /** What to do about a capture without events; empty when nothing is known to be wrong. */
  advice: string;
}

/** One array a column; texts that repeat are codes into a list. */
export interface ContextsWire {
  id: number[];
  name: string[];
  kind: string[];
  parent: number[];
  steps: number[];
  matches: number[];
  start: number[];
  dur: number[];
  /** 1 when the context has code or other artifacts. */
  code: number[];
}

export interface StepsWire {
  id: number[];
  context: number[];
  depth: number[];
  name: number[];
  names: string[];
  file: number[];
  files: string[];
  line: number[];
  matches: number[];
  dur: number[];
  root: number[];
  /** Root of the graph that came out; -1 when the step is replayed from its matches. */
  after: number[];
  /**
   * Bits: 1 bottom-up, 2 walk, 4 enters calls, 8 ended in an error, 16 is there to show the graph that a kernel is
   * compiled from.
   */
  flags: number[];
}

export interface MatchesWire {
  step: number;
  total: number;
  /** Number of the first match in these columns, from 1. */
  first: number;
  before: number[];
  after: number[];
  op: number[];
  became: number[];
  ops: string[];
  file: number[];
  files: string[];
  line: number[];
  source: number[];
  sources: string[];
  handler: number[];
  handlers: string[];
  dur: number[];
  /** The node that was matched and what it reads, in a few words. */
  about: number[];
  abouts: string[];
  /** Where instructions have names: what an entry is, the names before and after, and how many boxes differ. */
  kind: number[];
  kinds: EntryKind[];
  beforeName: number[];
  afterName: number[];
  names: string[];
  boxes: number[];
}

/** The matches of a step by rule and op, one list a column; those with most matches first. */
export interface MatchGroupsWire {
  step: number;
  beforeOp: string[];
  afterOp: string[];
  file: (string | null)[];
  line: number[];
  kind: EntryKind[];
  count: number[];
  /** ns of all of them. */
  dur: number[];
  first: number[];
  handler: string[];
  /** Place of the group of each match. */
  of: number[];
}

/** What each pass of a context changed that has its graph after it. */
export interface PassesWire {
  step: number[];
  entries: number[];
  added: number[];
  removed: number[];
  altered: number[];
  metadata: number[];
  kind: string[];
  graphsIn: number[];
  graphsOut: number[];
}

/** What a step decided about one or two nodes; identities are those of its graphs, -1 where names do not tell. */
export interface DecisionsWire {
  step: number;
  ordinal: number[];
  kind: string[];
  a: number[];
  b: number[];
  aName: (string | null)[];
  bName: (string | null)[];
  aIdentity: number[];
  bIdentity: number[];
  reason: string[];
  /** The reason in plain words; empty where the compiler has none. */
  words: string[];
  file: (string | null)[];
  line: number[];
}

export interface SourceLine {
  number: number;
  text: string;
  hit: boolean;
}

export interface MatchWire {
  step: number;
  match: number;
  file: string | null;
  line: number;
  source: string | null;
  handler: string | null;
  dur: number;
  lines: SourceLine[];
  diff: [string, string][];
  kind: EntryKind;
  error: string | null;
}

export interface StackFrame {
  file: string;
  line: number;
  function: string;
  source: string;
}

export interface ContextWire {
  id: number;
  name: string;
  kind: string;
  parent: number;
  function: string;
  keys: string[];
  stack: StackFrame[];
  start: number;
  dur: number;
  artifacts: ArtifactRow[];
  /** What its compiler calls the graph that a kernel is compiled from. */
  kernelGraph: string;
}

export interface ArtifactRow {
  /** Number of the artifact in this capture. */
  row: number;
  kind: string;
  language: string;
  name: string;
  step: number;
}

/** When a node of a step's graphs came and went; match numbers, 0 is the graph that went in, -1 never. */
export interface HistoryWire {
  created: number;
  deleted: number;
  /** Every match that made, changed or removed it. */
  touched: number[];
}

/** A node on its way through another pass of its context. */
export interface PassageWire extends HistoryWire {
  step: number;
  name: string;
  identity: number;
}

/** The passes of its context that a box is in, one list a column. */
export interface LifeWire {
  /** The box that was asked about. */
  of: number;
  step: number[];
  /** What it is known by in that step. */
  identity: number[];
  wentIn: boolean[];
  cameOut: boolean[];
  changed: boolean[];
  /** The match that made it; 0 when it went in. */
  created: number[];
}

/** What made the boxes of a graph, one list a column; what went into the first pass is not there. */
export interface BirthsWire {
  identity: number[];
  step: number[];
  match: number[];
  name: number[];
  names: string[];
  rule: number[];
  rules: string[];
  dur: number[];
}

/** A link of the chain from the program's line over a node to its kernels; -1 where there is no step, box or context. */
export interface LinkWire {
  stage: "line" | "dynamo" | "traced" | "rule" | "pass" | "lowered" | "fused" | "kernel" | "instruction";
  name: string;
  op: string;
  step: number;
  match: number;
  identity: number;
  node: number;
  context: number;
  line: string | null;
  source: string | null;
}

/** A node as it was recorded; only `known: false` for one that a replay made. */
export interface NodeWire {
  id: number;
  known: boolean;
  /** Its element type, as it is shown. */
  type?: string;
  /** "softmax@prog.py:4", null when unknown. */
  metadata?: string | null;
}
