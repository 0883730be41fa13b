/** A window on an axis (time, cycles): how it is zoomed, moved and kept within limits. */

export interface Span {
  t0: number;
  t1: number;
}

/** How far a window may go. */
export interface Limits {
  first: number;
  last: number;
  /** Lengths of the nearest and of the farthest window. */
  shortest: number;
  longest: number;
  /** How far beyond either end one may look, as a share of the window. */
  beyond: number;
}

function clampLength(length: number, limits: Limits): number {
  return Math.min(Math.max(length, limits.shortest), Math.max(limits.shortest, limits.longest));
}

/** A window kept within its limits. */
export function clampSpan(span: Span, limits: Limits): Span {
  const length = clampLength(span.t1 - span.t0, limits);
  const margin = limits.beyond * length;
  const low = limits.first - margin;
  const t0 = Math.min(Math.max(span.t0, low), Math.max(limits.last + margin - length, low));
  return { t0, t1: t0 + length };
}

/**
 * What was at `from` (a share of the width) comes to be at `to`, with a window `factor` times as long. Zooming keeps
 * both the same, dragging keeps the factor at 1, two fingers change all three.
 */
export function anchorSpan(span: Span, from: number, to: number, factor: number, limits: Limits): Span {
  const length = span.t1 - span.t0;
  const wanted = clampLength(length * factor, limits);
  const t0 = span.t0 + from * length - to * wanted;
  return clampSpan({ t0, t1: t0 + wanted }, limits);
}

/** Zoom by a factor (below 1: in) with what is at `share` of the width staying where it is. */
export function zoomSpan(span: Span, factor: number, share: number, limits: Limits): Span {
  return anchorSpan(span, share, share, factor, limits);
}

export function panSpan(span: Span, by: number, limits: Limits): Span {
  return clampSpan({ t0: span.t0 + by, t1: span.t1 + by }, limits);
}
