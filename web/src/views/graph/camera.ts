import type { Bounds, Camera, Picture } from "../../draw/renderer.ts";
import { BOX } from "../../layout/layered/drawing.ts";
import { LEAST_ZOOM } from "../common/viewport/plane_viewport.ts";

/** Labels are comfortable to read from here on: a graph that does not fit at this zoom is shown in part. */
const READABLE = 0.86;
const LEAST_READABLE = 0.45;
const PAD = 14;
/** What the view is about stays so far from its edges, px; at the right there is the map besides. */
const EDGE = 110;
const MAP = 150;
/** How many places are tried for a view that is fuller. */
const TRIED = 40;
/** Boxes around which the fullest view is looked for. */
const MOST_TRIED = 500;
/** With fewer boxes than this a view is looked for that shows more of them. */
const ENOUGH = 8;

/** The camera that shows the whole graph, at 100% at most. */
export function fitted(bounds: Bounds, width: number, height: number): Camera {
  const w = bounds.right - bounds.left + 2 * PAD;
  const h = bounds.bottom - bounds.top + 2 * PAD;
  const zoom = Math.max(LEAST_ZOOM, Math.min(1, width / w, height / h));
  return { x: (bounds.left + bounds.right) / 2, y: (bounds.top + bounds.bottom) / 2, zoom };
}

/**
 * The camera for a new graph: all of it when that can be read, else the change, else the result at the bottom; without one (-1) where
 * most boxes are.
 */
export function opening(picture: Picture, root: number, width: number, height: number): Camera {
  const { scene, placement, bounds } = picture;
  const fit = fitted(bounds, width, height);
  if (fit.zoom >= READABLE - 0.001) return fit;
  const changed: number[] = [];
  for (let box = 0; box < scene.count; box++) if (scene.state[box] !== 0) changed.push(box);
  const at =
    changed.length > 0
      ? middle(changed)
      : root >= 0
        ? { x: placement.x[root]!, y: placement.y[root]! }
        : { x: fit.x, y: fit.y };
  if (changed.length > 0) return { x: at.x, y: clamped(READABLE), zoom: READABLE };
  if (root < 0) return fullest(picture, width, height);
  // a root with long lines to what it is made of stands alone: then from farther away
  const zooms = [READABLE, (READABLE + LEAST_READABLE) / 2, LEAST_READABLE].filter((zoom) => zoom >= fit.zoom);
  const views = zooms.map((zoom) => fuller(at.x, clamped(zoom), zoom));
  return (
    views.find((view) => view.seen >= ENOUGH) ?? views.reduce((best, view) => (view.seen > best.seen ? view : best))
  ).camera;

  /** Where the view is centred, no farther out than the graph reaches. */
  function clamped(zoom: number): number {
    const half = height / 2 / zoom - PAD;
    const [low, high] = [bounds.top, bounds.bottom];
    return high - low <= 2 * half ? (low + high) / 2 : Math.max(low + half, Math.min(high - half, at.y));
  }

  /** A view around `x` and how many boxes it has, moved aside where most of it would be empty. */
  function fuller(x: number, y: number, zoom: number): { camera: Camera; seen: number } {
    const [w, h] = [width / 2 / zoom, height / 2 / zoom];
    const near = Array.from(placement.x).filter((_, box) => Math.abs(placement.y[box]! - y) < h);
    const inside = (middle: number): number => near.reduce((sum, one) => sum + Number(Math.abs(one - middle) < w), 0);
    // centred: the map stands in a corner, and what the view is about must not be under it
    const [left, right] = [Math.min(0, (EDGE + MAP) / zoom - w), Math.max(0, w - EDGE / zoom)];
    let best = x;
    for (let i = 0; i <= TRIED; i++) {
      // from the middle outwards: of two that are as full the one that moves less
      const share = (Math.ceil(i / 2) * (i % 2 === 0 ? 1 : -1)) / (TRIED / 2);
      const tried = x + (share < 0 ? -share * left : share * right);
      if (inside(tried) > inside(best)) best = tried;
    }
    if (inside(best) <= 1.1 * inside(x)) best = x;
    return { camera: { x: best, y, zoom }, seen: inside(best) };
  }

  /** The centre of the changes; where they are far apart, of the one nearest to it. */
  function middle(boxes: readonly number[]): { x: number; y: number } {
    const mean = (values: Float64Array): number => boxes.reduce((sum, box) => sum + values[box]!, 0) / boxes.length;
    const x = mean(placement.x);
    const y = mean(placement.y);
    const off = (box: number): number => Math.hypot(placement.x[box]! - x, placement.y[box]! - y);
    const near = boxes.reduce((best, box) => (off(box) < off(best) ? box : best));
    return off(near) < width / 2 ? { x, y } : { x: placement.x[near]!, y: placement.y[near]! };
  }
}

