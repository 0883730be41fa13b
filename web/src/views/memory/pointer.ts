/** Wheel, drag, click and hover on the drawing of memory. The time under the pointer stays under it. */
import { h } from "../../base/dom.ts";
import { bufferHandle, bytes, counted, duration } from "../../base/format.ts";
import { foldedOf, LEFT } from "../../draw/memory_draw.ts";
import { clock, shortType } from "../../layout/memory_bands.ts";
import { panSpan } from "../../layout/timeline_scale.ts";
import type { MemoryStage, Under } from "./stage.ts";

const HOVER_MS = 80;
const MOVED = 4;
const NOTCH = 1.0018;

/** Starts listening; returns how to stop. */
export function attachPointer(stage: MemoryStage, onClick: (under: Under) => void): () => void {
  const { canvas } = stage;
  const box = h("div.tooltip", { role: "tooltip", hidden: true });
  document.body.append(box);
  let timer = 0;
  const hide = (): void => {
    window.clearTimeout(timer);
    box.hidden = true;
  };
  const at = (event: MouseEvent): { x: number; y: number } => {
    const place = canvas.getBoundingClientRect();
    return { x: event.clientX - place.left, y: event.clientY - place.top };
  };
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      hide();
      const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
      if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) stage.pan((event.shiftKey && dx === 0 ? dy : dx) / stage.room);
      else
        stage.zoom(NOTCH ** (event.ctrlKey ? dy * 4 : dy), Math.max(0, Math.min(1, (at(event).x - LEFT) / stage.room)));
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    hide();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const from = at(event);
    const begin = stage.span;
    const scale = (begin.t1 - begin.t0) / stage.room;
    let moved = false;
    const move = (now: PointerEvent): void => {
      const to = at(now);
      if (!moved && Math.hypot(to.x - from.x, to.y - from.y) < MOVED) return;
      moved = true;
      canvas.classList.add("panning");
      stage.moveTo(panSpan(begin, (from.x - to.x) * scale, stage.whole));
    };
    const end = (now: PointerEvent): void => {
      canvas.removeEventListener("pointermove", move);
      canvas.removeEventListener("pointerup", end);
      canvas.removeEventListener("pointercancel", end);
      canvas.classList.remove("panning");
      if (moved || now.type === "pointercancel") return;
      const { x, y } = at(now);
      const under = stage.under(x, y);
      if (under) onClick(under);
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
  });
  canvas.addEventListener("pointermove", (event) => {
    const place = at(event);
    stage.pointed = Math.max(0, Math.min(1, (place.x - LEFT) / stage.room));
    if (event.buttons !== 0) return;
    const under = stage.under(place.x, place.y);
    canvas.style.cursor = under && under.band >= 0 ? "pointer" : "";
    window.clearTimeout(timer);
    timer = window.setTimeout(() => {
      const content = under && describe(stage, under);
      box.hidden = !content;
      if (!content) return;
      box.replaceChildren(content);
      const left =
        event.clientX + 12 + box.offsetWidth < window.innerWidth
          ? event.clientX + 12
          : event.clientX - box.offsetWidth - 8;
      const top =
        event.clientY + 16 + box.offsetHeight < window.innerHeight
          ? event.clientY + 16
          : event.clientY - box.offsetHeight - 8;
      box.style.left = `${Math.max(4, left)}px`;
      box.style.top = `${Math.max(4, top)}px`;
    }, HOVER_MS);
  });
  canvas.addEventListener("pointerleave", () => {
    stage.pointed = null;
    hide();
  });
  document.addEventListener("keydown", hide); // a key may move the picture away from under the pointer
  return () => {
    document.removeEventListener("keydown", hide);
    hide();
    box.remove();
  };
}

function describe(stage: MemoryStage, under: Under): HTMLElement | null {
  const { picture, span } = stage;
  const pixel = (span.t1 - span.t0) / stage.room;
  const say = (time: number): string => clock(time, pixel / 10, span.t1 - span.t0);
  const { data, bands } = picture;
  if (!data) return null;
  if (under.total) {
    const { start, low, high } = data.total;
    let i = start.length - 1;
    while (i >= 0 && start[i]! > under.time) i--;
    if (i < 0) return null;
    const value = low[i]! === high[i]! ? bytes(high[i]!) : `${bytes(low[i]!)} to ${bytes(high[i]!)}`;
    return h("div", h("b", value), h("span.faint", ` at ${say(under.time)}`));
  }
  const folded = foldedOf(picture);
  if (under.strip)
    return h(
      "div",
      `${counted(folded.count, "buffer")}, ${bytes(folded.bytes)}, from before this window until after it`,
    );
  if (under.band < 0) return null;
  const i = under.band;
  const dtype = shortType(data.dtypes[bands.dtype[i]!] ?? "");
  const name = data.names[bands.name[i]!] ?? "";
  const free = bands.free[i]!;
  const life = Number.isFinite(free)
    ? `${say(bands.alloc[i]!)} to ${say(free)}, ${duration(free - bands.alloc[i]!)}`
    : `from ${say(bands.alloc[i]!)}, never freed`;
  return h(
    "div",
    h("b.mono", bufferHandle(bands.id[i]!, picture.several)),
    ` ${bytes(bands.bytes[i]!)}`,
    dtype !== "" && h("span.faint", ` · ${dtype}`),
    name !== "" && h("div.mono.name", name),
    h("div.faint", life),
  );
}
