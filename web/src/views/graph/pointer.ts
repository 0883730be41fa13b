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

/** Turns the events of an element into gestures until the signal aborts. */
export function listen(element: HTMLElement, gestures: Gestures, signal: AbortSignal): void {
  let down: { x: number; y: number; id: number; moved: boolean } | null = null;
  const at = (event: MouseEvent): { x: number; y: number } => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const on = <K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void): void =>
    element.addEventListener(name, act, { signal, passive: false });

  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    down = { x: event.clientX, y: event.clientY, id: event.pointerId, moved: false };
    element.setPointerCapture(event.pointerId);
  });
  on("pointermove", (event) => {
    if (down === null) return gestures.hover(at(event));
    const dx = event.clientX - down.x;
    const dy = event.clientY - down.y;
    if (!down.moved && Math.hypot(dx, dy) < SLOP) return;
    down = { ...down, x: event.clientX, y: event.clientY, moved: true };
    element.classList.add("drag");
    gestures.hover(null);
    gestures.pan(dx, dy);
  });
  const end = (event: PointerEvent): void => {
    const was = down;
    down = null;
    element.classList.remove("drag");
    if (was !== null && !was.moved && event.type === "pointerup") {
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
