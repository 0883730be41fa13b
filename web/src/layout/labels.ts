import type { GraphWire } from "../wire/graph.ts";

/** The two lines of a box: operation with its argument, and type. */
export interface Label {
  name: string;
  arg: string;
  type: string;
}

/** Fields of a node as text, wherever it comes from. */
export interface NodeText {
  op: string;
  dtype: string;
  arg: string;
  shape: string;
  tag: string;
}

/** The texts of node v. */
export function textOf(graph: GraphWire, v: number): NodeText {
  const pick = (list: string[], code: number | undefined): string =>
    code === undefined || code < 0 ? "" : (list[code] ?? "");
  return {
    op: pick(graph.ops, graph.op[v]),
    dtype: pick(graph.dtypes, graph.dtype[v]),
    arg: pick(graph.args, graph.arg[v]),
    shape: pick(graph.shapes, graph.shape[v]),
    tag: pick(graph.tags, graph.tag[v]),
  };
}

/** The label of node v; constants that are folded into it stand in it. */
export function labelOf(graph: GraphWire, v: number, folded: boolean): Label {
  const label = lookLabel(graph, graph.look[v]!);
  const inside = folded ? graph.inside[v]! : -1;
  if (inside >= 0) label.arg = graph.insides[inside]!;
  return label;
}

/** The label of a node by its look alone. */
export function lookLabel({ looks }: GraphWire, look: number): Label {
  return { name: looks.name[look]!, arg: looks.arg[look]!, type: looks.type[look]! };
}

/** Everything there is to say about a node, line by line, for the tooltip and for copying. */
export function fullLabel({ looks }: GraphWire, look: number, { op, tag }: Pick<NodeText, "op" | "tag">): string {
  const lines = [
    op,
    looks.wholeArg[look] ?? looks.arg[look]!,
    looks.wholeType[look] ?? looks.type[look]!,
    tag === "" ? "" : `tag ${tag}`,
  ];
  if (looks.space[look] !== "") lines.push(`address space ${looks.space[look]}`);
  return lines.filter((line) => line !== "").join("\n");
}

/** Whether node v stands for something that was compiled by itself. */
export function isCall(graph: GraphWire, v: number): boolean {
  return v >= 0 && graph.looks.bodies[graph.look[v]!]! > 0;
}
