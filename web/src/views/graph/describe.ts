import { fullLabel, textOf } from "../../layout/graph/labels.ts";
import type { Scene } from "../../layout/graph/scene.ts";
import type { GraphWire } from "../../wire/graph.ts";

const STATE = ["", "added", "changed", "removed"];

/** Everything about a box as text: for the tooltip, and for the clipboard. */
export function fullText(graph: GraphWire, scene: Scene, box: number): string {
  const v = scene.node[box]!;
  if (scene.block[box]! >= 0) return blockText(graph, scene, box);
  if (v < 0) {
    const ghost = graph.removed.find((node) => node.identity === scene.key[box]);
    return ghost === undefined ? "" : fullLabel(graph, ghost.look, { op: ghost.op, tag: ghost.tag ?? "" });
  }
  const lines = [fullLabel(graph, graph.look[v]!, textOf(graph, v), v)];
  for (let i = graph.srcStart[v]!; i < graph.srcStart[v + 1]! && i < graph.srcStart[v]! + 12; i++) {
    const source = textOf(graph, graph.src[i]!);
    const arg = source.arg.length > 40 ? `${source.arg.slice(0, 39)}…` : source.arg;
    lines.push(`${i - graph.srcStart[v]!}: ${[source.op, arg].filter((part) => part !== "").join(" ")}`);
  }
  const more = graph.srcStart[v + 1]! - graph.srcStart[v]! - 12;
  if (more > 0) lines.push(`… ${more} more sources`);
  return lines.join("\n");
}

/** A box in one sentence, for the screen reader. */
export function spoken(scene: Scene, box: number): string {
  const { name, arg, type } = scene.labels[box]!;
  const sources: number[] = [];
  const users: number[] = [];
  for (let e = 0; e < scene.from.length; e++) {
    if (scene.to[e] === box) sources.push(scene.from[e]!);
    if (scene.from[e] === box) users.push(scene.to[e]!);
  }
  const list = (boxes: number[]): string =>
    boxes
      .slice(0, 6)
      .map((other) => short(scene, other))
      .join(", ") || "none";
  const state = STATE[scene.state[box]!]!;
  return `${[name, arg, type, state].filter((part) => part !== "").join(", ")}. Sources: ${list(sources)}. Users: ${list(users)}.`;
}

/** Name and argument of a box. */
export function short(scene: Scene, box: number): string {
  const { name, arg } = scene.labels[box]!;
  return arg === "" ? name : `${name} ${arg}`;
}

/** What is in a block: its commonest operations. */
function blockText(graph: GraphWire, scene: Scene, box: number): string {
  const counts = new Map<string, number>();
  scene.boxOf.forEach((other, v) => {
    if (other !== box) return;
    const op = graph.ops[graph.op[v]!]!;
    counts.set(op, (counts.get(op) ?? 0) + 1);
  });
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 8);
  const { name, type } = scene.labels[box]!;
  return [
    name,
    type,
    ...common.map(([op, count]) => `${count.toLocaleString("en-US")} ${op}`),
    "double click opens it",
  ].join("\n");
}

/** What a screen reader says of the graph. */
export function graphLabel(scene: Scene): string {
  const boxes = scene.count.toLocaleString("en-US");
  return `Graph, ${boxes} boxes. Shift with arrow keys moves along the edges, Enter opens.`;
}
