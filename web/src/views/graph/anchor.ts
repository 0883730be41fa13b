/** The camera told from a box: "KEY,x,y,zoom". A layout may put the box elsewhere; the view goes with it. */
import { seen } from "../../draw/canvas.ts";
import type { Camera, Picture } from "../../draw/renderer.ts";
import type { GraphWire } from "../../wire/graph.ts";
import { boxOfKey, nodesOf } from "./box_of.ts";

/** The anchor of a view: a box that is in sight when it is told of, else the one nearest to the middle. */
export function anchorOf(
  { scene, placement }: Picture,
  camera: Camera,
  wanted: number,
  width: number,
  height: number,
): string | null {
  const view = seen(camera, width, height);
  const off = (box: number): [number, number] => [camera.x - placement.x[box]!, camera.y - placement.y[box]!];
  const inSight = (box: number): boolean =>
    placement.x[box]! > view.left &&
    placement.x[box]! < view.right &&
    placement.y[box]! > view.top &&
    placement.y[box]! < view.bottom;
  let best = wanted >= 0 && inSight(wanted) ? wanted : -1;
  if (best < 0) {
    let least = Infinity;
    for (let box = 0; box < scene.count; box++) {
      const far = Math.hypot(...off(box));
      if (far < least) [least, best] = [far, box];
    }
  }
  if (best < 0) return null;
  const [x, y] = off(best);
  return `${scene.key[best]!},${x.toFixed(1)},${y.toFixed(1)},${camera.zoom.toFixed(4)}`;
}

/** The camera of an anchor in another picture; null when the anchor is not one or its box is not there. */
export function cameraAt(anchor: string | null, picture: Picture, boxOf: (key: number) => number): Camera | null {
  const [key, x, y, zoom, more] = (anchor ?? "").split(",").map(Number);
  if (key === undefined || x === undefined || y === undefined || zoom === undefined || more !== undefined) return null;
  if (![key, x, y, zoom].every(Number.isFinite) || zoom <= 0) return null;
  const box = boxOf(key);
  if (box < 0) return null;
  return { x: picture.placement.x[box]! + x, y: picture.placement.y[box]! + y, zoom };
}

/**
 * What moves a camera so that a box stays where it is on the screen when the graph is laid out anew; that gives null
 * when the box is not there, before or after.
 */
export function holding(
  before: Picture,
  graph: GraphWire,
  key: number,
): (now: Picture, graph: GraphWire, camera: Camera) => Camera | null {
  const was = boxOfKey(before, graph, key);
  const nodes = was < 0 ? [] : nodesOf(before, was);
  const at = { x: before.placement.x[was], y: before.placement.y[was] };
  return (now, laidOut, camera) => {
    let box = boxOfKey(now, laidOut, key);
    // a block that was opened is gone: the last of its nodes stands for it
    for (let i = nodes.length - 1; box < 0 && i >= 0; i--) box = now.scene.boxOf[nodes[i]!]!;
    if (box < 0 || at.x === undefined || at.y === undefined) return null;
    const { x, y } = now.placement;
    return { ...camera, x: camera.x + x[box]! - at.x, y: camera.y + y[box]! - at.y };
  };
}
