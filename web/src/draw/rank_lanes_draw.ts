/** Paints some ranks of a step one above the other on one clock: computing, waiting (hatched), transfer (sky). */
import { duration } from "../base/format.ts";
import type { Span } from "../layout/span.ts";
import type { StepLaneWire, StepWire } from "../wire/ranks.ts";
import type { RanksTheme } from "./ranks_draw.ts";
import type { Pen } from "./sheet/pen.ts";

const RULER = 22;
const KERNEL = 22;
const TALK = 16;

export interface LanesLook {
  /** The part of the step that is shown, ns after its begin. */
  span: Span;
  path: boolean;
  /** ns that clocks may be off by: what is less is not drawn as a wait. */
  bound: number;
  chosen: number;
}

type Size = { width: number; height: number };

export function lanesLeft(width: number): number {
  return width < 700 ? 84 : 132;
}

function rowHeight(lanes: number, height: number): number {
  return Math.max(Math.min(Math.floor((height - RULER - 4) / Math.max(lanes, 1)), 96), 52);
}

function laneTop(at: number, high: number): number {
  return RULER + at * high + Math.max((high - KERNEL - TALK - 6) / 2, 4);
}

/** How high all lanes are together. */
export function lanesHeight(step: StepWire, height: number): number {
  return RULER + step.lanes.length * rowHeight(step.lanes.length, height) + 4;
}

export function drawLanes(ctx: Pen, theme: RanksTheme, step: StepWire, size: Size, look: LanesLook): void {
  const { width, height } = size;
  const left = lanesLeft(width);
  ctx.fillStyle = theme.bg0;
  ctx.fillRect(0, 0, width, height);
  ctx.textBaseline = "middle";
  const { t0, t1 } = look.span;
  const scale = (width - left - 12) / Math.max(t1 - t0, 1);
  const x = (moment: number): number => left + (moment - t0) * scale;
  ruler(ctx, theme, look.span, left, size, scale);
  const high = rowHeight(step.lanes.length, height);
  const top = (at: number): number => laneTop(at, high);
  const lineOf = new Map(step.lanes.map((lane, at) => [lane.rank, at]));
  const colours = colourOf(step);
  const names = new Map(step.collectives.map((one) => [one.index, one.name]));
  step.lanes.forEach((lane, at) => {
    if (at > 0) {
      ctx.fillStyle = theme.line1;
      ctx.fillRect(0, RULER + at * high, width, 1);
    }
    head(ctx, theme, lane, top(at), lane.rank === look.chosen, high);
  });
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, RULER, width - left, height);
  ctx.clip();
  step.lanes.forEach((lane, at) => {
    const y = top(at);
    for (const [start, dur, name] of lane.slices) {
      const colour = colours.get(name) ?? 0;
      box(ctx, x(start), y, dur * scale, KERNEL, colour === 0 ? theme.bg4 : theme.fill[colour - 1]!);
      const ink = colour === 0 ? theme.fg1 : theme.ink[colour - 1]!;
      label(ctx, name, Math.max(x(start), left), y, x(start + dur) - Math.max(x(start), left), KERNEL, ink, theme.mono);
    }
    drawTalks(ctx, theme, lane, names, look.bound, { x, y: y + KERNEL + 4, left });
  });
  arrows(ctx, theme, step, look.bound, x, (rank) => lineOf.get(rank), top);
  if (look.path) drawPath(ctx, theme, step, x, (rank) => lineOf.get(rank), top);
  ctx.restore();
}

/**
 * The collectives of a rank: waits first, transfers over them. Several may be under way at once; a name or figure is
 * written only where it ends before the next one begins, and else left out.
 */
function drawTalks(
  ctx: Pen,
  theme: RanksTheme,
  lane: StepLaneWire,
  names: Map<number, string>,
  bound: number,
  place: { x: (moment: number) => number; y: number; left: number },
): void {
  const { x, y, left } = place;
  const talks = lane.talks.map(([index, came, waited, end]) => ({
    name: names.get(index) ?? "",
    came,
    begin: came + (waited > bound ? waited : 0),
    end,
  }));
  const after = (moment: number, begins: number[]): number => Math.min(...begins.filter((one) => one > moment));
  const cames = talks.map((one) => one.came);
  const begins = talks.map((one) => one.begin);
  for (const { came, begin } of talks) if (begin > came) hatched(ctx, theme, x(came), y, x(begin) - x(came), left);
  for (const { name, begin, end } of talks) {
    box(ctx, x(begin), y, x(end) - x(begin), TALK, theme.sky);
    const seen = Math.min(end, after(begin, begins));
    const from = Math.max(x(begin), left);
    label(ctx, name, from, y, x(seen) - from, TALK, theme.skyInk, theme.mono);
  }
  for (const { came, begin } of talks) {
    const seen = Math.min(begin, after(came, cames), after(came, begins));
    if (begin > came) waiting(ctx, theme, Math.max(x(came), left), y, x(seen), `waits ${duration(begin - came)}`);
  }
}

