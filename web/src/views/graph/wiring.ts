/** What pointer and keys do on a graph: the gestures of every viewport, and the keys of a box. */
import type { Camera } from "../../draw/renderer.ts";
import { listen, type Point } from "../common/viewport/gestures.ts";
import { PlaneViewport } from "../common/viewport/plane_viewport.ts";
import { copyFrom, type Direction } from "./keyboard.ts";
import type { Overlay } from "./overlay.ts";

export interface Wired {
  camera(): Camera;
  move(camera: Camera): void;
  size(): { width: number; height: number };
  /** The box at a point of the view, -1 for none. */
  hit(at: Point): number;
  /** Selects a box, or adds it to the selection. */
  choose(box: number, add: boolean): void;
  open(box: number): void;
  hover(box: number): void;
  /** The map was pressed there. */
  jump(at: Point): void;
  selected(): number;
  /** The selected box as text, for the clipboard. */
  text(): string | null;
  walk(direction: Direction): void;
  /** Folds the sources of the selected box, or shows them. */
  fold(): void;
}

export function wire(
  canvas: HTMLCanvasElement,
  map: HTMLCanvasElement,
  overlay: Overlay,
  on: Wired,
  signal: AbortSignal,
): void {
  const viewport = new PlaneViewport(
    canvas,
    {
      camera: () => on.camera(),
      move: (camera) => on.move(camera),
      size: () => on.size(),
      click: (at, add) => on.choose(on.hit(at), add),
      open: (at) => on.hit(at) >= 0 && on.open(on.hit(at)),
      hover: (at) => on.hover(at === null ? -1 : on.hit(at)),
    },
    signal,
  );
  const jump = (at: Point): void => on.jump(at);
  listen(map, { wheel: () => undefined, press: (at) => (jump(at), { move: jump }) }, signal);
  overlay.listen(
    {
      open: () => on.selected() >= 0 && on.open(on.selected()),
      hover: (inside) => on.hover(inside ? on.selected() : -1),
      // the text lies over the canvas: what it does not use goes on to what is below
      wheel: (event) => canvas.dispatchEvent(new WheelEvent("wheel", event)),
    },
    signal,
  );
  copyFrom(canvas, () => on.text(), signal);
  canvas.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (viewport.key(event)) {
        // moved already
      } else if (event.key === "Enter" && on.selected() >= 0) on.open(on.selected());
      else if (event.key === "x" && on.selected() >= 0) on.fold();
      else if (event.shiftKey && event.key.startsWith("Arrow")) on.walk(event.key.slice(5) as Direction);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
}
