/** Which box of a picture is where. */
import { seen } from "../../draw/canvas.ts";
import type { Camera, Picture } from "../../draw/renderer.ts";
import { BOX } from "../../layout/layered/drawing.ts";
import type { Point } from "../common/viewport/gestures.ts";
import { short } from "./describe.ts";

/** The uppermost box at a point of the view, px; -1 for none. From far away it need not be hit exactly. */
export function boxAt(picture: Picture, camera: Camera, at: Point, width: number, height: number): number {
  const { scene, placement } = picture;
  const x = camera.x + (at.x - width / 2) / camera.zoom;
  const y = camera.y + (at.y - height / 2) / camera.zoom;
  const slack = camera.zoom < 0.3 ? 2 / camera.zoom : 0;
  for (let box = scene.count - 1; box >= 0; box--) {
    if (Math.abs(placement.y[box]! - y) > BOX / 2 + slack) continue;
    if (Math.abs(placement.x[box]! - x) <= scene.width[box]! / 2 + slack) return box;
  }
  return -1;
}

/** The key of the box nearest to the middle of the view; -1 for none. */
export function middleKey({ scene, placement }: Picture, camera: Camera): number {
  let best = 0;
  let least = Infinity;
  for (let box = 0; box < scene.count; box++) {
    const off = Math.hypot(placement.x[box]! - camera.x, placement.y[box]! - camera.y);
    if (off < least) [least, best] = [off, box];
  }
  return scene.count === 0 ? -1 : scene.key[best]!;
}

/** Where the keys begin: at what a match changed, the nearest to the middle of the view, else at what is there. */
export function startBox(picture: Picture, camera: Camera): number {
  const { scene, placement } = picture;
  const off = (box: number): number => Math.hypot(placement.x[box]! - camera.x, placement.y[box]! - camera.y);
  const changed = Array.from(scene.state.keys()).filter((box) => scene.state[box] !== 0);
  if (changed.length > 0) return changed.reduce((best, box) => (off(box) < off(best) ? box : best));
  return scene.key.indexOf(middleKey(picture, camera));
}

/** Whether a match changed something, and none of it is in the view. */
export function changeOutside({ scene, placement }: Picture, camera: Camera, width: number, height: number): boolean {
  const view = seen(camera, width, height);
  let changes = 0;
  for (let box = 0; box < scene.count; box++) {
    if (scene.state[box] === 0) continue;
    changes++;
    const x = placement.x[box]!;
    const y = placement.y[box]!;
    if (x > view.left && x < view.right && y > view.top && y < view.bottom) return false;
  }
  return changes > 0;
}

/** Where a box is in the view, px. */
export function onScreen(
  { scene, placement }: Picture,
  box: number,
  { x, y, zoom }: Camera,
  width: number,
  height: number,
): { left: number; top: number; bottom: number } {
  const top = height / 2 + (placement.y[box]! - BOX / 2 - y) * zoom;
  return { left: width / 2 + (placement.x[box]! - scene.width[box]! / 2 - x) * zoom, top, bottom: top + BOX * zoom };
}

/** A box by itself: for tests and measurements. */
export interface BoxAt {
  key: number;
  x: number;
  y: number;
  width: number;
  height: number;
  state: number;
  name: string;
}

export function boxesOf({ scene, placement }: Picture): BoxAt[] {
  return Array.from(scene.key, (key, box) => ({
    key,
    x: placement.x[box]!,
    y: placement.y[box]!,
    width: scene.width[box]!,
    height: BOX,
    state: scene.state[box]!,
    name: short(scene, box),
  }));
}
