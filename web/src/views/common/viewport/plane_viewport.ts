/** The window of a drawing in the plane: the gestures of every viewport, on a camera. */
import type { Camera } from "../../../draw/renderer.ts";
import { listen, type Drag, type Gestures, type Grip, type Point } from "./gestures.ts";
import { planeKey } from "./keys.ts";

export const LEAST_ZOOM = 0.004;
const MOST_ZOOM = 4;

/** A drawing that has a camera. */
export interface PlaneTarget {
  camera(): Camera;
  /** The user moved it. */
  move(camera: Camera): void;
  /** Of the view, px. */
  size(): { width: number; height: number };
  /** With Shift, what is there is added. */
  click(at: Point, shift: boolean): void;
  open(at: Point): void;
  hover(at: Point | null): void;
}

/** The camera with which what was at `from` (px of the view) is at `to`, `factor` times as large. */
export function anchorCamera(
  camera: Camera,
  from: Point,
  to: Point,
  factor: number,
  size: { width: number; height: number },
): Camera {
  const zoom = Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, camera.zoom * factor));
  const [w, h] = [size.width / 2, size.height / 2];
  return {
    x: camera.x + (from.x - w) / camera.zoom - (to.x - w) / zoom,
    y: camera.y + (from.y - h) / camera.zoom - (to.y - h) / zoom,
    zoom,
  };
}

export class PlaneViewport {
  /** Where the pointer is; null when it is elsewhere. */
  private pointed: Point | null = null;

  constructor(
    element: HTMLElement,
    private readonly target: PlaneTarget,
    signal: AbortSignal,
  ) {
    const gestures: Gestures = {
      wheel: (step, at) => this.anchor(at, { x: at.x - step.pan, y: at.y }, 1 / step.factor),
      press: (at, shift) => ({ ...this.grip({ ...at, apart: 1 }), click: (place) => target.click(place, shift) }),
      grip: (at) => this.grip(at),
      open: (at) => target.open(at),
      hover: (at, event) => {
        this.pointed = at;
        if (at === null || event.buttons === 0) target.hover(at);
      },
    };
    listen(element, gestures, signal);
  }

  /** True for a key that zooms: where the pointer is, else in the middle. */
  key(event: { key: string }): boolean {
    const factor = planeKey(event.key);
    if (factor === null) return false;
    const { width, height } = this.target.size();
    const at = this.pointed ?? { x: width / 2, y: height / 2 };
    this.anchor(at, at, 1 / factor);
    return true;
  }

  private anchor(from: Point, to: Point, factor: number): void {
    const { target } = this;
    target.move(anchorCamera(target.camera(), from, to, factor, target.size()));
  }

  private grip(from: Grip): Drag {
    const { target } = this;
    const begin = target.camera();
    return {
      look: "panning",
      move: (to) => {
        target.hover(null);
        target.move(anchorCamera(begin, from, to, to.apart / from.apart, target.size()));
      },
    };
  }
}
