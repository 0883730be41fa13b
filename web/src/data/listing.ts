/** A graph as text: indented, each node printed once, later uses as a reference to its number. */
import type { GraphWire } from "../wire/graph.ts";

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

/** The label of a node: op, argument, type and shape, tag. */
export function label(graph: GraphWire, at: number): string {
  const arg = graph.args[graph.arg[at]!];
  const shape = graph.shapes[graph.shape[at]!];
  const tag = graph.tags[graph.tag[at]!];
  const parts = [graph.ops[graph.op[at]!] ?? "?"];
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

function indent(depth: number): string {
  return depth <= DEEPEST ? "  ".repeat(depth) : `${"  ".repeat(DEEPEST)}(${depth}) `;
}
