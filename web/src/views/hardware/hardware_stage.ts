/**
 * The drawing of a hardware trace: rows, window, folding. It knows nothing of the address: it says what the user did.
 */
import { h } from "../../base/dom.ts";
import { drawHardware, occupancyRoom, topHeight, wholeSpan, type HardwarePicture } from "../../draw/hardware_draw.ts";
import { HEAD, hardwareRows, OCCUPANCY_HEAD } from "../../layout/hardware_rows.ts";
import { clampSpan, type Limits, type Span } from "../../layout/span.ts";
import type { EventWire, InstructionsWire, OccupancyWire, TraceWire } from "../../wire/hardware.ts";
import { AxisViewport, type AxisTarget } from "../common/viewport/axis_viewport.ts";
import type { Point } from "../common/viewport/gestures.ts";
import { DrawnCanvas } from "./drawn_canvas.ts";
import { describeEvent, hitAt } from "./event_tip.ts";

export interface StageActions {
  /** The user moved the window. */
  moved(): void;
  /** Other lanes, or another window, are on the screen. */
  need(): void;
  /** The user chose an event, or none. */
  select(event: number | null): void;
  /** The user chose another engine: the row of its trace. */
  engine(row: number): void;
  drawn(): void;
}

/** Cycles of the nearest window. */
const SHORTEST = 8;

export class HardwareStage implements AxisTarget {
  readonly element = h("div.stage");
  readonly viewport: AxisViewport;
  picture: HardwarePicture | null = null;
  instructions: InstructionsWire | null = null;
  private readonly canvas: DrawnCanvas;
  private readonly folded = new Set<string>();

  constructor(private readonly actions: StageActions) {
    this.canvas = new DrawnCanvas(
      this.element,
      "Waves and units over clock cycles",
      () => this.laid(),
      (pen, width, height, theme) => {
        if (!this.picture) return;
        drawHardware(pen, width, height, this.picture, theme);
        actions.drawn();
      },
    );
    this.viewport = new AxisViewport(this.canvas.element, this);
  }

  /** Another trace, all of it in sight. */
  use(row: number, trace: TraceWire, occupancy: OccupancyWire, instructions: InstructionsWire): void {
    const { cycle, tick } = trace.clock;
    const cycles = (cycle.at(-1) ?? 0) - (cycle[0] ?? 0);
    const ticks = (tick.at(-1) ?? 0) - (tick[0] ?? 0);
    if (!trace.lanes.some((lane) => lane.group === "waves")) this.folded.delete("all");
    this.instructions = instructions;
    this.picture = {
      trace,
      occupancy,
      row,
      rows: [],
      scroll: 0,
      t0: trace.first,
      t1: Math.max(trace.last, trace.first + 1),
      lanes: new Map(),
      focus: null,
      linked: null,
      selected: -1,
      cycle: cycles > 0 && ticks > 0 ? (ticks * 10) / cycles : 0,
      folded: this.folded.has("occupancy"),
    };
    this.layRows();
  }

  /** Shows the drawing, whatever was shown in its place. */
  show(): void {
    this.canvas.show();
  }

  get shown(): boolean {
    return this.canvas.shown;
  }

  get width(): number {
    return this.element.clientWidth;
  }

  get span(): Span {
    return { t0: this.picture?.t0 ?? 0, t1: this.picture?.t1 ?? 1 };
  }

  get limits(): Limits {
    const { first, last } = this.picture ? wholeSpan(this.picture) : { first: 0, last: 1 };
    return { first, last, shortest: SHORTEST, longest: (last - first) * 1.1, beyond: 0.5 };
  }

  get axis(): { left: number; width: number } {
    return { left: HEAD, width: this.width - HEAD };
  }

  get scroll(): number {
    return this.picture?.scroll ?? 0;
  }

