import type { GraphWire } from "../../wire/graph.ts";

/** What the graph's switches say. On means shown. */
export interface Switches {
  indexing: boolean;
  calls: boolean;
  sink: boolean;
  constants: boolean;
}

export const DEFAULT_SWITCHES: Switches = { indexing: true, calls: false, sink: false, constants: false };

/** Why a node is not shown by itself; the first three are also the bits of `GraphWire.fold`. */
export const SHOWN = 0;
export const CONSTANT = 1;
export const INDEXING = 2;
export const SINK = 4;
const CALLED = 3;
export const OUTSIDE = 5;

export interface Folded {
  /** SHOWN or the reason, one entry a node. */
  why: Uint8Array;
  /** Edges between shown nodes: position of the source, of the user, and the source's place in the user's list. */
  from: Int32Array;
  to: Int32Array;
  port: Int32Array;
}

/**
 * Which nodes are shown under these switches, and the edges between them.
 *
 * Constants go into the labels of their users. The body of a call is hidden with all that only it uses. `opened` holds identities whose constants and bodies are shown all the same.
 */
export function fold(graph: GraphWire, switches: Switches, opened: ReadonlySet<number>): Folded {
  const { srcStart, src } = graph;
  const count = graph.id.length;
  const why = new Uint8Array(count);
  const isOpened = Uint8Array.from(graph.identity, (identity) => (opened.has(identity) ? 1 : 0));
  const bodies = Uint8Array.from(graph.look, (look) => graph.looks.bodies[look]!);
  for (let v = 0; v < count; v++) {
    const bits = graph.fold[v]!;
    if (!switches.constants && (bits & CONSTANT) !== 0) why[v] = CONSTANT;
    else if (!switches.indexing && (bits & INDEXING) !== 0) why[v] = INDEXING;
  }
  if (!switches.sink && (graph.fold[graph.root]! & SINK) !== 0 && count > 1) why[graph.root] = SINK;
  markUnreached();
  return edges();

  function cut(user: number, port: number): boolean {
    if (switches.calls || isOpened[user] === 1) return false;
    return port < bodies[user]!;
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
    for (let v = 0; v < count; v++) {
      if (why[v] !== SHOWN) continue;
      for (let i = srcStart[v]!; i < srcStart[v + 1]!; i++) {
        const source = src[i]!;
        if (why[source] !== SHOWN || cut(v, i - srcStart[v]!)) continue;
        // constants are shared by the whole graph: one that is shown for an opened user is drawn for that user alone
        if (!switches.constants && isOpened[v] === 0 && (graph.fold[source]! & CONSTANT) !== 0) continue;
        from.push(source);
        to.push(v);
        port.push(i - srcStart[v]!);
      }
    }
    return { why, from: Int32Array.from(from), to: Int32Array.from(to), port: Int32Array.from(port) };
  }
}

/** What is hidden, in words for the status bar: "11 constants and SINK"; `root` is what the root is called. */
export function hiddenWords(why: Uint8Array, root: string): string {
  const counts = [0, 0, 0, 0, 0, 0];
  for (const reason of why) counts[reason]!++;
  const number = (n: number): string => n.toLocaleString("en-US");
  const parts: string[] = [];
  if (counts[CONSTANT]! > 0) parts.push(`${number(counts[CONSTANT]!)} constant${counts[CONSTANT] === 1 ? "" : "s"}`);
  if (counts[INDEXING]! > 0) parts.push(`${number(counts[INDEXING]!)} indexing`);
  if (counts[CALLED]! > 0) parts.push(`${number(counts[CALLED]!)} in calls`);
  if (counts[SINK]! > 0) parts.push(root);
  if (counts[OUTSIDE]! > 0) parts.push(`${number(counts[OUTSIDE]!)} outside`);
  const last = parts.pop();
  if (last === undefined) return "";
  return parts.length > 0 ? `${parts.join(", ")} and ${last}` : last;
}
