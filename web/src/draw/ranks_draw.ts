/** Paints the map of ranks by steps. */
import { duration } from "../base/format.ts";
import { heatOf, isOver, type HeatModel } from "../data/ranks.ts";
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
  const row = model.rows > 64 ? (low ? 3 : 4) : model.rows > 20 ? (low ? 3 : 6) : low && model.rows > 8 ? 10 : 14;
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

/** The column at x, the first or last one beyond them. */
export function columnNear(model: HeatModel, place: HeatPlace, x: number): number {
  return Math.max(0, Math.min(model.columns - 1, Math.floor((x - place.left) / place.cell)));
}

/** What is outlined in the map. */
export interface HeatMarks {
  step: number;
  rank: number;
  /** First and last column of the selected steps. */
  range: readonly [number, number] | null;
}

export function drawHeat(
  ctx: Pen,
  theme: RanksTheme,
  model: HeatModel,
  place: HeatPlace,
  size: { width: number; height: number },
  chosen: HeatMarks,
  cells: (ctx: Pen) => void = (pen) => drawCells(pen, theme, model, place),
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
  const marked = chosen.range ?? (column < 0 ? null : ([column, column] as const));
  ticks(ctx, theme, model, place, marked);
  cells(ctx);
  rowLabels(ctx, theme, model, place, size.width, chosen.rank);
  const tall = model.rows * high + 1;
  if (chosen.range) outside(ctx, theme, model, place, chosen.range);
  if (marked) {
    const [from, to] = marked;
    outline(ctx, theme.bg0, theme.accent, left + from * cell - 1, top - 1, (to - from + 1) * cell + 1, tall);
  }
  const own = model.row(chosen.rank);
  if (column >= 0 && own >= 0)
    outline(ctx, theme.bg0, theme.fg1, left + column * cell - 1, top + own * high - 1, cell + 1, high + 1);
}

/** Steps that are not selected step back. */
function outside(
  ctx: Pen,
  theme: RanksTheme,
  model: HeatModel,
  place: HeatPlace,
  [from, to]: readonly [number, number],
): void {
  const { left, top, cell } = place;
  const tall = model.rows * place.row;
  ctx.save();
  ctx.globalAlpha = 0.6;
  ctx.fillStyle = theme.bg0;
  ctx.fillRect(left, top, from * cell, tall);
  ctx.fillRect(left + (to + 1) * cell, top, (model.columns - to - 1) * cell, tall);
  ctx.restore();
}

/** The cells alone: what does not change while one walks over them. */
export function drawCells(ctx: Pen, theme: RanksTheme, model: HeatModel, place: HeatPlace): void {
  const { left, top, cell, row: high } = place;
  const wide = cell > 3 ? cell - 1 : cell;
  const tall = high > 4 ? high - 1 : high - 0.5;
  const byHeat: number[][] = [[], [], [], [], [], []];
  for (let at = 0; at < model.values.length; at++) byHeat[heatOf(model.values[at]!, model.metric) + 1]!.push(at);
  byHeat.forEach((cells, heat) => {
    ctx.fillStyle = heat === 0 ? theme.line2 : theme.heat[heat - 1]!;
    for (const at of cells) {
      const x = left + (at % model.columns) * cell;
      const y = top + Math.floor(at / model.columns) * high;
      if (heat === 0) ctx.fillRect(x, y + tall / 2 - 0.5, Math.max(wide / 2, 1), 1);
      else ctx.fillRect(x, y, wide, tall);
    }
  });
}

function ticks(
  ctx: Pen,
  theme: RanksTheme,
  model: HeatModel,
  place: HeatPlace,
  marked: readonly [number, number] | null,
): void {
  const { left, cell } = place;
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((step) => step * cell >= 44) ?? 1000;
  ctx.textAlign = "center";
  const text = marked && model.stepsText(...marked);
  const wide = text === null ? 0 : ctx.measureText(text).width + 10;
  const middle = marked ? left + ((marked[0] + marked[1] + 1) / 2) * cell : 0;
  const most = Math.max(left + model.columns * cell - wide / 2, left + wide / 2);
  const x = Math.min(Math.max(left + wide / 2, middle), most);
  ctx.fillStyle = theme.fg2;
  for (let at = 0; at < model.columns; at += every) {
    const tick = left + (at + 0.5) * cell;
    if (text === null || Math.abs(tick - x) >= wide / 2 + 16) ctx.fillText(String(model.head.steps[at]), tick, 11);
  }
  if (text === null) return;
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
  const room = Math.max(place.right - 66, 8); // the longest bar has its figure beside it too
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