/** What lies under a point: the rank, and there a slice or a collective. */
export interface LaneHit {
  rank: number;
  name: string;
  /** ns. */
  took: number;
  waited: number;
  waitedFor: number;
}

export function laneAt(step: StepWire, size: Size, span: Span, at: { x: number; y: number }): LaneHit | null {
  const high = rowHeight(step.lanes.length, size.height);
  const row = Math.floor((at.y - RULER) / high);
  const lane = step.lanes[row];
  if (!lane || at.y < RULER) return null;
  const found: LaneHit = { rank: lane.rank, name: "", took: 0, waited: 0, waitedFor: -1 };
  const left = lanesLeft(size.width);
  if (at.x < left) return found;
  const moment = span.t0 + ((at.x - left) / Math.max(size.width - left - 12, 1)) * (span.t1 - span.t0);
  const y = at.y - laneTop(row, high);
  if (y >= 0 && y < KERNEL) {
    const slice = lane.slices.findLast(([start, dur]) => start <= moment && moment < start + dur);
    return slice ? { ...found, name: slice[2], took: slice[1] } : found;
  }
  if (y >= KERNEL + 4 && y < KERNEL + 4 + TALK) {
    const talk = lane.talks.find(([, came, , end]) => came <= moment && moment < end);
    if (!talk) return found;
    const one = step.collectives.find((collective) => collective.index === talk[0]);
    return {
      ...found,
      name: one?.name ?? "",
      took: talk[3] - talk[1],
      waited: talk[2],
      waitedFor: one?.last_rank ?? -1,
    };
  }
  return found;
}

function head(ctx: Pen, theme: RanksTheme, lane: StepLaneWire, y: number, chosen: boolean, high: number): void {
  ctx.textAlign = "left";
  ctx.fillStyle = theme.fg1;
  ctx.font = `${chosen ? 600 : 400} 12px ${theme.font}`;
  ctx.fillText(`rank ${lane.rank}`, 10, y + 8);
  ctx.fillStyle = theme.fg3;
  ctx.font = `11px ${theme.font}`;
  ctx.fillText(lane.role, 10, y + 25);
  if (high >= 72) label(ctx, lane.host, 6, y + 34, 118, TALK, theme.fg3, theme.font);
}

/** Colours of names: those that took most time one each, the rest neutral. */
function colourOf(step: StepWire): Map<string, number> {
  const total = new Map<string, number>();
  for (const lane of step.lanes) for (const [, dur, name] of lane.slices) total.set(name, (total.get(name) ?? 0) + dur);
  const order = [...total].sort((a, b) => b[1] - a[1]).slice(0, 11);
  return new Map(order.map(([name], at) => [name, at + 1]));
}

function ruler(ctx: Pen, theme: RanksTheme, span: Span, left: number, size: Size, scale: number): void {
  const { width, height } = size;
  ctx.fillStyle = theme.bg1;
  ctx.fillRect(0, 0, width, RULER);
  ctx.fillStyle = theme.line1;
  ctx.fillRect(0, RULER - 1, width, 1);
  const raw = 110 / scale;
  const power = 10 ** Math.floor(Math.log10(raw));
  const every = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= raw) ?? raw;
  ctx.font = `11px ${theme.font}`;
  ctx.textAlign = "left";
  for (let moment = Math.ceil(span.t0 / every) * every; moment <= span.t1; moment += every) {
    const x = Math.round(left + (moment - span.t0) * scale);
    ctx.fillStyle = theme.grid;
    ctx.fillRect(x, RULER, 1, height);
    ctx.fillStyle = theme.fg2;
    if (x + 60 < width) ctx.fillText(moment === 0 ? "0" : duration(moment), x + 4, 11);
  }
}

function box(ctx: Pen, x: number, y: number, width: number, height: number, colour: string): void {
  ctx.fillStyle = colour;
  ctx.fillRect(x, y, Math.max(width > 3 ? width - 1 : width, 0.6), height);
}

