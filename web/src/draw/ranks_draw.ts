/** Paints the map of ranks by steps, and some ranks of a step on one clock. */
import { duration } from "../base/format.ts";
import { heatOf, isOver, type HeatModel } from "../data/ranks.ts";
import type { StepWire } from "../wire/ranks.ts";
import type { Pen } from "./sheet/pen.ts";

export interface RanksTheme {
  bg0: string;
  bg1: string;
  bg4: string;
  fg1: string;
  fg2: string;
  fg3: string;
  line1: string;
  line2: string;
  grid: string;
  accent: string;
  sky: string;
  skyInk: string;
  heat: readonly string[];
  fill: readonly string[];
  ink: readonly string[];
  font: string;
  mono: string;
}

export function readRanksTheme(element: HTMLElement): RanksTheme {
  const style = getComputedStyle(element);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12];
  return {
    bg0: value("--bg-0"),
    bg1: value("--bg-1"),
    bg4: value("--bg-4"),
    fg1: value("--fg-1"),
    fg2: value("--fg-2"),
    fg3: value("--fg-3"),
    line1: value("--line-1"),
    line2: value("--line-2"),
    grid: value("--grid"),
    accent: value("--accent"),
    sky: value("--cat-9"),
    skyInk: value("--cat-9-ink"),
    heat: [0, 1, 2, 3, 4].map((at) => value(`--heat-${at}`)),
    fill: numbers.map((at) => value(`--cat-${at}`)),
    ink: numbers.map((at) => value(`--cat-${at}-ink`)),
    font: style.fontFamily,
    mono: value("--font-mono"),
  };
}

/** Where the map lies on its canvas. */
export interface HeatPlace {
  readonly left: number;
  readonly top: number;
  readonly cell: number;
  readonly row: number;
  readonly right: number;
}

const TOP = 22;

export function heatPlace(model: HeatModel, width: number, low: boolean): HeatPlace {
  const narrow = width < 700;
  const left = narrow ? 84 : 132;
  const right = narrow ? 60 : 96;
  const row = model.rows > 64 ? (low ? 3 : 4) : model.rows > 20 ? (low ? 3 : 6) : low ? 10 : 14;
  const cell = Math.min((width - left - right - 8) / Math.max(model.columns, 1), 48);
  return { left, top: TOP, cell, row, right };
}

export function heatHeight(model: HeatModel, place: HeatPlace): number {
  return TOP + model.rows * place.row + 6;
}

/** The row and column under a point, null outside. */
export function cellAt(
  model: HeatModel,
  place: HeatPlace,
  x: number,
  y: number,
): { row: number; column: number } | null {
  const row = Math.floor((y - place.top) / place.row);
  const column = Math.floor((x - place.left) / place.cell);
  if (row < 0 || row >= model.rows || column < 0 || column >= model.columns) return null;
  return { row, column };
}

export function drawHeat(
  ctx: Pen,
  theme: RanksTheme,
  model: HeatModel,
  place: HeatPlace,
  size: { width: number; height: number },
  chosen: { step: number; rank: number },
): void {
  const { left, top, cell, row: high } = place;
  ctx.fillStyle = theme.bg0;
  ctx.fillRect(0, 0, size.width, size.height);
  ctx.textBaseline = "middle";
  ctx.font = `11px ${theme.font}`;
  ctx.fillStyle = theme.fg3;
  ctx.textAlign = "left";
  ctx.fillText("rank", 10, 11);
  const column = model.column(chosen.step);
  ticks(ctx, theme, model, place, column);
  const wide = cell > 3 ? cell - 1 : cell;
  const tall = high > 4 ? high - 1 : high - 0.5;
  for (let heat = -1; heat < 5; heat++) {
    ctx.fillStyle = heat < 0 ? theme.line2 : theme.heat[heat]!;
    for (let row = 0; row < model.rows; row++)
      for (let at = 0; at < model.columns; at++) {
        if (heatOf(model.value(row, at), model.metric) !== heat) continue;
        if (heat < 0) ctx.fillRect(left + at * cell, top + row * high + tall / 2 - 0.5, Math.max(wide / 2, 1), 1);
        else ctx.fillRect(left + at * cell, top + row * high, wide, tall);
      }
  }
  rowLabels(ctx, theme, model, place, size.width, chosen.rank);
  if (column >= 0)
    outline(ctx, theme.bg0, theme.accent, left + column * cell - 1, top - 1, cell + 1, model.rows * high + 1);
  const own = model.row(chosen.rank);
  if (column >= 0 && own >= 0)
    outline(ctx, theme.bg0, theme.fg1, left + column * cell - 1, top + own * high - 1, cell + 1, high + 1);
}

