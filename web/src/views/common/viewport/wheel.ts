/** What a turn of the wheel, or two fingers on a trackpad, ask for. */

/** The part of a WheelEvent that matters. */
export interface Wheel {
  deltaX: number;
  deltaY: number;
  /** 0: pixels, 1: lines, 2: pages. */
  deltaMode: number;
  shiftKey: boolean;
  ctrlKey: boolean;
}

export interface WheelStep {
  /** How much longer the window becomes; 1 when the wheel pans. */
  factor: number;
  /** px to pan to the right; 0 when the wheel zooms. */
  pan: number;
  /** px that a list would scroll. */
  scroll: number;
}

/** Zoom of one pixel; a notch of a mouse is about a hundred. */
const PIXEL = 1.0018;
/** A pinch on a trackpad arrives as a wheel with the control key, in small steps. */
const PINCH = 4;
/** A wheel that runs free must not jump through everything. */
const MOST = 640;
const UNITS = [1, 16, 400];

/** Up and down zooms; sideways, or with Shift, pans. */
export function wheelStep(event: Wheel): WheelStep {
  const unit = UNITS[event.deltaMode] ?? 1;
  const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
  const scroll = dy || dx;
  if (event.shiftKey || Math.abs(dx) > Math.abs(dy))
    return { factor: 1, pan: event.shiftKey && dx === 0 ? dy : dx, scroll };
  const by = Math.max(-MOST, Math.min(MOST, event.ctrlKey ? dy * PINCH : dy));
  return { factor: PIXEL ** by, pan: 0, scroll };
}
