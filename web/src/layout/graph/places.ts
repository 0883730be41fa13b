import type { Placement } from "../layered/drawing.ts";
import type { Scene } from "./scene.ts";

/** x, y and, where it matters, the widths of the box and of what stands at its right. */
export type Place = readonly [number, number, number?, number?];

/**
 * Where boxes stood on the way to a layout, by key: what comes back goes back there.
 *
 * It knows what the way knows and no more, so that whoever goes the same way sees the same picture.
 */
export class Places {
  readonly known = new Map<number, Place>();
  /** How long the way was when a box got its place. */
  private readonly since = new Map<number, number>();

  clear(): void {
    this.known.clear();
    this.since.clear();
  }

  /** Notes a picture; `length` is that of the way to it. */
  remember(scene: Scene, placement: Placement, length: number): void {
    for (const [key, since] of this.since) {
      if (since <= length) continue;
      this.since.delete(key);
      this.known.delete(key);
    }
    scene.key.forEach((key, box) => {
      this.known.set(key, [placement.x[box]!, placement.y[box]!, scene.width[box]!, scene.right[box]!]);
      if (!this.since.has(key)) this.since.set(key, length);
    });
  }
}
