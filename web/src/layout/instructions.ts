/** Graphs of named instructions in the form that graphs are drawn in. */
import { LISTS, type GraphWire, type LooksWire, type RemovedNode } from "../wire/graph.ts";
import { SINK } from "./graph/fold.ts";

/** A graph as it is drawn: of lists of instructions, without what is not looked at. */
export interface DrawnGraph extends GraphWire {
  /** 1 for an instruction that calls a body which is left out, 2 for one whose body is there. */
  readonly bodied?: number[];
}

/** Characters of a name or an argument in a box. */
const LONGEST = 34;

/** Whether boxes are known by the names of instructions. */
export function isNamed(graph: GraphWire): boolean {
  return (graph.names?.length ?? 0) > 0;
}

/**
 * The graph as it is drawn: boxes have the names of their instructions. A list of them reads what it lists and nobody else
 * reads; the one around all of it is hidden as a sink is. Bodies of calls are left out unless all are asked for, or those
 * that instructions of these identities call. `scope` takes the place of the step: graphs of one scope keep each other's
 * places.
 */
export function drawable(graph: GraphWire, asked: boolean | ReadonlySet<number>, scope: number): DrawnGraph {
  const bodies = asked === true;
  const opened = asked === true || asked === false ? new Set<number>() : asked;
  const { srcStart, src, op, ops } = graph;
  const count = graph.id.length;
  const isGraph = (v: number): boolean => (graph.fold[v]! & LISTS) !== 0;
  const tops = new Set(graph.graphs ?? []);
  const keep = new Uint8Array(count).fill(1);
  if (!bodies) {
    keep.fill(0);
    const stack = [graph.root];
    while (stack.length > 0) {
      const v = stack.pop()!;
      if (v < 0 || keep[v] === 1) continue;
      keep[v] = 1;
      const whole = isGraph(v) || opened.has(graph.identity[v]!);
      for (let i = srcStart[v]!; i < srcStart[v + 1]!; i++) if (whole || !isGraph(src[i]!)) stack.push(src[i]!);
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
  const insides = new Texts();
  const looks = new Looks(graph.looks);
  const hidden = (v: number): boolean => v === graph.root && (tops.size !== 1 || tops.has(v)) && isGraph(v);
  const nameOf = (v: number): string => graph.names?.[graph.name?.[v] ?? -1] ?? "";
  const opOf = (v: number): string => (isGraph(v) ? "graph" : (ops[op[v]!] ?? ""));
  const inside = (v: number): number => {
    const own = graph.inside[v]!;
    return own < 0 ? -1 : insides.code(argument(nameOf(v), opOf(v), graph.insides[own]!));
  };
  const moved = (list: number[]): number[] => list.map((v) => place[v]!).filter((v) => v >= 0);
  return {
    ...graph,
    step: scope,
    root: place[graph.root] ?? -1,
    id: kept.map((v) => graph.id[v]!),
    identity: kept.map((v) => graph.identity[v]!),
    op: kept.map((v) => texts.code(nameOf(v) || opOf(v))),
    ops: texts.list,
    arg: kept.map((v) => graph.arg[v]!),
    dtype: kept.map((v) => graph.dtype[v]!),
    shape: kept.map((v) => graph.shape[v]!),
    tag: kept.map((v) => graph.tag[v]!),
    look: kept.map((v) => looks.named(graph.look[v]!, nameOf(v), opOf(v))),
    inside: kept.map(inside),
    insides: insides.list,
    fold: kept.map((v) => (hidden(v) ? SINK : graph.fold[v]!)),
    name: [],
    names: [],
    srcStart: start,
    src: sources,
    bodied: kept.map((v) => {
      const calls = !isGraph(v) && src.slice(srcStart[v], srcStart[v + 1]).some(isGraph);
      return !calls ? 0 : bodies || opened.has(graph.identity[v]!) ? 2 : 1;
    }),
    added: moved(graph.added),
    changed: moved(graph.changed),
    removed: graph.removed
      .filter((node) => (node.fold & LISTS) === 0 && (bodies || (node.body ?? -1) < 0))
      .map((node) => ghost(node, looks)),
    looks: looks.wire,
  };
}

/** The instructions whose bodies are to be open for one to be in sight, by their identities. */
export function callersOf(graph: GraphWire, identity: number): number[] {
  const { srcStart, src, fold } = graph;
  const tops = new Set([...(graph.graphs ?? []), graph.root]);
  const users = (wanted: number, listing: boolean): number =>
    fold.findIndex(
      (bits, v) => ((bits & LISTS) !== 0) === listing && src.slice(srcStart[v], srcStart[v + 1]).includes(wanted),
    );
  const found: number[] = [];
  for (let v = graph.identity.indexOf(identity), left = 32; v >= 0 && left > 0; left--) {
    const list = (fold[v]! & LISTS) !== 0 ? v : users(v, true);
    if (list < 0 || tops.has(list)) break;
    v = users(list, false);
    if (v >= 0) found.push(graph.identity[v]!);
  }
  return found;
}

function ghost(node: RemovedNode, looks: Looks): RemovedNode {
  return { ...node, op: node.name || node.op, look: looks.named(node.look, node.name ?? "", node.op) };
}

/** What stands behind the name of an instruction: its op, where the name does not say that, and its argument. */
function argument(name: string, op: string, arg: string): string {
  if (name === "") return arg;
  const said = name === op || (name.startsWith(op) && /^[._\d]/.test(name.slice(op.length)));
  return [said ? "" : op, arg].filter((part) => part !== "").join(" ");
}

/** The looks of a graph, and those of its nodes under the names of their instructions. */
class Looks {
  readonly wire: LooksWire;
  private readonly made = new Map<string, number>();

  constructor(own: LooksWire) {
    const { name, arg, type, family, bodies, space, wholeArg, wholeType } = own;
    this.wire = {
      name: [...name],
      arg: [...arg],
      type: [...type],
      family: [...family],
      bodies: [...bodies],
      space: [...space],
      wholeArg: [...wholeArg],
      wholeType: [...wholeType],
    };
  }

  named(look: number, name: string, op: string): number {
    if (name === "") return look;
    const key = `${look} ${name}`;
    let found = this.made.get(key);
    if (found === undefined) {
      const { wire } = this;
      const arg = argument(name, op, wire.arg[look]!);
      found = wire.name.push(cut(name)) - 1;
      wire.arg.push(cut(arg));
      wire.type.push(wire.type[look]!);
      wire.family.push(wire.family[look]!);
      wire.bodies.push(wire.bodies[look]!);
      wire.space.push(wire.space[look]!);
      // the tooltip says the op even where the name does
      wire.wholeArg.push(`${op} ${wire.wholeArg[look] ?? wire.arg[look]!}`.trimEnd());
      wire.wholeType.push(wire.wholeType[look]!);
      this.made.set(key, found);
    }
    return found;
  }
}

function cut(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`;
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
