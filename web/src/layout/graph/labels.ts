import type { GraphWire } from "../../wire/graph.ts";

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

/** The memory that node v is about: as the graph around it tells, else its own fields; empty for none. */
export function spaceOf(graph: GraphWire, v: number): string {
  if (graph.space === undefined) return graph.looks.space[graph.look[v]!]!;
  return graph.spaces![graph.space[v]!] ?? "";
}

/** What the graph around node v says about it, line by line. */
function around(graph: GraphWire, v: number): string[] {
  const index = graph.indexes?.[graph.index![v]!];
  const open = graph.opens?.[graph.open![v]!];
  return [index ?? "", open === undefined ? "" : `open ranges ${open}`];
}

/** Everything there is to say about a node, line by line, for the tooltip and for copying; v is -1 for one that is gone. */
export function fullLabel(graph: GraphWire, look: number, { op, tag }: Pick<NodeText, "op" | "tag">, v = -1): string {
  const { looks } = graph;
  const lines = [
    op,
    looks.wholeArg[look] ?? looks.arg[look]!,
    looks.wholeType[look] ?? looks.type[look]!,
    tag === "" ? "" : `tag ${tag}`,
    ...(v < 0 ? [] : around(graph, v)),
  ];
  const space = v < 0 ? looks.space[look]! : spaceOf(graph, v);
  if (space !== "") lines.push(`address space ${space}`);
  return lines.filter((line) => line !== "").join("\n");
}

/** Whether node v stands for something that was compiled by itself. */
export function isCall(graph: GraphWire, v: number): boolean {
  return v >= 0 && graph.looks.bodies[graph.look[v]!]! > 0;
}
