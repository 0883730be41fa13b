/** Selecting a range of an axis: drawn out with the pointer, its edges pulled. */
import type { Span } from "../../../layout/span.ts";
import type { Drag, Point } from "./gestures.ts";

/** A drawing on which a range can be selected. Times need not be places on the axis: idle time may be folded. */
export interface RangeTarget {
  readonly range: Span | null;
  readonly first: number;
  readonly last: number;
  timeAt(x: number): number;
  xOf(time: number): number;
  /** `done` when the pointer was let go: the address follows then. */
  select(range: Span | null, done: boolean): void;
}

/** How near the pointer must be to an edge to take hold of it, px. */
const EDGE = 4;

/** The range between two times, in whole units and within the ends; null for none. */
export function rangeBetween(a: number, b: number, first: number, last: number): Span | null {
  const limit = (time: number): number => Math.round(Math.max(first, Math.min(last, time)));
  const [t0, t1] = [limit(Math.min(a, b)), limit(Math.max(a, b))];
  return t1 > t0 ? { t0, t1 } : null;
}

/** The range's other end when an edge of it is at `x`. */
export function otherEnd(target: RangeTarget, x: number): number | null {
  const { range } = target;
  if (!range) return null;
  const [left, right] = [Math.abs(target.xOf(range.t0) - x), Math.abs(target.xOf(range.t1) - x)];
  return Math.min(left, right) > EDGE ? null : left < right ? range.t1 : range.t0;
}

/** Draws a range out from a time that stays; the system may take the pointer away, then it is as it was. */
export function pullRange(target: RangeTarget, fixed: number, click?: () => void): Drag {
  const before = target.range;
  const to = (at: Point, done: boolean): void =>
    target.select(rangeBetween(fixed, target.timeAt(at.x), target.first, target.last), done);
  return {
    move: (at) => to(at, false),
    done: (at) => to(at, true),
    cancel: () => target.select(before, false),
    ...(click ? { click } : {}),
  };
}
