import { BOX, type Placement } from "../layout/layered/drawing.ts";
import type { Scene } from "../layout/graph/scene.ts";
import type { Theme } from "./theme.ts";

/** The point of the graph in the middle of the view, and how many screen pixels one of its pixels takes. */
export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

export interface Bounds {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A graph with a place for everything, and what drawing needs to know of it. */
export interface Picture {
  scene: Scene;
  placement: Placement;
  family: Uint8Array;
  bounds: Bounds;
  /** left, top, right, bottom of each edge's curve */
  edgeBounds: Float32Array;
}

/** What is marked for the moment: drawn over the picture in every frame. */
export interface Marks {
  selected: number;
  hovered: number;
  second: number;
  /** Boxes that are selected besides. */
  kept: ReadonlySet<number>;
  /** Boxes that a search found. */
  found: ReadonlySet<number>;
  /** The one of them that the search is at. */
  current: number;
  /** Keys of boxes that have a note. */
  noted: ReadonlySet<number>;
}

/** Draws pictures. The one implementation is Canvas 2D; WebGL was slower where there is no GPU. */
export interface Renderer {
  resize(width: number, height: number, ratio: number): void;
  setTheme(theme: Theme): void;
  setPicture(picture: Picture): void;
  /** Draws one frame; true when a finer one should follow once the view rests. */
  draw(camera: Camera, marks: Marks): boolean;
  /** Draws the frame again as fine as it gets. */
  refine(camera: Camera, marks: Marks): void;
}

/** A picture of a scene. */
export function picture(scene: Scene, placement: Placement): Picture {
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let box = 0; box < scene.count; box++) {
    const half = scene.width[box]! / 2;
    bounds.left = Math.min(bounds.left, placement.x[box]! - half);
    bounds.right = Math.max(bounds.right, placement.x[box]! + half + scene.right[box]!);
    bounds.top = Math.min(bounds.top, placement.y[box]! - BOX / 2);
    bounds.bottom = Math.max(bounds.bottom, placement.y[box]! + BOX / 2);
  }
  const { start, points } = placement.routes;
  const edgeBounds = new Float32Array(scene.from.length * 4);
  for (let e = 0; e < scene.from.length; e++) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = start[e]!; i < start[e + 1]!; i += 2) {
      left = Math.min(left, points[i]!);
      right = Math.max(right, points[i]!);
      top = Math.min(top, points[i + 1]!);
      bottom = Math.max(bottom, points[i + 1]!);
    }
    edgeBounds.set([left, top, right, bottom], e * 4);
    bounds.left = Math.min(bounds.left, left);
    bounds.right = Math.max(bounds.right, right);
  }
  if (scene.count === 0) Object.assign(bounds, { left: -50, top: -20, right: 50, bottom: 20 });
  return { scene, placement, family: scene.family, bounds, edgeBounds };
}
