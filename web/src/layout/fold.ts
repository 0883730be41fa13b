import type { GraphWire } from "../wire/graph.ts";
import { topologicalOrder } from "./adjacency.ts";

/** What the graph's switches say. On means shown. */
export interface Switches {
  indexing: boolean;
  calls: boolean;
  sink: boolean;
  constants: boolean;
}

export const DEFAULT_SWITCHES: Switches = { indexing: true, calls: false, sink: false, constants: false };

/** Why a node is not shown by itself. */
export const SHOWN = 0;
export const CONSTANT = 1;
const INDEXING = 2;
const CALLED = 3;
export const SINK = 4;

export interface Folded {
  /** SHOWN or the reason, one entry a node. */
  why: Uint8Array;
  /** Edges between shown nodes: position of the source, of the user, and the source's place in the user's list. */
  from: Int32Array;
  to: Int32Array;
  port: Int32Array;
}

const MOVEMENT = new Set(["RESHAPE", "PERMUTE", "EXPAND", "PAD", "SHRINK", "FLIP"]);
/** Ops that hand a constant on unchanged. */
const PASSES = new Set(["RESHAPE", "EXPAND", "CAST"]);
const CONSTANTS = new Set(["CONST", "VCONST", "DEVICE", "UNIQUE", "LUNIQUE"]);
const VECTORS = new Set(["STACK", "VECTORIZE"]);
const TAKES_SHAPES = new Set([...MOVEMENT, "PARAM", "BUFFER"]);
const CALLS = new Set(["CALL", "FUNCTION", "KERNEL"]);
const INDEX_TYPE = /^(dtypes\.)?(weakint|index)\b/;

/**
 * Which nodes are shown under these switches, and the edges between them.
 *
 * Constants go into the labels of their users, with what only hands them on. The body of a call is its first source (a
 * program has two such). `opened` holds identities whose constants and bodies are shown all the same.
 */
export function fold(graph: GraphWire, switches: Switches, opened: ReadonlySet<number>): Folded {
  const { srcStart, src, op, ops } = graph;
  const count = graph.id.length;
  const why = new Uint8Array(count);
  const is = (set: ReadonlySet<string>): Uint8Array => Uint8Array.from(ops, (name) => (set.has(name) ? 1 : 0));
  const call = is(CALLS);
  const program = is(new Set(["PROGRAM"]));
  if (!switches.constants) markConstants();
  const isOpened = Uint8Array.from(graph.identity, (identity) => (opened.has(identity) ? 1 : 0));
  if (!switches.indexing) {
    const indexing = Uint8Array.from(graph.dtypes, (name) => (INDEX_TYPE.test(name) ? 1 : 0));
    for (let v = 0; v < count; v++) if (why[v] === SHOWN && indexing[graph.dtype[v]!] === 1) why[v] = INDEXING;
  }
  if (!switches.sink && ops[op[graph.root]!] === "SINK" && count > 1) why[graph.root] = SINK;
  markUnreached();
  return edges();

  function markConstants(): void {
    const constant = is(CONSTANTS);
    const passes = is(PASSES);
    const vector = is(VECTORS);
    const takes = is(TAKES_SHAPES);
    const plain = new Uint8Array(count); // constant, or a vector of nothing but constants
    for (const v of order(graph)) {
      const name = op[v]!;
      const first = srcStart[v]!;
      const last = srcStart[v + 1]!;
      if (constant[name] === 1) plain[v] = 1;
      else if (passes[name] === 1 && first < last && plain[src[first]!] === 1) plain[v] = 1;
      else if (vector[name] === 1) plain[v] = allPlain(first, last, plain) ? 2 : 0;
      if (plain[v] === 1 || (plain[v] === 2 && first === last)) if (v !== graph.root) why[v] = CONSTANT;
      if (takes[name] === 1) for (let i = first; i < last; i++) if (plain[src[i]!] === 2) why[src[i]!] = CONSTANT;
    }
  }
  function allPlain(first: number, last: number, plain: Uint8Array): boolean {
    for (let i = first; i < last; i++) if (plain[src[i]!] !== 1) return false;
    return true;
  }
  function cut(user: number, port: number): boolean {
    if (switches.calls || isOpened[user] === 1) return false;
    return (call[op[user]!] === 1 && port === 0) || (program[op[user]!] === 1 && port < 2);
  }
  /** Bodies of calls that nothing else uses are hidden; a constant that an opened node uses comes back. */
  function markUnreached(): void {
    const reached = new Uint8Array(count);
    const stack = [graph.root];
    reached[graph.root] = 1;
    while (stack.length > 0) {
      const v = stack.pop()!;
      for (let i = srcStart[v]!; i < srcStart[v + 1]!; i++) {
        const source = src[i]!;
        if (isOpened[v] === 1 && why[source] === CONSTANT) why[source] = SHOWN;
        if (reached[source] === 1 || cut(v, i - srcStart[v]!)) continue;
        reached[source] = 1;
        stack.push(source);
      }
    }
    for (let v = 0; v < count; v++) if (reached[v] === 0) why[v] = CALLED;
  }
  function edges(): Folded {
    const from: number[] = [];
    const to: number[] = [];
    const port: number[] = [];
    const constant = is(CONSTANTS);
    for (let v = 0; v < count; v++) {
      if (why[v] !== SHOWN) continue;
      for (let i = srcStart[v]!; i < srcStart[v + 1]!; i++) {
        const source = src[i]!;
        if (why[source] !== SHOWN || cut(v, i - srcStart[v]!)) continue;
        // constants are shared by the whole graph: one that is shown for an opened user is drawn for that user alone
        if (constant[op[source]!] === 1 && !switches.constants && isOpened[v] === 0) continue;
        from.push(source);
        to.push(v);
        port.push(i - srcStart[v]!);
      }
    }
    return { why, from: Int32Array.from(from), to: Int32Array.from(to), port: Int32Array.from(port) };
  }
}

/** Positions with sources before their users: the columns' own order when it is that already. */
function order(graph: GraphWire): Iterable<number> {
  const count = graph.id.length;
  const to = new Int32Array(graph.src.length);
  let sorted = true;
  for (let v = 0; v < count; v++) {
    for (let i = graph.srcStart[v]!; i < graph.srcStart[v + 1]!; i++) {
      to[i] = v;
      if (graph.src[i]! >= v) sorted = false;
    }
  }
  return sorted ? Array.from({ length: count }, (_, v) => v) : topologicalOrder(count, Int32Array.from(graph.src), to);
}

/** What is hidden, in words for the status bar: "11 constants and SINK". */
export function hiddenWords(why: Uint8Array): string {
  const counts = [0, 0, 0, 0, 0];
  for (const reason of why) counts[reason]!++;
  const number = (n: number): string => n.toLocaleString("en-US");
  const parts: string[] = [];
  if (counts[CONSTANT]! > 0) parts.push(`${number(counts[CONSTANT]!)} constant${counts[CONSTANT] === 1 ? "" : "s"}`);
  if (counts[INDEXING]! > 0) parts.push(`${number(counts[INDEXING]!)} indexing`);
  if (counts[CALLED]! > 0) parts.push(`${number(counts[CALLED]!)} in calls`);
  if (counts[SINK]! > 0) parts.push("SINK");
  const last = parts.pop();
  if (last === undefined) return "";
  return parts.length > 0 ? `${parts.join(", ")} and ${last}` : last;
}
