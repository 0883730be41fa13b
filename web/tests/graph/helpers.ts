import { expect } from "vitest";
import { BOX, type Placement } from "../../src/layout/layered/drawing.ts";
import { DEFAULT_SWITCHES } from "../../src/layout/graph/fold.ts";
import type { Folding } from "../../src/layout/graph/folding.ts";
import type { Scene } from "../../src/layout/graph/scene.ts";

export function folding(switches = {}): Folding {
  return {
    switches: { ...DEFAULT_SWITCHES, ...switches },
    opened: new Set(),
    closed: new Set(),
    blocks: null,
    only: null,
  };
}

/** Fails when two boxes (or a box and a tag) overlap, naming them. */
export function expectNoOverlap(scene: Scene, placement: Placement): void {
  const boxes = Array.from(scene.key, (_, i) => i).sort(
    (a, b) => placement.y[a]! - placement.y[b]! || placement.x[a]! - placement.x[b]!,
  );
  const overlaps: string[] = [];
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i]!, boxes[j]!];
      if (placement.y[b]! - placement.y[a]! >= BOX) break;
      const [left, right] = placement.x[a]! < placement.x[b]! ? [a, b] : [b, a];
      const end = placement.x[left]! + scene.width[left]! / 2 + scene.right[left]!;
      if (end > placement.x[right]! - scene.width[right]! / 2 + 0.01)
        overlaps.push(`${scene.labels[left]!.name} and ${scene.labels[right]!.name}`);
    }
  }
  expect(overlaps).toEqual([]);
}
