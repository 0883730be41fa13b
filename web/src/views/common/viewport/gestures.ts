/**
 * Mouse, pen, trackpad and touch on an element, as gestures: the only place that listens to the pointer of a drawing.
 */
import { wheelStep, type WheelStep } from "./wheel.ts";

export interface Point {
  x: number;
  y: number;
}

/** Where the fingers are: their middle, and how far apart they are (1 for a single one). */
export interface Grip extends Point {
  apart: number;
}

/** What a pressed pointer does until it is let go. */
export interface Drag {
  /** A class that the element has meanwhile. */
  look?: string;
  move(to: Grip): void;
  /** Let go after it moved. */
  done?(to: Point): void;
  /** Let go where it was pressed. */
  click?(at: Point): void;
  /** Taken away by the system, or by a second finger. */
  cancel?(): void;
}

/** Where the pointer is on the screen, and what is pressed with it. */
export interface Pointing {
  clientX: number;
  clientY: number;
  shiftKey: boolean;
  /** 0 when no button and no finger is down. */
  buttons: number;
}

export interface Gestures {
  wheel(step: WheelStep, at: Point): void;
  /** What a press here does; null when it is done already, or does nothing. */
  press(at: Point, shift: boolean): Drag | null;
  /** Another finger came or went: what moving them does from now on. */
  grip?(at: Grip): Drag;
  /** A double click. */
  open?(at: Point): void;
  /** The pointer moves over a point, pressed or not; null when it left. */
  hover?(at: Point | null, event: Pointing): void;
}

/** How far a pressed pointer may go and still click, px. */
const SLOP = 4;
/** Fingers nearer to each other than that are no measure. */
const NEAREST = 8;

/** Turns the events of an element into gestures until the signal aborts. */
export function listen(element: HTMLElement, gestures: Gestures, signal: AbortSignal): void {
  const down = new Map<number, Point>();
  let drag: Drag | null = null;
  let begun: Point = { x: 0, y: 0 };
  let moved = false;
  const at = (event: MouseEvent): Point => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const on = <K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void): void =>
    element.addEventListener(name, act, { signal, passive: false });
  const look = (next: Drag | null): void => {
    if (drag?.look) element.classList.remove(drag.look);
    drag = next;
    if (drag?.look && moved) element.classList.add(drag.look);
  };

  on("wheel", (event) => {
    event.preventDefault();
    gestures.wheel(wheelStep(event), at(event));
  });
  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (down.size > 0) {
      if (drag === null || !gestures.grip) return;
      hold(event);
      moved = true;
      drag.cancel?.();
      look(gestures.grip(gripOf(down)));
      return;
    }
    // who presses sees where: a ring is for keys
    element.focus({ preventScroll: true, focusVisible: false });
    moved = false;
    begun = at(event);
    look(gestures.press(begun, event.shiftKey));
    if (drag) hold(event);
  });
  on("pointermove", (event) => {
    const now = at(event);
    gestures.hover?.(now, event);
    if (!down.has(event.pointerId)) return;
    down.set(event.pointerId, now);
    if (!moved && Math.hypot(now.x - begun.x, now.y - begun.y) < SLOP) return;
    if (!moved) {
      moved = true;
      look(drag);
    }
    drag?.move(gripOf(down));
  });
  const end = (event: PointerEvent): void => {
    if (!down.delete(event.pointerId)) return;
    // what one finger of two holds on to goes on from where it is
    if (down.size > 0 && gestures.grip) return look(gestures.grip(gripOf(down)));
    const last = drag;
    look(null);
    if (event.type === "pointercancel") last?.cancel?.();
    else if (moved) last?.done?.(at(event));
    else last?.click?.(at(event));
  };
  on("pointerup", end);
  on("pointercancel", end);
  on("pointerleave", (event) => gestures.hover?.(null, event));
  on("dblclick", (event) => gestures.open?.(at(event)));

  function hold(event: PointerEvent): void {
    down.set(event.pointerId, at(event));
    element.setPointerCapture(event.pointerId);
  }
}

function gripOf(down: ReadonlyMap<number, Point>): Grip {
  const [a, b] = [...down.values()];
  if (!a || !b) return { ...(a ?? { x: 0, y: 0 }), apart: 1 };
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.max(NEAREST, Math.hypot(a.x - b.x, a.y - b.y)) };
}
