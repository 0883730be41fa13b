/** Where the memory of a device is looked at: around what it held, or all of the trace. */
import { clampSpan, type Span } from "./span.ts";
import { fitSpan, traceLimits } from "./timeline_scale.ts";

/** What was held for less than this share of the trace is opened by itself. */
const SMALL = 0.5;
/** Beside it, as a share of it. */
const MARGIN = 0.04;

/** From a device's first allocation to its last free, with a margin; all of the trace when that is not much more. */
export function homeSpan(held: { first: number; last: number }, whole: number): Span {
  const length = Math.max(1, held.last - held.first);
  if (length >= SMALL * whole) return fitSpan(whole);
  const margin = MARGIN * length;
  return clampSpan({ t0: held.first - margin, t1: held.first + length + margin }, traceLimits(whole));
}

export function sameSpan(a: Span, b: Span): boolean {
  return Math.round(a.t0) === Math.round(b.t0) && Math.round(a.t1) === Math.round(b.t1);
}
