/** Wheel, drag and click on the timeline. The time under the pointer stays under it. */
import { h } from "../../base/dom.ts";
import { count, duration } from "../../base/format.ts";
import { figure } from "../../draw/timeline_painter.ts";
import { MINIMAP } from "../../draw/timeline_head.ts";
import { moment, panSpan, type Span } from "../../layout/timeline_scale.ts";
import type { Stage, Under } from "./stage.ts";

const HOVER_MS = 80;
const MOVED = 4;
/** How near the pointer must be to an edge of the range to take hold of it. */
const EDGE = 4;
/** Zoom of one notch of a wheel. */
const NOTCH = 1.0018;

/** Starts listening; returns how to stop. */
export function attachPointer(stage: Stage): () => void {
  const { canvas, headCanvas } = stage;
  const tooltip = new PointerTip();
  const at = (event: MouseEvent, of: HTMLElement): { x: number; y: number } => {
    const box = of.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const timeAt = (x: number): number => stage.span.t0 + (x / stage.width) * (stage.span.t1 - stage.span.t0);

  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    tooltip.hide();
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const dx = event.deltaX * lines;
    const dy = event.deltaY * lines;
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) stage.pan((event.shiftKey && dx === 0 ? dy : dx) / stage.width);
    else stage.zoom(NOTCH ** (event.ctrlKey ? dy * 4 : dy), at(event, canvas).x / stage.width);
  };
  canvas.addEventListener("wheel", wheel, { passive: false });
  headCanvas.addEventListener("wheel", wheel, { passive: false });

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    tooltip.hide();
    canvas.focus({ preventScroll: true });
    const from = at(event, canvas);
    if (event.shiftKey)
      return drag(
        canvas,
        event,
        (to) => selectTo(from.x, to.x, false),
        (to, moved) => moved && selectTo(from.x, to.x, true),
      );
    if (dragEdge(canvas, event, from.x)) return;
    const begin = stage.span;
    const scroll = stage.scroll;
    const scale = (begin.t1 - begin.t0) / stage.width;
    drag(
      canvas,
      event,
      (to) => {
        stage.scrollBy(scroll - (to.y - from.y) - stage.scroll);
        stage.move(panSpan(begin, (from.x - to.x) * scale, stage.whole));
        canvas.classList.add("panning");
      },
      (to, moved) => {
        canvas.classList.remove("panning");
        if (!moved) stage.click(stage.under(to.x, to.y));
      },
    );
  });
  canvas.addEventListener("dblclick", (event) => {
    const { x, y } = at(event, canvas);
    stage.open(stage.under(x, y));
  });

  headCanvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const from = at(event, headCanvas);
    if (from.y >= MINIMAP && dragEdge(headCanvas, event, from.x)) return;
    if (from.y >= MINIMAP)
      return drag(
        headCanvas,
        event,
        (to) => selectTo(from.x, to.x, false),
        (to, moved) => (moved ? selectTo(from.x, to.x, true) : stage.select(null, true)),
      );
    event.preventDefault();
    const share = (x: number): number => (x / headCanvas.clientWidth) * stage.whole;
    const begin = stage.span;
    const px = (time: number): number => (time / stage.whole) * headCanvas.clientWidth;
    const left = Math.abs(from.x - px(begin.t0)) < 6;
    const right = Math.abs(from.x - px(begin.t1)) < 6;
    const inside = from.x > px(begin.t0) && from.x < px(begin.t1);
    const length = begin.t1 - begin.t0;
    const moveTo = (x: number): void => {
      const by = share(x) - share(from.x);
      if (left) stage.move({ t0: Math.min(begin.t0 + by, begin.t1 - 100), t1: begin.t1 });
      else if (right) stage.move({ t0: begin.t0, t1: Math.max(begin.t1 + by, begin.t0 + 100) });
      else if (inside) stage.move(panSpan(begin, by, stage.whole));
      else stage.move({ t0: share(x) - length / 2, t1: share(x) + length / 2 });
    };
    if (!left && !right && !inside) moveTo(from.x);
    drag(
      headCanvas,
      event,
      (to) => moveTo(to.x),
      () => undefined,
    );
  });

  const selectTo = (a: number, b: number, done: boolean): void => selectBetween(timeAt(a), timeAt(b), done);
  const selectBetween = (a: number, b: number, done: boolean): void => {
    const limit = (time: number): number => Math.round(Math.max(0, Math.min(stage.whole, time)));
    const range: Span = { t0: limit(Math.min(a, b)), t1: limit(Math.max(a, b)) };
    stage.select(range.t1 > range.t0 ? range : null, done);
  };
  /** The time of the range's other end when an edge of it is under the pointer. */
  const otherEnd = (x: number): number | null => {
    const { range, span } = stage;
    if (!range) return null;
    const away = (time: number): number => Math.abs(((time - span.t0) / (span.t1 - span.t0)) * stage.width - x);
    const [left, right] = [away(range.t0), away(range.t1)];
    return Math.min(left, right) > EDGE ? null : left < right ? range.t1 : range.t0;
  };
  const dragEdge = (of: HTMLElement, event: PointerEvent, x: number): boolean => {
    const other = otherEnd(x);
    if (other === null) return false;
    drag(
      of,
      event,
      (to) => selectBetween(other, timeAt(to.x), false),
      (to, moved) => moved && selectBetween(other, timeAt(to.x), true),
    );
    return true;
  };
  headCanvas.addEventListener("pointermove", (event) => {
    const place = at(event, headCanvas);
    if (event.buttons === 0)
      headCanvas.style.cursor = place.y >= MINIMAP && otherEnd(place.x) !== null ? "ew-resize" : "";
  });

  canvas.addEventListener("pointermove", (event) => {
    const place = at(event, canvas);
    stage.pointed = Math.max(0, Math.min(1, place.x / stage.width));
    if (event.buttons !== 0) return;
    canvas.style.cursor = event.shiftKey
      ? "crosshair"
      : otherEnd(place.x) !== null
        ? "ew-resize"
        : stage.under(place.x, place.y)?.entry
          ? "pointer"
          : "";
    tooltip.soon(event.clientX, event.clientY, () => describe(stage, stage.under(place.x, place.y)));
  });
  canvas.addEventListener("pointerleave", () => {
    stage.pointed = null;
    tooltip.leave();
  });
  // a key may move the picture away from under the pointer
  const hide = (): void => tooltip.hide();
  document.addEventListener("keydown", hide);
  return () => {
    document.removeEventListener("keydown", hide);
    tooltip.dispose();
  };
}

