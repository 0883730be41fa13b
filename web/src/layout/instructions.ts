/** Graphs of named instructions in the form that graphs are drawn in. */
import type { GraphWire, RemovedNode } from "../wire/graph.ts";

const GRAPH = "GRAPH";
/** The op of a root that only holds the graph together, which the graph's switches know how to hide. */
const SINK = "SINK";

/** Whether boxes are known by the names of instructions. */
export function isNamed(graph: GraphWire): boolean {
  return (graph.names?.length ?? 0) > 0;
}

/**
 * The graph as it is drawn: boxes have the names of their instructions. A GRAPH reads what it lists and nobody else
 * reads; the one around all of it is hidden as a SINK is. Bodies of calls are left out unless they are asked for.
 * `scope` takes the place of the step: graphs of one scope keep each other's places.
 */
export function drawable(graph: GraphWire, bodies: boolean, scope: number): GraphWire {
  const { srcStart, src, op, ops } = graph;
  const count = graph.id.length;
  const code = ops.indexOf(GRAPH);
  const isGraph = (v: number): boolean => code >= 0 && op[v] === code;
  const tops = new Set(graph.graphs ?? []);
  const keep = new Uint8Array(count).fill(1);
  if (!bodies) {
    keep.fill(0);
    const stack = [graph.root];
    while (stack.length > 0) {
      const v = stack.pop()!;
      if (v < 0 || keep[v] === 1) continue;
      keep[v] = 1;
      for (let i = srcStart[v]!; i < srcStart[v + 1]!; i++) if (!isGraph(src[i]!) || isGraph(v)) stack.push(src[i]!);
    }
  }
  const read = new Uint8Array(count);
  for (let v = 0; v < count; v++) {
    if (keep[v] === 0 || isGraph(v)) continue;
    for (let i = srcStart[v]!; i < srcStart[v + 1]!; i++) read[src[i]!] = 1;
  }
  const place = new Int32Array(count).fill(-1);
  let next = 0;
  for (let v = 0; v < count; v++) if (keep[v] === 1) place[v] = next++;
  const kept = [...keep.keys()].filter((v) => keep[v] === 1);
  const start = [0];
  const sources: number[] = [];
  for (const v of kept) {
    for (let i = srcStart[v]!; i < srcStart[v + 1]!; i++) {
      const source = src[i]!;
      if (place[source]! < 0 || (isGraph(v) && !isGraph(source) && read[source] === 1)) continue;
      sources.push(place[source]!);
    }
    start.push(sources.length);
  }
  const texts = new Texts();
  const args = new Texts();
  const drawn = kept.map((v) => boxText(graph, v, v === graph.root && (tops.size !== 1 || tops.has(v))));
  const moved = (list: number[]): number[] => list.map((v) => place[v]!).filter((v) => v >= 0);
  return {
    ...graph,
    step: scope,
    root: place[graph.root] ?? -1,
    id: kept.map((v) => graph.id[v]!),
    identity: kept.map((v) => graph.identity[v]!),
    op: drawn.map(([name]) => texts.code(name)),
    ops: texts.list,
    arg: drawn.map(([, arg]) => args.code(arg)),
    args: args.list,
    dtype: kept.map((v) => graph.dtype[v]!),
    shape: kept.map((v) => graph.shape[v]!),
    tag: kept.map((v) => graph.tag[v]!),
    name: [],
    names: [],
    srcStart: start,
    src: sources,
    added: moved(graph.added),
    changed: moved(graph.changed),
    removed: graph.removed
      .filter((node) => node.op !== GRAPH && (bodies || (node.body ?? -1) < 0))
      .map((node) => ghost(node)),
  };
}

function boxText(graph: GraphWire, v: number, root: boolean): [string, string] {
  const own = graph.ops[graph.op[v]!] ?? "";
  const name = graph.names?.[graph.name?.[v] ?? -1] ?? "";
  const arg = graph.args[graph.arg[v]!] ?? "";
  if (root && own === GRAPH) return [SINK, name];
  return told(name, own, arg);
}

function ghost(node: RemovedNode): RemovedNode {
  const [op, arg] = told(node.name ?? "", node.op, node.arg);
  return { ...node, op, arg };
}

/** The name of an instruction, and its op behind it where the name does not say that. */
function told(name: string, op: string, arg: string): [string, string] {
  if (name === "") return [op, arg];
  if (op === GRAPH) return [name, "graph"];
  const said = name === op || (name.startsWith(op) && /^[._\d]/.test(name.slice(op.length)));
  return [name, [said ? "" : op, arg].filter((part) => part !== "").join(" ")];
}

class Texts {
  readonly list: string[] = [];
  private readonly codes = new Map<string, number>();

  code(text: string): number {
    let found = this.codes.get(text);
    if (found === undefined) {
      found = this.list.push(text) - 1;
      this.codes.set(text, found);
    }
    return found;
  }
}
