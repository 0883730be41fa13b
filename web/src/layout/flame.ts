/** A flame graph: where the boxes of a call tree stand, the widest of a caller's calls first. */

export interface FlameTree {
  readonly size: number;
  readonly parent: Int32Array;
  readonly past: Int32Array;
  readonly wire: { readonly depth: readonly number[]; readonly width: readonly number[] };
}

export interface FlameBox {
  node: number;
  x: number;
  width: number;
  level: number;
}

/** Boxes narrower than this are not drawn, nor is anything below them. */
const LEAST = 0.6;

/** Boxes of at least half a pixel on so many pixels, level by level within each branch. */
export function flameBoxes(tree: FlameTree, pixels: number): FlameBox[] {
  const boxes: FlameBox[] = [];
  if (tree.size === 0 || pixels <= 0) return boxes;
  const { width, depth } = tree.wire;
  const scale = pixels / Math.max(1, width[0]!);
  /** Where the next call of each node begins. */
  const next = new Float64Array(tree.size);
  let node = 0;
  while (node < tree.size) {
    const parent = tree.parent[node]!;
    const x = parent < 0 ? 0 : next[parent]!;
    const wide = width[node]! * scale;
    next[node] = x;
    if (parent >= 0) next[parent] = x + wide;
    if (wide >= LEAST) {
      boxes.push({ node, x, width: wide, level: depth[node]! });
      node += 1;
    } else node = tree.past[node]!;
  }
  return boxes;
}

/** How many levels there are. */
export function flameLevels(boxes: readonly FlameBox[]): number {
  return boxes.reduce((most, box) => Math.max(most, box.level + 1), 0);
}

/** The box at a place; null where there is none. */
export function boxAt(boxes: readonly FlameBox[], x: number, level: number): FlameBox | null {
  return boxes.find((box) => box.level === level && box.x <= x && x < box.x + box.width) ?? null;
}