/** The camera that has most boxes in view, near enough to read them; of two that are as full the one further up. */
function fullest({ placement, bounds }: Picture, width: number, height: number): Camera {
  const half = { x: width / 2 / READABLE - PAD, y: height / 2 / READABLE - PAD };
  const inside = (at: number, low: number, high: number, reach: number): number =>
    high - low <= 2 * reach ? (low + high) / 2 : Math.max(low + reach, Math.min(high - reach, at));
  const step = Math.ceil(placement.x.length / MOST_TRIED);
  let best = { x: 0, y: Infinity, seen: -1 };
  for (let box = 0; box < placement.x.length; box += step) {
    const x = inside(placement.x[box]!, bounds.left, bounds.right, half.x);
    const y = inside(placement.y[box]!, bounds.top, bounds.bottom, half.y);
    let seen = 0;
    for (let other = 0; other < placement.x.length; other++)
      if (Math.abs(placement.x[other]! - x) < half.x && Math.abs(placement.y[other]! - y) < half.y) seen++;
    if (seen > best.seen || (seen === best.seen && y < best.y)) best = { x, y, seen };
  }
  return { x: best.x, y: best.y, zoom: READABLE };
}

/** The camera that shows a part around a box; as it is where the box is in sight already, and without one (-1). */
export function around(picture: Picture, box: number, from: Camera, width: number, height: number): Camera {
  const { placement, bounds } = picture;
  if (box < 0) return from;
  const [x, y] = [placement.x[box]!, placement.y[box]!];
  if (Math.abs(x - from.x) * from.zoom < width / 2 && Math.abs(y - from.y) * from.zoom < height / 2) return from;
  const all = fitted(bounds, width, height);
  return all.zoom >= READABLE - 0.001 ? all : { x, y, zoom: Math.max(from.zoom, LEAST_READABLE) };
}

/**
 * The camera that shows everything a match changed, as near as that allows; null when it changed nothing in the
 * picture.
 */
export function changes(picture: Picture, width: number, height: number): Camera | null {
  const { scene, placement } = picture;
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let box = 0; box < scene.count; box++) {
    if (scene.state[box] === 0) continue;
    bounds.left = Math.min(bounds.left, placement.x[box]! - scene.width[box]! / 2);
    bounds.right = Math.max(bounds.right, placement.x[box]! + scene.width[box]! / 2);
    bounds.top = Math.min(bounds.top, placement.y[box]! - BOX);
    bounds.bottom = Math.max(bounds.bottom, placement.y[box]! + BOX);
  }
  if (bounds.left > bounds.right) return null;
  const all = fitted(bounds, width, height);
  // far apart they would be dots: then what is in the middle, so that it can be read
  return all.zoom >= LEAST_READABLE ? all : { ...opening(picture, -1, width, height), zoom: LEAST_READABLE };
}

/**
 * The camera that has what a match changed in view, at the same zoom and moved no further than needed; where that is too
 * wide, as much of it as fits, the nearest first. Null when nothing changed in the picture.
 */
export function following(picture: Picture, from: Camera, width: number, height: number): Camera | null {
  const { scene, placement } = picture;
  const changed = Array.from(scene.state.keys()).filter((box) => scene.state[box] !== 0);
  if (changed.length === 0) return null;
  const half = { x: width / 2 / from.zoom, y: height / 2 / from.zoom };
  const margin = { x: Math.min(40 / from.zoom, half.x / 4), y: Math.min(70 / from.zoom, half.y / 4) };
  const edges = (box: number): Bounds => ({
    left: placement.x[box]! - scene.width[box]! / 2 - margin.x,
    right: placement.x[box]! + scene.width[box]! / 2 + margin.x,
    top: placement.y[box]! - BOX / 2 - margin.y,
    bottom: placement.y[box]! + BOX / 2 + margin.y,
  });
  const off = (box: number): number => Math.hypot(placement.x[box]! - from.x, placement.y[box]! - from.y);
  // the nearest first, and as many more as the window holds
  const nearest = changed.slice(0, 10_000).sort((one, other) => off(one) - off(other));
  let around = edges(nearest[0]!);
  for (const box of nearest) {
    const own = edges(box);
    const both = {
      left: Math.min(around.left, own.left),
      right: Math.max(around.right, own.right),
      top: Math.min(around.top, own.top),
      bottom: Math.max(around.bottom, own.bottom),
    };
    if (both.right - both.left <= 2 * half.x && both.bottom - both.top <= 2 * half.y) around = both;
  }
  const within = (value: number, low: number, high: number, reach: number): number =>
    high - low > 2 * reach ? (low + high) / 2 : Math.min(low + reach, Math.max(high - reach, value));
  return {
    x: within(from.x, around.left, around.right, half.x),
    y: within(from.y, around.top, around.bottom, half.y),
    zoom: from.zoom,
  };
}

/** The camera that has a box in view, moved no further than needed. */
export function revealing(picture: Picture, box: number, from: Camera, width: number, height: number): Camera {
  const { scene, placement } = picture;
  const zoom = Math.max(from.zoom, 0.6);
  const w = width / 2 / zoom - scene.width[box]! / 2 - 40;
  const top = height / 2 / zoom - 70;
  const near = (value: number, at: number, reach: number): number =>
    Math.max(at - Math.max(0, reach), Math.min(at + Math.max(0, reach), value));
  return { x: near(from.x, placement.x[box]!, w), y: near(from.y, placement.y[box]!, top), zoom };
}
