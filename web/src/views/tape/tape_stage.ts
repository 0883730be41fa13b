/** The drawing of a tape: lanes, window, range. It knows nothing of the address: it says what the user did. */
import { h } from "../../base/dom.ts";
import {
  drawTape,
  readTapeTheme,
  tapeTop,
  type Drawn,
  type TapePicture,
  type TapeTheme,
} from "../../draw/tape_draw.ts";
import { anchorSpan, type Limits, type Span } from "../../layout/span.ts";
import { TapeAxis } from "../../layout/tape_axis.ts";
import { laneBoxes } from "../../layout/tape_lanes.ts";
import { onTheme } from "../../state/settings.ts";
import type { MessageWire, TapeWindow, TapeWire } from "../../wire/tape.ts";
import { sizedPen } from "../common/sized_pen.ts";
import { AxisViewport, type AxisTarget } from "../common/viewport/axis_viewport.ts";
import type { Point } from "../common/viewport/gestures.ts";
import type { RangeTarget } from "../common/viewport/range.ts";
import { LaneHeads } from "./lane_heads.ts";
import { describeTape, seqAt } from "./tape_tip.ts";

export interface StageActions {
  /** The user moved the window. */
  moved(): void;
  /** The user chose a message, or none. */
  select(seq: number | null): void;
  /** The user selected a range of time, or none. */
  range(range: Span | null): void;
  /** It has been drawn. */
  drawn(drawn: Drawn): void;
  /** The colours changed. */
  theme(theme: TapeTheme): void;
}

const MARGIN = 0.02;
/** The nearest window: two ticks of a clock of milliseconds; finer clocks may go on. */
const NEAREST = 2e6;
const FINEST = 200;

export class TapeStage implements AxisTarget, RangeTarget {
  readonly element = h("div.stage.tp-stage");
  private readonly heads = new LaneHeads();
  private readonly host = h("div.tp-canvas-host");
  private readonly canvas = h("canvas.tp-canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": "Messages over time, a lane for each participant",
  }) as HTMLCanvasElement;
  readonly viewport: AxisViewport;
  private readonly watcher: ResizeObserver;
  private readonly stopTheme: () => void;
  private picture: TapePicture | null = null;
  private colours: TapeTheme | null = null;
  private drawn: Drawn | null = null;
  private shown: number[] = [];
  private frame = 0;

  constructor(private readonly actions: StageActions) {
    this.host.append(this.canvas);
    this.element.append(this.heads.element, this.host);
    this.heads.element.addEventListener("wheel", (event) => this.scrollBy(event.deltaY), { passive: true });
    this.viewport = new AxisViewport(this.canvas, this, this);
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

  get timeAxis(): TapeAxis | null {
    return this.picture?.axis ?? null;
  }

  /** The window on the line that is drawn: its times are `times`. */
  get span(): Span {
    return { t0: this.picture?.u0 ?? 0, t1: this.picture?.u1 ?? 1 };
  }

  get limits(): Limits {
    const length = this.picture?.axis.length ?? 1;
    const shortest = Math.min(length, (this.picture?.tape.resolution ?? 0) >= 1e6 ? NEAREST : FINEST);
    return { first: 0, last: length, shortest, longest: length * (1 + 2 * MARGIN), beyond: 0.5 };
  }

  get axis(): { left: number; width: number } {
    return { left: 0, width: this.width };
  }

  get scroll(): number {
    return this.picture?.scroll ?? 0;
  }

  get range(): Span | null {
    return this.picture?.range ?? null;
  }

  get first(): number {
    return this.picture?.tape.first ?? 0;
  }

  get last(): number {
    return this.picture?.tape.last ?? 0;
  }

  timeAt(x: number): number {
    const { t0, t1 } = this.span;
    return this.picture?.axis.toTime(t0 + (x / Math.max(1, this.width)) * (t1 - t0)) ?? 0;
  }

  xOf(time: number): number {
    const { t0, t1 } = this.span;
    return this.picture ? ((this.picture.axis.toU(time) - t0) / (t1 - t0)) * this.width : 0;
  }

  select(range: Span | null, done: boolean): void {
    this.setRange(range);
    if (done) this.actions.range(range);
  }

  click(at: Point): void {
    this.actions.select(this.picture && this.drawn && seqAt(this.picture, this.drawn, at));
  }

  describe(at: Point): Node[] | null {
    return this.picture && this.drawn && describeTape(this.picture, this.drawn, at, this.width);
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
  setRange(range: Span | null): void {
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
    this.moveAround({ t0: u - half, t1: u + half });
    return true;
  }

  /** Moves to times as the user would: the address follows. */
  showTimes(t0: number, t1: number): void {
    const { picture } = this;
    if (picture) this.moveAround({ t0: picture.axis.toU(t0), t1: picture.axis.toU(t1) });
  }

  move(span: Span): void {
    const { picture } = this;
    if (!picture) return;
    [picture.u0, picture.u1] = [span.t0, span.t1];
    this.redraw();
    this.actions.moved();
  }

  scrollTo(y: number): void {
    this.scrollBy(y - this.scroll);
  }

  dispose(): void {
    this.watcher.disconnect();
    this.stopTheme();
    this.viewport.dispose();
    cancelAnimationFrame(this.frame);
  }

  redraw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  /** A window that would be too short or too long keeps its middle. */
  private moveAround(span: Span): void {
    this.move(anchorSpan(span, 0.5, 0.5, 1, this.limits));
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
    this.drawn = drawTape(sizedPen(canvas, width, height), width, height, picture, colours);
    this.actions.drawn(this.drawn);
  }
}
