/** Ruler and minimap: a drag on the ruler selects a range, one on the minimap moves the window or an edge of it. */
import { MINIMAP } from "../../draw/timeline/head.ts";
import { panSpan } from "../../layout/span.ts";
import type { AxisViewport } from "../common/viewport/axis_viewport.ts";
import type { Drag, Gestures, Point } from "../common/viewport/gestures.ts";
import { otherEnd, pullRange } from "../common/viewport/range.ts";
import type { Stage } from "./stage.ts";

/** How near the pointer must be to an edge of the window to take hold of it, px. */
const EDGE = 6;
/** Shortest window that pulling an edge makes, ns. */
const SHORTEST = 100;

export function headGestures(stage: Stage, viewport: AxisViewport): Omit<Gestures, "wheel"> {
  const canvas = stage.headCanvas;
  return {
    press: (at) => {
      if (at.y < MINIMAP) return minimapDrag(stage, at);
      const fixed = otherEnd(stage, at.x);
      if (fixed !== null) return pullRange(stage, fixed);
      return pullRange(stage, stage.timeAt(at.x), () => stage.select(null, true));
    },
    hover: (at, { buttons }) => {
      if (at && buttons === 0) canvas.style.cursor = at.y >= MINIMAP ? viewport.edgeCursor(at) : "";
    },
  };
}

function minimapDrag(stage: Stage, from: Point): Drag {
  const width = stage.headCanvas.clientWidth;
  const begin = stage.span;
  const timeAt = (x: number): number => (x / width) * stage.whole;
  const px = (time: number): number => (time / stage.whole) * width;
  const left = Math.abs(from.x - px(begin.t0)) < EDGE;
  const right = Math.abs(from.x - px(begin.t1)) < EDGE;
  const inside = from.x > px(begin.t0) && from.x < px(begin.t1);
  const half = (begin.t1 - begin.t0) / 2;
  const move = ({ x }: Point): void => {
    const by = timeAt(x) - timeAt(from.x);
    if (left) stage.move({ t0: Math.min(begin.t0 + by, begin.t1 - SHORTEST), t1: begin.t1 });
    else if (right) stage.move({ t0: begin.t0, t1: Math.max(begin.t1 + by, begin.t0 + SHORTEST) });
    else if (inside) stage.move(panSpan(begin, by, stage.limits));
    else stage.move({ t0: timeAt(x) - half, t1: timeAt(x) + half });
  };
  if (!left && !right && !inside) move(from);
  return { move };
}
