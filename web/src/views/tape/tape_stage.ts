/** The drawing of a tape: lanes, wheel, drag, hover. It knows nothing of the address: it says what the user did. */
import { fill, h } from "../../base/dom.ts";
import { bytes, count, counted, duration } from "../../base/format.ts";
import {
  drawTape,
  readTapeTheme,
  tapeTop,
  type Drawn,
  type TapePicture,
  type TapeTheme,
} from "../../draw/tape_draw.ts";
import { TapeAxis } from "../../layout/tape_axis.ts";
import { laneBoxes } from "../../layout/tape_lanes.ts";
import { onTheme } from "../../state/settings.ts";
import type { MessageWire, TapeWindow, TapeWire } from "../../wire/tape.ts";
import { LaneHeads } from "./lane_heads.ts";
import { momentWords, route, seconds } from "./words.ts";

export interface StageActions {
  /** The user moved the window. */
  moved(): void;
  /** The user chose a message, or none. */
  select(seq: number | null): void;
  /** The user selected a range of time, or none. */
  range(range: [number, number] | null): void;
  /** It has been drawn. */
  drawn(drawn: Drawn): void;
  /** The colours changed. */
  theme(theme: TapeTheme): void;
}

const MARGIN = 0.02;
const HOVER_MS = 80;
/** How near the pointer must be to an edge of the range to take hold of it. */
const EDGE = 4;

