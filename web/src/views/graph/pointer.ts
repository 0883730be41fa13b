/** Mouse, pen and touch on the graph, as gestures: pan, zoom, click, double click, hover. */
export interface Gestures {
  pan(dx: number, dy: number): void;
  zoom(factor: number, x: number, y: number): void;
  click(x: number, y: number): void;
  open(x: number, y: number): void;
  /** The pointer rests or moves over a point; null when it left. */
  hover(at: { x: number; y: number } | null): void;
}

const SLOP = 3;
const WHEEL = 0.0016;

interface Finger {
  x: number;
  y: number;
}

/** Turns the events of an element into gestures until the signal aborts. */
export function listen(element: HTMLElement, gestures: Gestures, signal: AbortSignal): void {
  const down = new Map<number, Finger>();
  /** Whether what is down has panned or zoomed: then letting go is no click. */
  let moved = false;
  const at = (event: MouseEvent): { x: number; y: number } => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const on = <K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void): void =>
    element.addEventListener(name, act, { signal, passive: false });

  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (down.size === 0) moved = false;
    else moved = true;
    down.set(event.pointerId, at(event));
    element.setPointerCapture(event.pointerId);
  });
  on("pointermove", (event) => {
    const before = down.get(event.pointerId);
    const now = at(event);
    if (before === undefined) return gestures.hover(now);
    if (!moved && Math.hypot(now.x - before.x, now.y - before.y) < SLOP) return;
    moved = true;
    element.classList.add("drag");
    gestures.hover(null);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other === undefined) gestures.pan(now.x - before.x, now.y - before.y);
    else {
      // two fingers: what was between them stays between them
      const [x, y] = [(before.x + other.x) / 2, (before.y + other.y) / 2];
      gestures.zoom(apart(now, other) / apart(before, other), x, y);
      gestures.pan((now.x + other.x) / 2 - x, (now.y + other.y) / 2 - y);
    }
    down.set(event.pointerId, now);
  });
  const end = (event: PointerEvent): void => {
    if (!down.delete(event.pointerId) || down.size > 0) return;
    element.classList.remove("drag");
    if (!moved && event.type === "pointerup") {
      const { x, y } = at(event);
      gestures.click(x, y);
    }
  };
  on("pointerup", end);
  on("pointercancel", end);
  on("pointerleave", () => gestures.hover(null));
  on("dblclick", (event) => {
    const { x, y } = at(event);
    gestures.open(x, y);
  });
  on("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const { x, y } = at(event);
    const delta = Math.max(-240, Math.min(240, event.deltaY * unit));
    // a pinch arrives as a wheel with the control key, in small steps
    gestures.zoom(Math.exp(-delta * WHEEL * (event.ctrlKey ? 6 : 1)), x, y);
  });
}

/** Distance of two fingers, never nothing. */
function apart(a: Finger, b: Finger): number {
  return Math.max(8, Math.hypot(a.x - b.x, a.y - b.y));
}
