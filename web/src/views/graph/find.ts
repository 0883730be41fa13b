import { fits, parseQuery } from "../../data/grammar.ts";
import type { Picture } from "../../draw/renderer.ts";
import { textOf } from "../../layout/graph/labels.ts";
import type { Scene } from "../../layout/graph/scene.ts";
import type { GraphWire } from "../../wire/graph.ts";

/** Boxes whose node the text fits: its operation, argument, type, shape, tag and label; `op:` its operation alone. */
export function find(graph: GraphWire, scene: Scene, text: string): number[] {
  const query = parseQuery(text);
  if (query.terms.length === 0) return [];
  const found = new Set<number>();
  for (let box = 0; box < scene.count; box++) {
    const { name, arg, type } = scene.labels[box]!;
    if (fits(query, `${name} ${arg}\n${type}\n${scene.tags[box]!}`, { op: name })) found.add(box);
  }
  // nodes inside a block count for the block
  for (let v = 0; v < graph.id.length; v++) {
    const box = scene.boxOf[v]!;
    if (box < 0 || found.has(box)) continue;
    const node = textOf(graph, v);
    const whole = `${node.op}\n${node.arg}\n${node.dtype} ${node.shape}`;
    if (fits(query, whole, { op: node.op })) found.add(box);
  }
  return [...found];
}

/** The same from top to bottom, as they stand in a picture. */
export function findInOrder(graph: GraphWire, picture: Picture, text: string): number[] {
  const { x, y } = picture.placement;
  return find(graph, picture.scene, text).sort((a, b) => y[a]! - y[b]! || x[a]! - x[b]!);
}