function label(
  ctx: Pen,
  text: string,
  x: number,
  y: number,
  width: number,
  height: number,
  colour: string,
  font: string,
): void {
  if (width < 22) return;
  ctx.font = `10px ${font}`;
  const letters = Math.floor((width - 8) / ctx.measureText("m").width);
  if (letters < 3) return;
  ctx.fillStyle = colour;
  ctx.textAlign = "left";
  ctx.fillText(text.length > letters ? `${text.slice(0, letters - 1)}…` : text, x + 4, y + height / 2 + 0.5);
}

function hatched(ctx: Pen, theme: RanksTheme, x: number, y: number, width: number, left: number): void {
  if (width < 1) return;
  const from = Math.max(x, left);
  const to = Math.min(x + width, left + 4000);
  ctx.strokeStyle = theme.fg3;
  ctx.lineWidth = 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(from, y, Math.max(to - from, 0), TALK);
  ctx.clip();
  ctx.globalAlpha = 0.5;
  ctx.beginPath();
  for (let at = from - TALK; at < to; at += 5) {
    ctx.moveTo(at, y + TALK);
    ctx.lineTo(at + TALK, y);
  }
  ctx.stroke();
  ctx.restore();
  ctx.strokeRect(Math.round(x) + 0.5, y + 0.5, Math.max(Math.round(width) - 1, 1), TALK - 1);
}

/** How long a wait is, where it has room between its begin and what is drawn next. */
function waiting(ctx: Pen, theme: RanksTheme, from: number, y: number, to: number, text: string): void {
  ctx.font = `10px ${theme.font}`;
  const wide = ctx.measureText(text).width;
  if (to - from < wide + 12) return;
  ctx.fillStyle = theme.bg0;
  ctx.fillRect(from + 4, y + 2, wide + 4, TALK - 4);
  ctx.fillStyle = theme.fg1;
  ctx.textAlign = "left";
  ctx.fillText(text, from + 6, y + TALK / 2 + 0.5);
}

/** From the last to arrive to each shown rank that waited for it. */
function arrows(
  ctx: Pen,
  theme: RanksTheme,
  step: StepWire,
  bound: number,
  x: (moment: number) => number,
  lineOf: (rank: number) => number | undefined,
  top: (at: number) => number,
): void {
  const last = new Map(step.collectives.map((one) => [one.index, one.last_rank]));
  ctx.strokeStyle = ctx.fillStyle = theme.fg2;
  ctx.lineWidth = 1;
  step.lanes.forEach((lane, at) => {
    for (const [index, came, wait] of lane.talks) {
      const from = lineOf(last.get(index) ?? -1);
      if (from === undefined || from === at || wait <= bound || wait <= 0) continue;
      const where = x(came + wait);
      const down = at > from;
      const y0 = top(from) + KERNEL + 4 + (down ? TALK : 0);
      const y1 = top(at) + KERNEL + 4 + (down ? 0 : TALK);
      const bend = 10;
      ctx.beginPath();
      ctx.moveTo(where, y0);
      ctx.bezierCurveTo(where + bend, y0 + (y1 - y0) * 0.3, where + bend, y0 + (y1 - y0) * 0.7, where + 1, y1);
      ctx.stroke();
      const tip = down ? -6 : 6;
      ctx.beginPath();
      ctx.moveTo(where + 1, y1);
      ctx.lineTo(where - 2, y1 + tip);
      ctx.lineTo(where + 6, y1 + tip);
      ctx.closePath();
      ctx.fill();
    }
  });
}

/** One line: over what is computed, under collectives; it leaves a rank that is not shown by a gap. */
function drawPath(
  ctx: Pen,
  theme: RanksTheme,
  step: StepWire,
  x: (moment: number) => number,
  lineOf: (rank: number) => number | undefined,
  top: (at: number) => number,
): void {
  ctx.strokeStyle = theme.fg1;
  ctx.lineWidth = 2.5;
  ctx.lineJoin = "round";
  ctx.beginPath();
  let open = false;
  for (const leg of step.path) {
    const at = lineOf(leg.rank);
    if (at === undefined) {
      open = false;
      continue;
    }
    const y = leg.kind === "compute" ? top(at) - 3 : top(at) + KERNEL + TALK + 7;
    if (open) ctx.lineTo(x(leg.start_ns), y);
    else ctx.moveTo(x(leg.start_ns), y);
    ctx.lineTo(x(leg.end_ns), y);
    open = true;
  }
  ctx.stroke();
}