function ticks(ctx: Pen, theme: RanksTheme, model: HeatModel, place: HeatPlace, chosen: number): void {
  const { left, cell } = place;
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((step) => step * cell >= 44) ?? 1000;
  ctx.textAlign = "center";
  ctx.fillStyle = theme.fg2;
  for (let at = 0; at < model.columns; at += every) {
    const x = left + (at + 0.5) * cell;
    if (chosen >= 0 && Math.abs(x - (left + (chosen + 0.5) * cell)) < 40) continue;
    ctx.fillText(String(model.head.steps[at]), x, 11);
  }
  if (chosen < 0) return;
  const text = `step ${model.head.steps[chosen]}`;
  const wide = ctx.measureText(text).width + 10;
  const x = Math.max(left + wide / 2, left + (chosen + 0.5) * cell);
  ctx.fillStyle = theme.accent;
  ctx.beginPath();
  ctx.roundRect(x - wide / 2, 3, wide, 16, 3);
  ctx.fill();
  ctx.fillStyle = theme.bg0;
  ctx.fillText(text, x, 11.5);
}

function rowLabels(
  ctx: Pen,
  theme: RanksTheme,
  model: HeatModel,
  place: HeatPlace,
  width: number,
  chosen: number,
): void {
  const narrow = place.left < 100;
  let last = -99;
  const most = Math.max(...model.head.means.map((mean) => Math.abs(mean)), 1);
  const room = place.right - 52;
  const begin = place.left + model.columns * place.cell + 8;
  for (let row = 0; row < model.rows; row++) {
    const y = place.top + (row + 0.5) * place.row;
    const mean = model.head.means[row]!;
    ctx.fillStyle = theme.fg3;
    const bar = (Math.max(mean, 0) / most) * room;
    if (bar >= 0.5) ctx.fillRect(begin, y - place.row / 2, bar, place.row > 4 ? place.row - 1 : place.row - 0.5);
    if (y - last < 13) continue;
    last = y;
    const rank = model.head.ranks[row]!;
    const count = model.head.counts[row]!;
    ctx.textAlign = "left";
    ctx.fillStyle = rank === chosen || row === 0 ? theme.fg1 : theme.fg2;
    ctx.font = `${rank === chosen || row === 0 ? 600 : 400} 11px ${theme.font}`;
    ctx.fillText(count > 1 ? `${rank} +${count - 1}` : `rank ${rank}`, 10, y);
    ctx.font = `10px ${theme.font}`;
    ctx.fillStyle = theme.fg3;
    if (!narrow) ctx.fillText(shortHost(ctx, model.host(row), place.left - 78), 68, y);
    ctx.fillStyle = theme.fg2;
    const text = `${isOver(model.metric) && mean > 0 ? "+" : ""}${duration(mean)}`;
    if (begin + bar + ctx.measureText(text).width + 8 < width) ctx.fillText(text, begin + bar + 5, y);
  }
}

function shortHost(ctx: Pen, host: string, room: number): string {
  let text = host;
  while (text.length > 3 && ctx.measureText(text).width > room) text = `${text.slice(0, -2)}…`;
  return text;
}

function outline(ctx: Pen, gap: string, line: string, x: number, y: number, width: number, height: number): void {
  ctx.strokeStyle = gap;
  ctx.lineWidth = 4;
  ctx.strokeRect(x, y, width, height);
  ctx.strokeStyle = line;
  ctx.lineWidth = 2;
  ctx.strokeRect(x, y, width, height);
}

const RULER = 22;
const KERNEL = 22;
const TALK = 16;

