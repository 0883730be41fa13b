/** The drawing of stall samples: rows, window, folding. It knows nothing of the address: it says what the user did. */
import { h } from "../../base/dom.ts";
import { count, counted } from "../../base/format.ts";
import { drawStalls, STALL_RULER, type StallPicture } from "../../draw/stall_draw.ts";
import { HEAD } from "../../layout/hardware_rows.ts";
import { clampSpan, type Limits, type Span } from "../../layout/span.ts";
import { laneOf, reasonShares, runAt, stallRows, unitName, type StallRow } from "../../layout/stall_rows.ts";
import type { Stalls } from "../../wire/stalls.ts";
import { AxisViewport, type AxisTarget } from "../common/viewport/axis_viewport.ts";
import type { Point } from "../common/viewport/gestures.ts";
import { DrawnCanvas } from "./drawn_canvas.ts";

export interface StallActions {
  /** The user moved the window. */
  moved(): void;
  /** The user chose a run, or none. */
  select(run: number | null): void;
  drawn(): void;
}

/** How far from a sample one may point at it, px. */
const NEAR = 4;

/** A place in a kernel as it is shown: 0x000120. */
export function placeText(pc: number): string {
  return `0x${pc.toString(16).padStart(6, "0")}`;
}

export class StallStage implements AxisTarget {
  readonly viewport: AxisViewport;
  picture: StallPicture | null = null;
  private readonly canvas: DrawnCanvas;
  private readonly folded = new Set<string>();
  private last = 1;
  private tall = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly actions: StallActions,
  ) {
    this.canvas = new DrawnCanvas(
      host,
      "Stall samples of waves over clock cycles",
      () => this.scrollTo(this.scroll),
      (pen, width, height, theme) => {
        if (!this.picture) return;
        drawStalls(pen, width, height, this.picture, theme);
        actions.drawn();
      },
    );
    this.viewport = new AxisViewport(this.canvas.element, this);
  }

  /** Other samples, all of them in sight. */
  use(stalls: Stalls): void {
    this.last = stalls.end.reduce((most, end) => Math.max(most, end), stalls.head.cycles);
    this.folded.clear();
    this.picture = { stalls, rows: [], scroll: 0, t0: 0, t1: this.last, focus: -1 };
    this.lay();
    this.fit();
  }

  /** Shows the drawing, whatever was shown in its place. */
  show(): void {
    this.canvas.show();
    this.redraw();
  }

  get span(): Span {
    return { t0: this.picture?.t0 ?? 0, t1: this.picture?.t1 ?? 1 };
  }

  get limits(): Limits {
    const shortest = 4 * (this.picture?.stalls.head.cycles ?? 1);
    return { first: 0, last: this.last, shortest, longest: Math.max(shortest, this.last * 1.1), beyond: 0.5 };
  }

  get axis(): { left: number; width: number } {
    return { left: HEAD, width: this.host.clientWidth - HEAD };
  }

  get scroll(): number {
    return this.picture?.scroll ?? 0;
  }

  get cycles(): number {
    return this.last;
  }

  /** Shows a window without telling anyone. */
  setSpan(span: Span): void {
    if (this.picture) [this.picture.t0, this.picture.t1] = [span.t0, span.t1];
    this.redraw();
  }

  /** Shows all samples. */
  fit(): void {
    const pad = Math.max(1, this.last * 0.005);
    this.setSpan({ t0: -pad, t1: this.last + pad });
  }

  move(span: Span): void {
    this.setSpan(span);
    this.actions.moved();
  }

  scrollTo(y: number): void {
    if (this.picture)
      this.picture.scroll = Math.max(0, Math.min(y, this.tall - (this.host.clientHeight - STALL_RULER)));
    this.redraw();
  }

  /** The names of multiprocessors fold and unfold them. */
  press({ x, y }: Point): boolean {
    if (x >= HEAD) return false;
    const row = this.rowAt(y);
    if (row?.unit) {
      if (!this.folded.delete(row.label)) this.folded.add(row.label);
      this.lay();
      this.scrollTo(this.scroll);
    }
    return true;
  }

  click(at: Point): void {
    const run = this.runUnder(at);
    this.actions.select(run < 0 ? null : run);
  }

  describe(at: Point): Node[] | null {
    const { picture } = this;
    const row = picture && at.x >= HEAD ? this.rowAt(at.y) : undefined;
    if (!picture || !row) return null;
    const cycle = this.cycleAt(at.x);
    const wide = this.cycleAt(at.x + 1) - cycle;
    const run = this.runUnder(at);
    if (row.unit && wide > picture.stalls.head.cycles) return this.shared(picture, row, cycle, wide);
    return run < 0 ? null : describeRun(picture.stalls, run);
  }

  /** Selects a run, and brings its lane into sight, with `pan` its cycles too. */
  setFocus(run: number, pan: boolean): void {
    const { picture } = this;
    if (!picture) return;
    picture.focus = run;
    if (run >= 0) {
      const lane = laneOf(picture.stalls, run);
      const name = unitName(picture.stalls.head.lanes[lane]!);
      if (this.folded.delete(name)) this.lay();
      const row = picture.rows.find((other) => !other.unit && other.first === lane)!;
      const room = this.host.clientHeight - STALL_RULER;
      if (row.y < picture.scroll || row.y + row.height > picture.scroll + room) this.scrollTo(row.y - room / 2);
      const [start, end] = [picture.stalls.start[run]!, picture.stalls.end[run]!];
      if (pan && (end <= picture.t0 || start >= picture.t1)) {
        const half = (picture.t1 - picture.t0) / 2;
        this.move(clampSpan({ t0: start - half, t1: start + half }, this.limits));
      }
    }
    this.redraw();
  }

  redraw(): void {
    this.canvas.redraw();
  }

  dispose(): void {
    this.canvas.dispose();
    this.viewport.dispose();
  }

  /** What a multiprocessor's warps waited for in a pixel of many samples. */
  private shared({ stalls }: StallPicture, row: StallRow, cycle: number, wide: number): Node[] | null {
    const { cycles, reasons, totals } = stalls.head;
    const shares = reasonShares(stalls, row, cycle, cycle + wide, 1);
    const met = totals.filter(([reason]) => shares[reason]! > 0);
    if (met.length === 0) return null;
    met.sort(([a], [b]) => shares[b]! - shares[a]!);
    return [
      h("b", row.label),
      h("span.dim", ` · cycle ${count(Math.max(0, Math.round(cycle)))}, ${(wide / cycles).toFixed(1)} samples a pixel`),
      ...met.map(([reason]) => h("div", `${Math.round((shares[reason]! / wide) * 100)}% ${reasons[reason]}`)),
    ];
  }

  private rowAt(y: number): StallRow | undefined {
    const at = y - STALL_RULER + this.scroll;
    return y < STALL_RULER ? undefined : this.picture?.rows.find((row) => at >= row.y && at < row.y + row.height);
  }

  private cycleAt(x: number): number {
    const { t0, t1 } = this.span;
    return t0 + ((x - HEAD) / this.axis.width) * (t1 - t0);
  }

  private runUnder({ x, y }: Point): number {
    const row = x < HEAD ? undefined : this.rowAt(y);
    if (!row || !this.picture) return -1;
    return runAt(this.picture.stalls, row, this.cycleAt(x), this.cycleAt(x + NEAR) - this.cycleAt(x));
  }

  private lay(): void {
    const { picture } = this;
    if (!picture) return;
    const { rows, height } = stallRows(picture.stalls.head.lanes, this.folded);
    [picture.rows, this.tall] = [rows, height];
  }
}

/** Reason, lane, cycles, place and state of a run. */
function describeRun(stalls: Stalls, run: number): Node[] {
  const { head } = stalls;
  const lane = head.lanes[laneOf(stalls, run)]!;
  const number = (stalls.end[run]! - stalls.start[run]!) / head.cycles;
  return [
    h("b", head.reasons[stalls.reason[run]!]),
    h("span.dim", ` · ${unitName(lane)} WAVE:${lane.wave} · cycle ${count(stalls.start[run]!)}`),
    h("div.mono", `pc=${placeText(stalls.pc[run]!)} active=${stalls.active[run]}`),
    ...(number > 1 ? [h("div.dim", `${counted(number, "sample")} alike`)] : []),
  ];
}