export class TapeStage {
  readonly element = h("div.stage.tp-stage");
  private readonly heads = new LaneHeads();
  private readonly host = h("div.tp-canvas-host");
  private readonly canvas = h("canvas.tp-canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": "Messages over time, a lane for each participant",
  }) as HTMLCanvasElement;
  private readonly tooltip = h("div.tooltip", { role: "tooltip", hidden: true });
  private readonly watcher: ResizeObserver;
  private readonly stopTheme: () => void;
  private picture: TapePicture | null = null;
  private colours: TapeTheme | null = null;
  private last: Drawn | null = null;
  private shown: number[] = [];
  private frame = 0;
  private hover = 0;

  constructor(private readonly actions: StageActions) {
    this.host.append(this.canvas);
    this.element.append(this.heads.element, this.host);
    document.body.append(this.tooltip);
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.heads.element.addEventListener("wheel", (event) => this.scrollBy(event.deltaY), { passive: true });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.hideTip());
    this.stopTheme = onTheme(() => this.takeTheme());
    this.watcher = new ResizeObserver(() => {
      this.layLanes();
      this.redraw();
      if (this.picture) this.actions.moved();
    });
    this.watcher.observe(this.host);
  }

  /** Another tape, or the same with its idle time folded otherwise. */
  use(tape: TapeWire, folded: boolean): void {
    const parts: [number, number][] = folded ? tape.parts : [[tape.first, tape.last]];
    const before = this.picture;
    this.picture = {
      tape,
      axis: new TapeAxis(parts, tape.resolution),
      window: before?.tape === tape ? before.window : null,
      u0: 0,
      u1: 1,
      boxes: new Map(),
      scroll: before?.scroll ?? 0,
      selected: before?.selected ?? null,
      range: before?.range ?? null,
      flows: before?.flows ?? true,
      signals: before?.signals ?? true,
      sizes: before?.sizes ?? false,
    };
    if (before?.tape !== tape) this.shown = tape.lanes.map((_, i) => i);
    this.fit();
    this.layLanes();
    this.takeTheme();
  }

  get axis(): TapeAxis | null {
    return this.picture?.axis ?? null;
  }

  get width(): number {
    return this.host.clientWidth;
  }

  /** The times in sight. */
  get times(): [number, number] {
    const { axis, u0, u1 } = this.picture!;
    return [Math.floor(axis.toTime(u0)), Math.ceil(axis.toTime(u1))];
  }

  /** The times that are worth having: a margin on both sides, so that panning shows something at once. */
  get wide(): [number, number] {
    const { axis, u0, u1 } = this.picture!;
    const more = (u1 - u0) * 0.5;
    return [Math.floor(axis.toTime(u0 - more)), Math.ceil(axis.toTime(u1 + more))];
  }

  /** ns a pixel. */
  get per(): number {
    const { u0, u1 } = this.picture!;
    return (u1 - u0) / Math.max(1, this.width);
  }

  setData(window: TapeWindow): void {
    if (!this.picture) return;
    this.picture.window = window;
    if (window.lanes.join() !== this.shown.join()) {
      this.shown = window.lanes;
      this.layLanes();
    }
    this.redraw();
  }

  setSelected(message: MessageWire | null): void {
    if (this.picture) this.picture.selected = message;
    this.redraw();
  }

  /** The selected range, which the address holds. */
  setRange(range: [number, number] | null): void {
    if (this.picture) this.picture.range = range;
    this.redraw();
  }

  setShow(flows: boolean, signals: boolean, sizes: boolean): void {
    if (!this.picture) return;
    const { picture } = this;
    const changed = picture.signals !== signals;
    Object.assign(picture, { flows, signals, sizes });
    if (changed) this.layLanes();
    this.redraw();
  }

  fit(): void {
    const { picture } = this;
    if (!picture) return;
    const pad = picture.axis.length * MARGIN;
    [picture.u0, picture.u1] = [-pad, picture.axis.length + pad];
    this.redraw();
  }

  setTimes(t0: number, t1: number): void {
    const { picture } = this;
    if (!picture) return;
    [picture.u0, picture.u1] = [picture.axis.toU(t0), picture.axis.toU(t1)];
    this.redraw();
  }

  /** Keeps the scale and moves so that a time is in the middle, when it is not in sight. */
  reveal(time: number, lane: number): boolean {
    const { picture } = this;
    if (!picture) return false;
    this.revealLane(lane);
    const u = picture.axis.toU(time);
    if (u >= picture.u0 && u <= picture.u1) return false;
    const half = (picture.u1 - picture.u0) / 2;
    this.move(u - half, u + half);
    return true;
  }

  zoom(factor: number, x = this.width / 2): void {
    const { picture } = this;
    if (!picture) return;
    const at = picture.u0 + (x / Math.max(1, this.width)) * (picture.u1 - picture.u0);
    this.move(at - (at - picture.u0) * factor, at + (picture.u1 - at) * factor);
  }

  pan(share: number): void {
    const { picture } = this;
    if (!picture) return;
    const by = (picture.u1 - picture.u0) * share;
    this.move(picture.u0 + by, picture.u1 + by);
  }

  dispose(): void {
    this.watcher.disconnect();
    this.stopTheme();
    this.hideTip();
    this.tooltip.remove();
    cancelAnimationFrame(this.frame);
  }

  redraw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  /** Half the window may lie beyond either end, and a microsecond is as near as it gets; finer clocks may go on. */
  private move(u0: number, u1: number): void {
    const { picture } = this;
    if (!picture) return;
    const { length } = picture.axis;
    const least = picture.tape.resolution >= 1e6 ? 2e6 : 200;
    const span = Math.max(Math.min(least, length), Math.min(u1 - u0, length * (1 + 2 * MARGIN)));
    const middle = (u0 + u1) / 2;
    const begin = Math.max(-span / 2, Math.min(span === u1 - u0 ? u0 : middle - span / 2, length - span / 2));
    [picture.u0, picture.u1] = [begin, begin + span];
    this.redraw();
    this.actions.moved();
  }

  private takeTheme(): void {
    if (!this.picture) return;
    this.colours = readTapeTheme(this.canvas, this.picture.tape);
    this.actions.theme(this.colours);
    this.redraw();
  }

  private layLanes(): void {
    const { picture } = this;
    if (!picture) return;
    const top = tapeTop(picture);
    const boxes = laneBoxes(picture.tape.lanes, this.shown, this.host.clientHeight - top);
    picture.boxes = new Map(boxes.map((box) => [box.lane, box]));
    this.heads.draw(picture.tape, boxes, top);
    this.scrollBy(0);
  }

  private scrollBy(by: number): void {
    const { picture } = this;
    if (!picture) return;
    const high = [...picture.boxes.values()].reduce((end, box) => Math.max(end, box.y0 + box.height), 0);
    const most = Math.max(0, high - (this.host.clientHeight - tapeTop(picture)));
    picture.scroll = Math.max(0, Math.min(most, picture.scroll + by));
    this.heads.scroll(picture.scroll);
    this.redraw();
  }

  private revealLane(lane: number): void {
    const { picture } = this;
    const box = picture?.boxes.get(lane);
    if (!picture || !box) return;
    const room = this.host.clientHeight - tapeTop(picture);
    if (box.y0 < picture.scroll) this.scrollBy(box.y0 - picture.scroll);
    else if (box.y0 + box.height > picture.scroll + room) this.scrollBy(box.y0 + box.height - room - picture.scroll);
  }

  private draw(): void {
    const { picture, canvas, colours } = this;
    const [width, height] = [this.host.clientWidth, this.host.clientHeight];
    if (!picture || !colours || width < 10) return;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const g = canvas.getContext("2d", { alpha: false })!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.last = drawTape(g, width, height, picture, colours);
    this.actions.drawn(this.last);
  }

  private wheel(event: WheelEvent): void {
    if (!this.picture) return;
    event.preventDefault();
    this.hideTip();
    if (event.shiftKey) return this.scrollBy(event.deltaY || event.deltaX);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return this.pan(event.deltaX / Math.max(1, this.width));
    this.zoom(Math.exp(event.deltaY * 0.0015), event.offsetX);
  }

  private press(event: PointerEvent): void {
    const { picture } = this;
    if (!picture || event.button !== 0) return;
    this.hideTip();
    const fixed = event.shiftKey ? this.timeAt(event.offsetX) : this.otherEnd(event.offsetX);
    if (fixed !== null) return this.pull(event, fixed);
    const start = { x: event.offsetX, y: event.offsetY, u0: picture.u0, u1: picture.u1, scroll: picture.scroll };
    let moved = false;
    this.canvas.setPointerCapture(event.pointerId);
    const move = (now: PointerEvent): void => {
      const [dx, dy] = [now.offsetX - start.x, now.offsetY - start.y];
      if (!moved && Math.hypot(dx, dy) < 4) return;
      moved = true;
      this.scrollBy(start.scroll - dy - picture.scroll);
      const shift = (dx / Math.max(1, this.width)) * (start.u1 - start.u0);
      this.move(start.u0 - shift, start.u1 - shift);
    };
    const up = (now: PointerEvent): void => {
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", up);
      this.canvas.removeEventListener("pointercancel", up);
      if (!moved && now.type === "pointerup") this.actions.select(this.seqAt(now.offsetX, now.offsetY));
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
  }

  private timeAt(x: number): number {
    const { axis, u0, u1, tape } = this.picture!;
    const time = axis.toTime(u0 + (x / Math.max(1, this.width)) * (u1 - u0));
    return Math.round(Math.max(tape.first, Math.min(tape.last, time)));
  }

  /** The time of the range's other end when an edge of it is under the pointer. */
  private otherEnd(x: number): number | null {
    const { range, axis, u0, u1 } = this.picture!;
    if (!range) return null;
    const [left, right] = range.map((time) => Math.abs(((axis.toU(time) - u0) / (u1 - u0)) * this.width - x)) as [
      number,
      number,
    ];
    return Math.min(left, right) > EDGE ? null : left < right ? range[1] : range[0];
  }

  /** Draws a range out from a time that stays. */
  private pull(event: PointerEvent, fixed: number): void {
    const { canvas } = this;
    const before = this.picture!.range;
    const at = (now: PointerEvent): [number, number] | null => {
      const other = this.timeAt(now.offsetX);
      return other === fixed ? null : [Math.min(fixed, other), Math.max(fixed, other)];
    };
    canvas.setPointerCapture(event.pointerId);
    const move = (now: PointerEvent): void => this.setRange(at(now));
    const up = (now: PointerEvent): void => {
      canvas.removeEventListener("pointermove", move);
      canvas.removeEventListener("pointerup", up);
      canvas.removeEventListener("pointercancel", up);
      if (now.type === "pointerup") this.actions.range(at(now));
      else this.setRange(before);
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
  }

  private seqAt(x: number, y: number): number | null {
    const data = this.picture?.window;
    if (!data) return null;
    const mark = this.markAt(x, y);
    if (mark >= 0) return data.marks.seq[mark]!;
    const column = this.columnAt(x, y);
    return column ? data.columns.seq[column.column.from]! : null;
  }

  /** The mark under the pointer, or the nearest within a few pixels; the uppermost first. */
  private markAt(x: number, y: number): number {
    const { last, picture } = this;
    if (!last || !picture) return -1;
    const at = y - tapeTop(picture) + picture.scroll;
    let [best, distance] = [-1, Infinity];
    for (const mark of last.marks) {
      const away = Math.hypot(mark.x - x, mark.y - at) - mark.r;
      if (away < 4 && away <= distance) [best, distance] = [mark.index, Math.max(away, -1)];
    }
    return best;
  }

  private columnAt(x: number, y: number): Drawn["columns"][number] | undefined {
    const { last, picture } = this;
    if (!last || !picture) return undefined;
    const at = y - tapeTop(picture) + picture.scroll;
    return last.columns.find(
      (column) =>
        x >= column.x && x < column.x + column.width && at >= column.y - 4 && at <= column.y + column.height + 4,
    );
  }

  private point(event: PointerEvent): void {
    window.clearTimeout(this.hover);
    if (event.buttons !== 0 || !this.picture) return;
    const { offsetX, offsetY, clientX, clientY } = event;
    this.canvas.style.cursor = event.shiftKey ? "crosshair" : this.otherEnd(offsetX) !== null ? "ew-resize" : "";
    this.hover = window.setTimeout(() => {
      const words = this.describe(offsetX, offsetY);
      if (!words) return this.hideTip();
      fill(this.tooltip, ...words);
      this.tooltip.hidden = false;
      this.tooltip.style.left = `${Math.min(clientX + 12, window.innerWidth - this.tooltip.offsetWidth - 4)}px`;
      this.tooltip.style.top = `${Math.min(clientY + 14, window.innerHeight - this.tooltip.offsetHeight - 4)}px`;
    }, HOVER_MS);
  }

  private describe(x: number, y: number): Node[] | null {
    const { picture, last } = this;
    const data = picture?.window;
    if (!picture || !data || !last) return null;
    const { tape } = picture;
    const dim = (text: string): HTMLElement => h("span.dim", text);
    const mark = this.markAt(x, y);
    if (mark >= 0) {
      const { marks } = data;
      const together = marks.many[mark]!;
      const where = tape.lanes[marks.lane[mark]!]!.name;
      return [
        h("b", `#${marks.seq[mark]!} ${tape.ops[marks.op[mark]!] ?? ""}`),
        dim(` · ${tape.kinds[marks.event[mark]!]!.name} on ${where}`),
        h(
          "div",
          `${seconds(marks.time[mark]!, tape.resolution)} s${marks.dur[mark]! > 0 ? ` · ${duration(marks.dur[mark]!)}` : ""}${marks.size[mark]! > 0 ? ` · ${bytes(marks.size[mark]!)}` : ""}`,
        ),
        ...(together > 1
          ? [
              h(
                "div.faint",
                `${marks.place[mark]! + 1}. of ${together} within ${duration(data.stack)}. ${momentWords(tape.resolution)}`,
              ),
            ]
          : []),
      ];
    }
    const column = this.columnAt(x, y);
    if (column) {
      const { from, to, total, lane } = column.column;
      const parts = Array.from({ length: to - from }, (_, i) => from + i).sort(
        (a, b) => data.columns.count[b]! - data.columns.count[a]!,
      );
      return [
        h("b", counted(total, "event")),
        dim(` on ${tape.lanes[lane]!.name} within ${duration(data.cell)}`),
        ...parts
          .slice(0, 8)
          .map((i) => h("div", `${count(data.columns.count[i]!)} ${tape.families[data.columns.family[i]!]!.name}`)),
        h("div.faint", "Zoom in for single messages."),
      ];
    }
    const line = picture.signals && last.lines.find((other) => Math.abs(other.x - x) < 4);
    if (line) {
      const signal = tape.signals[line.index]!;
      const length = signal.span ? ` · ${duration(signal.end - signal.start)}` : "";
      return [
        h("b", signal.name),
        dim(
          ` · signal${line.end ? " ends" : signal.span ? " begins" : ""} at ${seconds(line.end && signal.span ? signal.end : signal.start, tape.resolution)} s${length}`,
        ),
      ];
    }
    const at = y - tapeTop(picture) + picture.scroll;
    const flow = last.arrows.find(({ x0, y0, x1, y1 }) => {
      const share = (at - y0) / (y1 - y0 || 1);
      return share >= 0 && share <= 1 && Math.abs(x0 + (x1 - x0) * share - x) < 4;
    });
    if (!flow) return this.foldAt(x);
    const { arrows } = data;
    const many = arrows.count[flow.index]!;
    return [
      h("b", route(tape, arrows.source[flow.index]!, arrows.target[flow.index]!)),
      dim(
        ` · ${counted(many, "message")}${arrows.bytes[flow.index]! > 0 ? `, ${bytes(arrows.bytes[flow.index]!)}` : ""}${many > 1 ? ` within ${duration(data.arrowCell)}` : ""}`,
      ),
    ];
  }

  private foldAt(x: number): Node[] | null {
    const { axis, u0, u1 } = this.picture!;
    const u = u0 + (x / Math.max(1, this.width)) * (u1 - u0);
    const fold = axis.folds.find((other) => u >= other.u0 && u < other.u1);
    return fold ? [h("b", `${duration(fold.ns)} folded`), h("span.dim", " · nothing happened")] : null;
  }

  private hideTip(): void {
    window.clearTimeout(this.hover);
    this.tooltip.hidden = true;
  }
}