/** Some ranks of a step one above the other: what they computed, when they waited (hatched), what was moved (sky). */
export function drawStep(
  ctx: Pen,
  theme: RanksTheme,
  step: StepWire,
  size: { width: number; height: number },
  path: boolean,
): void {
  const { width, height } = size;
  const left = width < 700 ? 84 : 132;
  ctx.fillStyle = theme.bg0;
  ctx.fillRect(0, 0, width, height);
  ctx.textBaseline = "middle";
  const scale = (width - left - 12) / Math.max(step.dur_ns, 1);
  const x = (moment: number): number => left + (moment - step.start_ns) * scale;
  ruler(ctx, theme, step, left, width, height, scale);
  const rows = step.lanes.length;
  const high = Math.max(Math.min(Math.floor((height - RULER - 4) / Math.max(rows, 1)), 96), 52);
  const top = (at: number): number => RULER + at * high + Math.max((high - KERNEL - TALK - 6) / 2, 4);
  const lineOf = new Map(step.lanes.map((lane, at) => [lane.rank, at]));
  const colours = colourOf(step);
  step.lanes.forEach((lane, at) => {
    const y = top(at);
    ctx.fillStyle = theme.line1;
    if (at > 0) ctx.fillRect(0, RULER + at * high, width, 1);
    ctx.textAlign = "left";
    ctx.fillStyle = theme.fg1;
    ctx.font = `${at === 0 ? 600 : 400} 12px ${theme.font}`;
    ctx.fillText(`rank ${lane.rank}`, 10, y + 8);
    ctx.fillStyle = theme.fg3;
    ctx.font = `11px ${theme.font}`;
    ctx.fillText(lane.role, 10, y + 25);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, RULER, width - left, height);
    ctx.clip();
    for (const [start, dur, name] of lane.slices) {
      const colour = colours.get(name) ?? 0;
      box(ctx, x(start), y, dur * scale, KERNEL, colour === 0 ? theme.bg4 : theme.fill[colour - 1]!);
      label(ctx, name, x(start), y, dur * scale, KERNEL, colour === 0 ? theme.fg1 : theme.ink[colour - 1]!, theme.mono);
    }
    for (const [index, came, wait, end] of lane.talks) {
      const name = step.collectives.find((one) => one.index === index)?.name ?? "";
      const yc = y + KERNEL + 4;
      if (wait > 0) hatched(ctx, theme, x(came), yc, wait * scale, `waits ${duration(wait)}`);
      box(ctx, x(came + wait), yc, (end - came - wait) * scale, TALK, theme.sky);
      label(ctx, name, x(came + wait), yc, (end - came - wait) * scale, TALK, theme.skyInk, theme.mono);
    }
    ctx.restore();
  });
  if (path) drawPath(ctx, theme, step, x, (rank) => lineOf.get(rank), top);
}

/** Colours of names: those that took most time one each, the rest neutral. */
function colourOf(step: StepWire): Map<string, number> {
  const total = new Map<string, number>();
  for (const lane of step.lanes) for (const [, dur, name] of lane.slices) total.set(name, (total.get(name) ?? 0) + dur);
  const order = [...total].sort((a, b) => b[1] - a[1]).slice(0, 11);
  return new Map(order.map(([name], at) => [name, at + 1]));
}

function ruler(
  ctx: Pen,
  theme: RanksTheme,
  step: StepWire,
  left: number,
  width: number,
  height: number,
  scale: number,
): void {
  ctx.fillStyle = theme.bg1;
  ctx.fillRect(0, 0, width, RULER);
  ctx.fillStyle = theme.line1;
  ctx.fillRect(0, RULER - 1, width, 1);
  const raw = 110 / scale;
  const power = 10 ** Math.floor(Math.log10(raw));
  const every = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= raw) ?? raw;
  ctx.font = `11px ${theme.font}`;
  ctx.textAlign = "left";
  for (let moment = 0; moment <= step.dur_ns; moment += every) {
    const x = Math.round(left + moment * scale);
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
  ctx.font = `10px ${font}`;
  const letters = Math.floor((width - 8) / ctx.measureText("m").width);
  if (letters < 3) return;
  ctx.fillStyle = colour;
  ctx.textAlign = "left";
  ctx.fillText(text.length > letters ? `${text.slice(0, letters - 1)}…` : text, x + 4, y + height / 2 + 0.5);
}

function hatched(ctx: Pen, theme: RanksTheme, x: number, y: number, width: number, text: string): void {
  if (width < 1) return;
  ctx.strokeStyle = theme.fg3;
  ctx.lineWidth = 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, width, TALK);
  ctx.clip();
  ctx.globalAlpha = 0.5;
  for (let at = x - TALK; at < x + width; at += 5) {
    ctx.beginPath();
    ctx.moveTo(at, y + TALK);
    ctx.lineTo(at + TALK, y);
    ctx.stroke();
  }
  ctx.restore();
  ctx.strokeRect(Math.round(x) + 0.5, y + 0.5, Math.max(Math.round(width) - 1, 1), TALK - 1);
  ctx.font = `10px ${theme.font}`;
  const wide = ctx.measureText(text).width;
  if (width < wide + 12) return;
  ctx.fillStyle = theme.bg0;
  ctx.fillRect(x + 4, y + 2, wide + 4, TALK - 4);
  ctx.fillStyle = theme.fg1;
  ctx.textAlign = "left";
  ctx.fillText(text, x + 6, y + TALK / 2 + 0.5);
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
