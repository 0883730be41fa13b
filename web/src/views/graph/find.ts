import { textOf } from "../../layout/labels.ts";
import type { Scene } from "../../layout/scene.ts";
import type { GraphWire } from "../../wire/graph.ts";

/** Boxes whose node has the text in its operation, argument, type, shape, tag or label. */
export function find(graph: GraphWire, scene: Scene, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const hits = (...parts: string[]): boolean => parts.some((part) => part.toLowerCase().includes(wanted));
  const found = new Set<number>();
  for (let box = 0; box < scene.count; box++) {
    const { name, arg, type } = scene.labels[box]!;
    if (hits(`${name} ${arg}`, type, scene.tags[box]!)) found.add(box);
  }
  // nodes inside a block count for the block
  for (let v = 0; v < graph.id.length; v++) {
    const box = scene.boxOf[v]!;
    if (box < 0 || found.has(box)) continue;
    const node = textOf(graph, v);
    if (hits(node.op, node.arg, `${node.dtype} ${node.shape}`)) found.add(box);
  }
  return [...found];
}