  /** Shows a window without telling anyone. */
  setSpan(span: Span): void {
    if (!this.picture) return;
    [this.picture.t0, this.picture.t1] = [span.t0, span.t1];
    this.actions.need();
    this.redraw();
  }

  /** Shows the whole trace. */
  fit(): void {
    if (!this.picture) return;
    const { first, last } = this.picture.trace;
    const pad = Math.max(1, (last - first) * 0.01);
    this.setSpan({ t0: first - pad, t1: last + pad });
  }

  move(span: Span): void {
    this.setSpan(span);
    this.actions.moved();
  }

  /** Brings a cycle into the middle, when it is not in sight. */
  reveal(cycle: number): void {
    const { t0, t1 } = this.span;
    if (cycle < t0 || cycle >= t1) this.centre(cycle);
  }

  scrollTo(y: number): void {
    const { picture } = this;
    if (!picture) return;
    const last = picture.rows.at(-1);
    const room = this.element.clientHeight - topHeight(picture);
    picture.scroll = Math.max(0, Math.min(y, (last ? last.y + last.height : 0) - room));
    this.redraw();
  }

  /** The occupancy, and the names of the lanes. */
  press({ x, y }: Point): boolean {
    const { picture } = this;
    if (!picture) return true;
    const engines = picture.occupancy?.engines ?? [];
    const room = occupancyRoom(picture);
    const top = topHeight(picture);
    if (y < OCCUPANCY_HEAD) {
      if (x < HEAD) this.fold("occupancy");
    } else if (y < OCCUPANCY_HEAD + room) {
      const engine = engines[Math.floor(((y - OCCUPANCY_HEAD) / room) * engines.length)]!;
      const { first, last } = wholeSpan(picture);
      if (x < HEAD) this.actions.engine(engine.row);
      else this.centre(first + ((x - HEAD) / (this.width - HEAD)) * (last - first));
    } else if (x < HEAD && y > top) {
      const at = y - top + picture.scroll;
      const row = picture.rows.find((other) => other.lane < 0 && at >= other.y && at < other.y + other.height);
      if (row && row.group !== "clock") this.fold(row.group);
    } else return false;
    return true;
  }

  click({ x, y }: Point): void {
    const hit = this.picture && hitAt(this.picture, x, y, this.width);
    this.actions.select(hit ? hit.events.event[hit.index]! : null);
  }

  describe({ x, y }: Point): Node[] | null {
    const hit = this.picture && hitAt(this.picture, x, y, this.width);
    return hit && describeEvent(this.picture!, hit, this.instructions);
  }

  /** The focused event and what it is linked to. */
  setFocus(focus: EventWire | null, linked: EventWire | null): void {
    const { picture } = this;
    if (!picture) return;
    [picture.focus, picture.linked, picture.selected] = [focus, linked, focus?.lane ?? -1];
    this.redraw();
  }

  redraw(): void {
    this.canvas.redraw();
  }

  dispose(): void {
    this.canvas.dispose();
    this.viewport.dispose();
  }

  private centre(cycle: number): void {
    const { t0, t1 } = this.span;
    const half = (t1 - t0) / 2;
    this.viewport.hideTip();
    this.move(clampSpan({ t0: cycle - half, t1: cycle + half }, this.limits));
  }

  private fold(group: string): void {
    if (!this.folded.delete(group)) this.folded.add(group);
    this.picture!.folded = this.folded.has("occupancy");
    this.laid();
  }

  /** The rows have other places, or other room. */
  private laid(): void {
    this.layRows();
    this.scrollTo(this.scroll);
    if (this.picture) this.actions.need();
  }

  private layRows(): void {
    const { picture } = this;
    if (!picture) return;
    const { trace, cycle } = picture;
    picture.rows = hardwareRows(
      trace.lanes,
      this.folded,
      cycle > 0 ? `${(1 / cycle).toFixed(2)} GHz` : "",
      trace.traced,
      this.element.clientHeight - topHeight(picture),
    ).rows;
  }
}
