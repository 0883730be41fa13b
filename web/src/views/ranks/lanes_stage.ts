/** Some ranks of a step on one clock, with a window that is zoomed and moved like any timeline. */
import { h } from "../../base/dom.ts";
import { duration } from "../../base/format.ts";
import { drawLanes, laneAt, lanesLeft, type LanesLook } from "../../draw/rank_lanes_draw.ts";
import type { Limits, Span } from "../../layout/span.ts";
import type { StepWire } from "../../wire/ranks.ts";
import { AxisViewport, type AxisTarget } from "../common/viewport/axis_viewport.ts";
import type { Point } from "../common/viewport/gestures.ts";
import { RanksStage } from "./ranks_stage.ts";

export interface LanesActions {
  look: () => Omit<LanesLook, "span">;
  /** The window was moved: the part of the step as the address has it, null for all of it. */
  moved: (part: string | null) => void;
  rank: (rank: number) => void;
  open: (rank: number) => void;
}

/** A part of a step, ns after its begin, as the address has it; null for all of it. */
export function readPart(text: string | undefined): Span | null {
  const found = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? "");
  if (!found) return null;
  const [t0, t1] = [Number(found[1]), Number(found[2])];
  return t1 > t0 ? { t0, t1 } : null;
}

export class LanesStage implements AxisTarget {
  private readonly stage: RanksStage;
  private readonly viewport: AxisViewport;
  private step: StepWire | null = null;
  private part: Span | null = null;
  private writing = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly act: LanesActions,
  ) {
    this.stage = new RanksStage(host, {
      label: "Some ranks of the step on one clock",
      title: "Ranks on one clock",
      detail: () => `step ${this.step?.step ?? ""}`,
      paint: (pen, theme, size) => {
        if (this.step) drawLanes(pen, theme, this.step, size, { ...this.act.look(), span: this.span });
      },
    });
    this.viewport = new AxisViewport(this.stage.canvas, this);
  }

  get span(): Span {
    return this.part ?? { t0: 0, t1: this.step?.dur_ns ?? 1 };
  }

  get limits(): Limits {
    const last = this.step?.dur_ns ?? 1;
    return { first: 0, last, shortest: 100, longest: last, beyond: 0 };
  }

  get axis(): { left: number; width: number } {
    const width = this.host.clientWidth;
    return { left: lanesLeft(width), width: width - lanesLeft(width) - 12 };
  }

  show(step: StepWire): void {
    this.step = step;
    const lanes = step.lanes.map((lane) => `rank ${lane.rank} (${lane.role})`);
    this.stage.canvas.setAttribute("aria-label", `${lanes.join(", ")} of step ${step.step} on one clock`);
    this.stage.soon();
  }

  setPart(part: Span | null): void {
    if (this.writing === 0) this.part = part;
    this.stage.soon();
  }

  key(event: KeyboardEvent): boolean {
    return this.step !== null && this.viewport.key(event);
  }

  move(span: Span): void {
    const whole = this.step?.dur_ns ?? 1;
    const all = span.t0 <= 0 && span.t1 >= whole;
    this.part = all ? null : span;
    this.stage.soon();
    // the slices of the new part are asked for when the window rests
    window.clearTimeout(this.writing);
    this.writing = window.setTimeout(() => {
      this.writing = 0;
      this.act.moved(all ? null : `${Math.max(Math.round(span.t0), 0)}-${Math.round(span.t1)}`);
    }, 150);
  }

  click(at: Point): void {
    const hit = this.hit(at);
    if (hit) this.act.rank(hit.rank);
  }

  open(at: Point): void {
    const hit = this.hit(at);
    if (hit) this.act.open(hit.rank);
  }

  describe(at: Point): readonly (Node | null)[] | null {
    const hit = this.hit(at);
    if (!hit || hit.name === "") return null;
    return [
      h("div", h("b", hit.name)),
      h("div", `rank ${hit.rank} · ${duration(hit.took)}`),
      hit.waited > 0 && hit.waitedFor >= 0
        ? h("div.faint", `waited ${duration(hit.waited)} for rank ${hit.waitedFor}`)
        : null,
    ];
  }

  dispose(): void {
    window.clearTimeout(this.writing);
    this.viewport.dispose();
    this.stage.dispose();
  }

  private hit(at: Point): ReturnType<typeof laneAt> {
    const { clientWidth: width, clientHeight: height } = this.host;
    return this.step ? laneAt(this.step, { width, height }, this.span, at) : null;
  }
}
