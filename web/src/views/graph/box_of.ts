/** Which box of a picture stands for what. */
import type { Picture } from "../../draw/renderer.ts";
import { lowestOfLargest } from "../../layout/layered/components.ts";
import type { Scene } from "../../layout/graph/scene.ts";
import type { GraphWire } from "../../wire/graph.ts";

/** The box of a key, or the one that the node of this identity is in; -1 for none. */
export function boxOfKey({ scene }: Picture, graph: GraphWire, key: number): number {
  const box = scene.key.indexOf(key);
  if (box >= 0 || key < 0) return box;
  const v = graph.identity.indexOf(key);
  return v < 0 ? -1 : scene.boxOf[v]!;
}

/** The box of the root; where that is hidden, the lowest: it is what the root collects. */
export function rootBox({ scene, placement }: Picture, root: number): number {
  return root >= 0 && scene.boxOf[root]! >= 0 ? scene.boxOf[root]! : lowestOfLargest(scene, placement.y);
}

/** The nodes that a box stands for. */
export function nodesOf({ scene }: Picture, box: number): number[] {
  const nodes: number[] = [];
  scene.boxOf.forEach((other, v) => other === box && nodes.push(v));
  return nodes;
}

/** The colour of each box: that of its family, or one of its own; what has none is among the others. */
export function tinted(scene: Scene, of: ReadonlyMap<number, number> | null): Uint8Array {
  if (of === null) return scene.family;
  return Uint8Array.from(scene.family, (_, box) => of.get(scene.key[box]!) ?? OTHER);
}

const OTHER = 12;