/** Follows a pressed pointer; `moved` tells a drag from a click. */
function drag(
  of: HTMLElement,
  event: PointerEvent,
  move: (to: { x: number; y: number }) => void,
  up: (to: { x: number; y: number }, moved: boolean) => void,
): void {
  of.setPointerCapture(event.pointerId);
  let moved = false;
  const place = (now: PointerEvent): { x: number; y: number } => {
    const box = of.getBoundingClientRect();
    return { x: now.clientX - box.left, y: now.clientY - box.top };
  };
  const onMove = (now: PointerEvent): void => {
    if (!moved && Math.hypot(now.clientX - event.clientX, now.clientY - event.clientY) < MOVED) return;
    moved = true;
    move(place(now));
  };
  const end = (now: PointerEvent): void => {
    of.removeEventListener("pointermove", onMove);
    of.removeEventListener("pointerup", end);
    of.removeEventListener("pointercancel", end);
    up(place(now), moved);
  };
  of.addEventListener("pointermove", onMove);
  of.addEventListener("pointerup", end);
  of.addEventListener("pointercancel", end);
}

/** Full name, duration and position; of merged slices how many they are and the longest. */
export function describe(stage: Stage, under: Under | null): HTMLElement | null {
  if (!under) return null;
  const length = stage.span.t1 - stage.span.t0;
  const moments = under.moments.map((name) =>
    h("div", h("b.name", name), h("span.faint", ` · moment at ${moment(under.time, length)}`)),
  );
  if (under.value !== null) {
    const unit = under.row.series && "memory" in under.row.series ? "bytes" : under.row.unit;
    return h(
      "div",
      ...moments,
      h("b.name", under.row.title),
      h("div", figure(under.value, unit), h("span.faint", ` at ${moment(under.time, length)}`)),
    );
  }
  if (!under.entry) return moments.length > 0 ? h("div", ...moments) : null;
  const { lane, at } = under.entry;
  const name = stage.nameOf(lane.name[at]!);
  const start = lane.start[at]!;
  const long = lane.end[at]! - start;
  const many = lane.count[at]!;
  if (lane.width === 0)
    return h(
      "div",
      ...moments,
      h("b.mono.name", name || "no name"),
      h("div", duration(long), h("span.faint", ` at ${moment(start, length)} · ${under.row.title}`)),
    );
  return h(
    "div",
    ...moments,
    h("b.mono.name", name || "no name"),
    h(
      "div",
      many > 1 ? `longest of ${count(many)} slices here` : "goes on here",
      h("span.faint", ` · ${Math.round(100 * lane.busy[at]!)}% busy · ${duration(long)} at ${moment(start, length)}`),
    ),
  );
}

/** A tooltip beside the pointer, after a short rest. */
class PointerTip {
  private readonly box = h("div.tooltip", { role: "tooltip" });
  private timer = 0;

  constructor() {
    this.box.hidden = true;
    document.body.append(this.box);
    this.box.addEventListener("pointerenter", () => window.clearTimeout(this.timer));
    this.box.addEventListener("pointerleave", () => this.leave());
  }

  soon(x: number, y: number, content: () => HTMLElement | null): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      const node = content();
      this.box.hidden = node === null;
      if (node === null) return;
      this.box.replaceChildren(node);
      const { offsetWidth, offsetHeight } = this.box;
      const left = x + 12 + offsetWidth < window.innerWidth ? x + 12 : x - offsetWidth - 8;
      const top = y + 16 + offsetHeight < window.innerHeight ? y + 16 : y - offsetHeight - 8;
      this.box.style.left = `${Math.max(4, left)}px`;
      this.box.style.top = `${Math.max(4, top)}px`;
    }, HOVER_MS);
  }

  leave(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.hide(), HOVER_MS);
  }

  hide(): void {
    window.clearTimeout(this.timer);
    this.box.hidden = true;
  }

  dispose(): void {
    this.hide();
    this.box.remove();
  }
}
