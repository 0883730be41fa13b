/** Over the slices: the outline of the focused one and the arrows of its flows. */
import type { RowLayout } from "../../layout/timeline_rows.ts";
import type { Span } from "../../layout/span.ts";
import type { FlowEndWire, FlowWire } from "../../wire/timeline.ts";
import type { Focus } from "./painter.ts";
import type { TimelineTheme } from "./theme.ts";
import type { Pen } from "../sheet/pen.ts";

export interface MarkView {
  context: Pen;
  theme: TimelineTheme;
  layout: RowLayout;
  span: Span;
  scroll: number;
  width: number;
  height: number;
}

/** A 2-px outline with a gap: readable on any fill. */
export function drawFocus(view: MarkView, focus: Focus): void {
  const place = view.layout.places.get(`${focus.track}:${focus.depth}`);
  if (!place) return;
  const { context, theme } = view;
  const scale = view.width / (view.span.t1 - view.span.t0);
  const x0 = Math.max(-6, (focus.start - view.span.t0) * scale);
  const x1 = Math.min(view.width + 6, Math.max(x0 + 3, (focus.start + focus.dur - view.span.t0) * scale));
  if (x1 < 0 || x0 > view.width) return;
  const y = place.row.y + place.lane.y - view.scroll;
  const box: [number, number, number, number] = [
    Math.round(x0) - 0.5,
    Math.round(y) - 0.5,
    Math.max(3, Math.round(x1 - x0)),
    place.lane.h + 1,
  ];
  context.strokeStyle = theme.bg0;
  context.lineWidth = 4;
  context.strokeRect(...box);
  context.strokeStyle = theme.fg1;
  context.lineWidth = 2;
  context.strokeRect(...box);
}

/** Arrows from the end of one slice to the begin of the other; those of the focused slice are strong. */
export function drawFlows(view: MarkView, flows: readonly FlowWire[], focus: Focus | null): void {
  const { context, theme } = view;
  context.strokeStyle = theme.fg1;
  context.fillStyle = theme.fg1;
  for (const flow of flows) {
    const from = end(view, flow.from, "end");
    const to = end(view, flow.to, "start");
    if (!from || !to) continue;
    if (Math.max(from.x, to.x) < -20 || Math.min(from.x, to.x) > view.width + 20) continue;
    if (Math.max(from.y, to.y) < 0 || Math.min(from.y, to.y) > view.height) continue;
    const own = focus !== null && (flow.from.row === focus.row || flow.to.row === focus.row);
    context.globalAlpha = own ? 0.8 : 0.35;
    context.lineWidth = own ? 1.2 : 1;
    const bend = Math.min(80, Math.max(22, Math.abs(to.x - from.x) / 3));
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(from.x + bend, from.y, to.x - bend - 4, to.y, to.x - 5, to.y);
    context.stroke();
    context.beginPath();
    context.moveTo(to.x - 1, to.y);
    context.lineTo(to.x - 7, to.y - 3.5);
    context.lineTo(to.x - 7, to.y + 3.5);
    context.fill();
    context.beginPath();
    context.arc(from.x, from.y, 2, 0, 7);
    context.fill();
  }
  context.globalAlpha = 1;
}

function end(view: MarkView, at: FlowEndWire, side: "start" | "end"): { x: number; y: number } | null {
  const place = view.layout.places.get(`${at.track}:${at.depth}`);
  if (!place) return null;
  const time = side === "end" ? at.start + at.dur : at.start;
  const scale = view.width / (view.span.t1 - view.span.t0);
  // far outside the numbers grow beyond what a canvas can draw
  const x = Math.max(-10_000, Math.min(view.width + 10_000, (time - view.span.t0) * scale));
  return { x, y: place.row.y + place.lane.y + place.lane.h / 2 - view.scroll };
}
