/**
 * A graph as text: indented, each node printed once, later uses as a reference to its number. Where instructions have
 * names, each graph with its instructions in their order, as in the terminal.
 */
import { LISTS, type GraphWire } from "../wire/graph.ts";

export interface ListingLine {
  /** Position of the node in the graph's columns. */
  node: number;
  depth: number;
  text: string;
  /** A reference to a node that was printed above. */
  again: boolean;
}

/** Deeper than this the indentation stops growing; the depth is printed instead. */
const DEEPEST = 40;

/** The label of a node: its name where it has one, op, argument, type and shape, tag. */
export function label(graph: GraphWire, at: number): string {
  const arg = graph.args[graph.arg[at]!];
  const shape = graph.shapes[graph.shape[at]!];
  const tag = graph.tags[graph.tag[at]!];
  const parts = [graph.names?.[graph.name?.[at] ?? -1] ?? "", graph.ops[graph.op[at]!] ?? "?"];
  if (arg !== undefined && arg !== "" && arg !== "None") parts.push(arg);
  parts.push(`${graph.dtypes[graph.dtype[at]!] ?? ""}${shape === undefined ? "" : ` ${shape}`}`.trim());
  if (tag !== undefined) parts.push(`[${tag}]`);
  return parts
    .filter((part) => part !== "")
    .join("  ")
    .replaceAll("\n", " ");
}

/** The lines, from the root down its sources. */
export function listing(graph: GraphWire): ListingLine[] {
  const lines: ListingLine[] = [];
  if (graph.root < 0 || graph.root >= graph.id.length) return lines;
  if ((graph.names?.length ?? 0) > 0) return instructions(graph);
  const numbers = new Map<number, number>();
  const stack: [number, number][] = [[graph.root, 0]];
  while (stack.length > 0) {
    const [node, depth] = stack.pop()!;
    const known = numbers.get(node);
    if (known !== undefined) {
      lines.push({ node, depth, text: `${indent(depth)}↑${known} ${graph.ops[graph.op[node]!] ?? ""}`, again: true });
      continue;
    }
    const number = numbers.size;
    numbers.set(node, number);
    lines.push({ node, depth, text: `${indent(depth)}${number} ${label(graph, node)}`, again: false });
    for (let at = graph.srcStart[node + 1]! - 1; at >= graph.srcStart[node]!; at--)
      stack.push([graph.src[at]!, depth + 1]);
  }
  return lines;
}

/** What went: of a named instruction what it read too. */
export function removedLines(graph: GraphWire): string[] {
  const names = new Map(graph.identity.map((identity, at) => [identity, nameOf(graph, at)]));
  for (const gone of graph.removed) names.set(gone.identity, gone.name || `[${gone.id}]`);
  return graph.removed.map(({ name, op, src, arg, dtype, shape, fold }) => {
    if ((fold & LISTS) !== 0) return line(["graph", name]);
    const read = src.map((identity) => names.get(identity)).filter((text) => text !== undefined);
    return line([name ? `${name} = ${op}(${read.join(", ")})` : op, arg, dtype, shape]);
  });
}

/** The graphs that it consists of, then the bodies of calls. */
function instructions(graph: GraphWire): ListingLine[] {
  const { srcStart, src } = graph;
  const lists = (at: number): boolean => (graph.fold[at]! & LISTS) !== 0;
  const sources = (at: number): number[] => src.slice(srcStart[at], srcStart[at + 1]);
  const all = [...graph.id.keys()].filter(lists);
  const tops = graph.graphs ?? [];
  const bodies = all.filter((at) => !tops.includes(at) && at !== graph.root);
  const inside = new Set(all.flatMap(sources));
  const loose = [...graph.id.keys()].filter((at) => !lists(at) && !inside.has(at));
  const one = (node: number, depth: number): ListingLine => {
    const read = sources(node).map((at) => nameOf(graph, at));
    const named = `${nameOf(graph, node)} = ${graph.ops[graph.op[node]!] ?? "?"}(${read.join(", ")})`;
    const tag = graph.tags[graph.tag[node]!];
    const facts = [graph.args[graph.arg[node]!], graph.dtypes[graph.dtype[node]!], graph.shapes[graph.shape[node]!]];
    const text = indent(depth) + line([named, ...facts, tag === undefined ? null : `tag=${tag}`]);
    return { node, depth, text, again: false };
  };
  return [
    ...loose.map((at) => one(at, 0)),
    ...[...tops, ...bodies].flatMap((node) => [
      { node, depth: 0, text: `graph ${nameOf(graph, node)}`, again: false },
      ...sources(node).map((at) => one(at, 1)),
    ]),
  ];
}

function nameOf(graph: GraphWire, at: number): string {
  return graph.names?.[graph.name?.[at] ?? -1] ?? `[${graph.id[at]}]`;
}

function line(parts: (string | null | undefined)[]): string {
  return parts
    .filter((part) => part !== null && part !== undefined && part !== "" && part !== "None")
    .join(" ")
    .replaceAll("\n", " ");
}

function indent(depth: number): string {
  return depth <= DEEPEST ? "  ".repeat(depth) : `${"  ".repeat(DEEPEST)}(${depth}) `;
}
