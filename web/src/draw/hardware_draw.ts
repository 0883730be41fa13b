/** Draws a hardware trace: occupancy, ruler, waves, units, every wave, the shader clock. */
import { counted } from "../base/format.ts";
import {
  busyShares,
  HEAD,
  NARROW,
  OCCUPANCY_HEAD,
  occupancyHeight,
  RULER,
  tickStep,
  type Row,
} from "../layout/hardware_rows.ts";
import type { LaneEvents, OccupancyWire, TraceWire } from "../wire/hardware.ts";
import type { Theme } from "./theme.ts";

/** Data colours of the classes VALU, SALU, LDS, VMEM, SMEM, wait, jump, other. */
export const CLASS_COLOURS = [2, 11, 7, 9, 4, 5, 10, 12];

export interface HardwarePicture {
  trace: TraceWire;
  occupancy: OccupancyWire | null;
  row: number;
  rows: Row[];
  scroll: number;
  t0: number;
  t1: number;
  lanes: Map<number, LaneEvents>;
  focus: { lane: number; start: number; end: number } | null;
  linked: { lane: number; start: number; end: number } | null;
  selected: number;
  /** Nanoseconds a cycle, 0 when the trace has no clock samples. */
  cycle: number;
  /** Whether the occupancy is folded away. */
  folded: boolean;
}

/** Height of what stands above the scrolled lanes. */
export function topHeight(picture: HardwarePicture): number {
  return OCCUPANCY_HEAD + occupancyRoom(picture) + RULER;
}

/** Height of the engines' occupancy; none when it is folded. */
export function occupancyRoom(picture: HardwarePicture): number {
  const engines = picture.occupancy?.engines.length ?? 0;
  return picture.folded ? 0 : engines * occupancyHeight(engines);
}

export function drawHardware(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: HardwarePicture,
  theme: Theme,
): void {
  g.fillStyle = theme.bg0;
  g.fillRect(0, 0, width, height);
  g.textBaseline = "middle";
  const x = (cycle: number): number => HEAD + ((cycle - picture.t0) / (picture.t1 - picture.t0)) * (width - HEAD);
  const top = topHeight(picture);
  g.save();
  g.beginPath();
  g.rect(0, top, width, height - top);
  g.clip();
  drawStalls(g, x, top, height, picture, theme);
  drawGrid(g, x, width, top, height, picture, theme);
  for (const row of picture.rows) {
    const y = top + row.y - picture.scroll;
    if (y > height || y + row.height < top) continue;
    drawRow(g, row, y, x, width, picture, theme);
  }
  drawLosses(g, x, top, height, picture, theme);
  drawFocus(g, x, top, picture, theme);
  g.restore();
  drawOccupancy(g, width, picture, theme);
  drawRuler(g, x, width, top - RULER, picture, theme);
  g.fillStyle = theme.line1;
  g.fillRect(HEAD - 1, 0, 1, height);
}

function font(g: CanvasRenderingContext2D, theme: Theme, size = 11, weight = 400): void {
  g.font = `${weight} ${size}px ${theme.ui}`;
}

function head(
  g: CanvasRenderingContext2D,
  y: number,
  height: number,
  label: string,
  note: string,
  bold: boolean,
  selected: boolean,
  theme: Theme,
): void {
  g.fillStyle = selected ? theme.accentBg : theme.bg1;
  g.fillRect(0, y, HEAD, height);
  g.fillStyle = theme.line1;
  g.fillRect(0, y, HEAD, 1);
  font(g, theme, bold ? 11 : 12, bold ? 600 : 400);
  g.fillStyle = bold ? theme.fg2 : theme.fg1;
  g.textAlign = "left";
  g.fillText(label, 10, y + height / 2 + 0.5, HEAD - 60);
  font(g, theme, 11);
  g.fillStyle = theme.fg3;
  g.textAlign = "right";
  g.fillText(note, HEAD - 10, y + height / 2 + 0.5);
  g.textAlign = "left";
}

function drawGrid(
  g: CanvasRenderingContext2D,
  x: (c: number) => number,
  width: number,
  top: number,
  bottom: number,
  picture: HardwarePicture,
  theme: Theme,
): void {
  const step = tickStep((picture.t1 - picture.t0) / (width - HEAD), 90);
  g.fillStyle = theme.line1;
  const { first } = wholeSpan(picture);
  for (let c = first + Math.ceil((picture.t0 - first) / step) * step; c < picture.t1; c += step)
    g.fillRect(Math.round(x(c)), top, 1, bottom - top);
}

function drawRow(
  g: CanvasRenderingContext2D,
  row: Row,
  y: number,
  x: (c: number) => number,
  width: number,
  picture: HardwarePicture,
  theme: Theme,
): void {
  const selected = row.lane >= 0 && row.lane === picture.selected;
  if (row.lane < 0 && row.group !== "clock") {
    g.fillStyle = theme.bg1;
    g.fillRect(HEAD, y, width - HEAD, row.height);
    g.fillStyle = theme.line1;
    g.fillRect(HEAD, y, width - HEAD, 1);
    const folded = !picture.rows.some((other) => other.group === row.group && other.lane >= 0);
    head(g, y, row.height, `${folded ? "▸" : "▾"} ${row.label}`, row.note, true, false, theme);
    return;
  }
  g.fillStyle = theme.line1;
  g.fillRect(HEAD, y, width - HEAD, 1);
  const events = picture.lanes.get(row.lane);
  g.save();
  g.beginPath();
  g.rect(HEAD, y, width - HEAD, row.height);
  g.clip();
  if (row.group === "clock") drawClock(g, y, row.height, x, picture, theme);
  else if (events && row.group === "waves") drawWave(g, y, row.height, x, events, theme);
  else if (events && row.group === "units") drawUnit(g, y, row.height, x, events, width, theme);
  else if (events) drawAll(g, y, row.height, x, events, theme);
  g.restore();
  head(g, y, row.height, row.label, row.note, false, selected, theme);
}

/** What issues is a solid tick; waiting is a line that says how long. */
function drawWave(
  g: CanvasRenderingContext2D,
  y: number,
  height: number,
  x: (c: number) => number,
  events: LaneEvents,
  theme: Theme,
): void {
  font(g, theme, 10);
  const middle = y + height / 2;
  const tickWidth = (i: number): number => issued(x(events.end[i]!) - x(events.start[i]!));
  for (let i = 0; i < events.start.length; i++) {
    const from = x(events.start[i]!);
    if (i > 0) {
      const before = events.start[i - 1]!;
      const a = Math.max(x(before) + tickWidth(i - 1) + 2, HEAD + 2);
      const b = from - 2;
      if (events.start[i]! - before > 6 && b > a && events.weight[i]! < 4) {
        g.fillStyle = theme.fg4;
        g.fillRect(a, Math.round(middle), b - a, 1);
        const text = `wait ${events.start[i]! - before - 1}`;
        const size = g.measureText(text).width;
        if (b - a > size + 14) {
          g.fillStyle = theme.bg0;
          g.fillRect((a + b) / 2 - size / 2 - 3, middle - 6, size + 6, 12);
          g.fillStyle = theme.fg3;
          g.fillText(text, (a + b) / 2 - size / 2, middle + 0.5);
        }
      }
    }
    g.fillStyle = theme.cat[CLASS_COLOURS[events.kind[i]!] ?? 12]!;
    g.fillRect(from, y + 8, tickWidth(i), height - 16);
  }
}

/** Width of the tick of an instruction that was issued for so many px. */
function issued(length: number): number {
  return Math.max(2, Math.min(length - 0.5, 40));
}

/** What is narrow is merged per pixel: as high and as strong as the share of the pixel that is busy, so idle shows. */
function drawUnit(
  g: CanvasRenderingContext2D,
  y: number,
  height: number,
  x: (c: number) => number,
  events: LaneEvents,
  width: number,
  theme: Theme,
): void {
  const tall = height - 14;
  const perPixel = 1 / (x(1) - x(0));
  const begins: number[][] = [[], []];
  const cycles: number[][] = [[], []];
  let kind = 12;
  for (let i = 0; i < events.start.length; i++) {
    const from = x(events.start[i]!);
    const wide = x(events.end[i]!) - from;
    const pale = events.weight[i]! & 1;
    if (wide < NARROW) {
      begins[pale]!.push(from - HEAD);
      cycles[pale]!.push(events.busy[i]!);
      kind = CLASS_COLOURS[events.kind[i]!] ?? 12;
      continue;
    }
    g.fillStyle = theme.cat[CLASS_COLOURS[events.kind[i]!] ?? 12]!;
    g.globalAlpha = pale ? 0.45 : 1;
    g.fillRect(from, y + 7, wide - 0.5, tall);
  }
  g.fillStyle = theme.cat[kind]!;
  const base = new Float64Array(Math.ceil(width - HEAD));
  for (const pale of [0, 1]) {
    busyShares(begins[pale]!, cycles[pale]!, perPixel, base.length).forEach((share, at) => {
      if (share <= 0) return;
      const own = Math.min(Math.max(3, share * tall), tall - base[at]!);
      g.globalAlpha = (pale ? 0.45 : 1) * (0.55 + 0.45 * share);
      g.fillRect(HEAD + at, y + 7 + tall - base[at]! - own, 1, own);
      base[at] = base[at]! + own;
    });
  }
  g.globalAlpha = 1;
}

/** Lives of waves, one thin line per slot. */
function drawAll(
  g: CanvasRenderingContext2D,
  y: number,
  height: number,
  x: (c: number) => number,
  events: LaneEvents,
  theme: Theme,
): void {
  let slots = 1;
  for (const slot of events.op) slots = Math.max(slots, slot + 1);
  const room = Math.min((height - 6) / slots, 10);
  const top = y + (height - slots * room) / 2;
  g.fillStyle = theme.cat[9]!;
  for (let i = 0; i < events.start.length; i++) {
    const from = Math.max(x(events.start[i]!), HEAD);
    g.globalAlpha = events.weight[i]! & 1 ? 0.4 : 0.85;
    g.fillRect(from, top + events.op[i]! * room, Math.max(1, x(events.end[i]!) - from), Math.max(1, room - 0.5));
  }
  g.globalAlpha = 1;
}

function drawClock(
  g: CanvasRenderingContext2D,
  y: number,
  height: number,
  x: (c: number) => number,
  picture: HardwarePicture,
  theme: Theme,
): void {
  const { cycle, tick } = picture.trace.clock;
  const rates: number[] = [];
  for (let i = 1; i < cycle.length; i++) rates.push((cycle[i]! - cycle[i - 1]!) / Math.max(1, tick[i]! - tick[i - 1]!));
  const most = Math.max(...rates, 1e-9);
  g.strokeStyle = theme.cat[9]!;
  g.lineWidth = 1.2;
  g.beginPath();
  rates.forEach((rate, i) => {
    const level = y + height - 5 - (rate / most) * (height - 12);
    g.lineTo(x(cycle[i]!), level);
    g.lineTo(x(cycle[i + 1]!), level);
  });
  g.stroke();
}

/** Where the trace stood still: a veil under the lanes. */
function drawStalls(
  g: CanvasRenderingContext2D,
  x: (c: number) => number,
  top: number,
  bottom: number,
  picture: HardwarePicture,
  theme: Theme,
): void {
  g.fillStyle = theme.changedBg;
  for (const [from, to] of picture.trace.stalls) g.fillRect(x(from), top, Math.max(1, x(to) - x(from)), bottom - top);
}

/** Where the trace lost packets: a line over the lanes. */
function drawLosses(
  g: CanvasRenderingContext2D,
  x: (c: number) => number,
  top: number,
  bottom: number,
  picture: HardwarePicture,
  theme: Theme,
): void {
  g.fillStyle = theme.removed;
  for (const at of picture.trace.lost) {
    const left = Math.round(x(at));
    if (left >= HEAD) g.fillRect(left, top, 1.5, bottom - top);
  }
}

function drawFocus(
  g: CanvasRenderingContext2D,
  x: (c: number) => number,
  top: number,
  picture: HardwarePicture,
  theme: Theme,
): void {
  const place = (
    mark: { lane: number; start: number; end: number } | null,
  ): { x: number; y: number; w: number; h: number } | null => {
    const row = mark && picture.rows.find((other) => other.lane === mark.lane);
    if (!mark || !row) return null;
    const inset = row.group === "waves" ? 8 : 7;
    const w = x(mark.end) - x(mark.start);
    return {
      x: x(mark.start),
      y: top + row.y - picture.scroll + inset,
      w: row.group === "waves" ? issued(w) : Math.max(3, w),
      h: row.height - 2 * inset,
    };
  };
  const from = place(picture.focus);
  if (!from) return;
  g.strokeStyle = theme.fg1;
  g.lineWidth = 2;
  g.strokeRect(from.x - 2, from.y - 2, from.w + 4, from.h + 4);
  const to = place(picture.linked);
  if (!to || !picture.focus || !picture.linked) return;
  g.strokeRect(to.x - 2, to.y - 2, to.w + 4, to.h + 4);
  const [upper, lower] = from.y < to.y ? [from, to] : [to, from];
  g.lineWidth = 1.5;
  g.beginPath();
  g.moveTo(upper.x + 1, upper.y + upper.h + 2);
  g.bezierCurveTo(upper.x + 1, lower.y - 40, lower.x + 1, upper.y + upper.h + 60, lower.x + 1, lower.y - 2);
  g.stroke();
  const text = `delay ${counted(Math.abs(picture.linked.start - picture.focus.start), "cycle")}`;
  font(g, theme, 11, 600);
  const size = g.measureText(text).width;
  const lx = (upper.x + lower.x) / 2 + 14;
  const ly = (upper.y + upper.h + lower.y) / 2;
  g.fillStyle = theme.bg4;
  g.beginPath();
  g.roundRect(lx, ly - 9, size + 12, 18, 3);
  g.fill();
  g.fillStyle = theme.fg1;
  g.fillText(text, lx + 6, ly + 0.5);
}

function drawOccupancy(g: CanvasRenderingContext2D, width: number, picture: HardwarePicture, theme: Theme): void {
  const engines = picture.occupancy?.engines ?? [];
  const { first, last } = wholeSpan(picture);
  const x = (cycle: number): number => HEAD + ((cycle - first) / (last - first)) * (width - HEAD);
  head(g, 0, OCCUPANCY_HEAD, `${picture.folded ? "▸" : "▾"} Occupancy`, "waves", true, false, theme);
  g.fillStyle = theme.bg1;
  g.fillRect(HEAD, 0, width - HEAD, OCCUPANCY_HEAD);
  const step = tickStep((last - first) / (width - HEAD), 110);
  font(g, theme, 11);
  for (let c = first; c < last; c += step) {
    const at = Math.round(x(c));
    g.fillStyle = theme.line2;
    g.fillRect(at, OCCUPANCY_HEAD - 6, 1, 6);
    g.fillStyle = theme.fg2;
    if (at < width - 60) g.fillText((c - first).toLocaleString("en-US"), at + 4, 11);
  }
  const room = occupancyRoom(picture);
  if (room === 0) return;
  const row = room / engines.length;
  const most = Math.max(1, ...engines.map((engine) => engine.value.reduce((best, value) => Math.max(best, value), 0)));
  // rows too low for a name each name the first of a handful
  const every = Math.ceil(14 / row);
  const rise = row - (row > 12 ? 5 : 1);
  engines.forEach((engine, i) => {
    const y = OCCUPANCY_HEAD + i * row;
    const selected = engine.row === picture.row;
    g.fillStyle = theme.bg0;
    g.fillRect(HEAD, y, width - HEAD, row);
    if (every === 1)
      head(g, y, row, engine.unit.replace(":", " "), engine.waves.toLocaleString("en-US"), false, selected, theme);
    else if (i % every === 0) {
      const group = engines.slice(i, i + every);
      const waves = group.reduce((sum, other) => sum + other.waves, 0).toLocaleString("en-US");
      const names = [group[0]!, group.at(-1)!].map((other) => other.unit.replace("SE:", ""));
      const own = group.some((other) => other.row === picture.row);
      head(
        g,
        y,
        row * group.length,
        `SE ${names[0] === names[1] ? names[0] : names.join("–")}`,
        waves,
        false,
        own,
        theme,
      );
    }
    const floor = y + row - (row > 12 ? 2 : 0.5);
    g.beginPath();
    let level = 0;
    g.moveTo(x(engine.time[0] ?? first), floor);
    engine.time.forEach((time, k) => {
      g.lineTo(x(time), floor - (level / most) * rise);
      level = engine.value[k]!;
      g.lineTo(x(time), floor - (level / most) * rise);
    });
    g.lineTo(x(engine.time.at(-1) ?? first), floor);
    g.fillStyle = theme.cat[engine.detail ? 9 : 12]!;
    g.globalAlpha = selected ? 0.6 : every > 1 ? 0.5 : 0.35;
    g.fill();
    g.globalAlpha = 1;
    g.fillStyle = theme.line1;
    if (i % every === 0) g.fillRect(HEAD, y, width - HEAD, 1);
  });
  const a = Math.max(HEAD, x(picture.t0));
  const b = Math.min(width, x(picture.t1));
  g.fillStyle = theme.accentVeil;
  g.fillRect(a, OCCUPANCY_HEAD, b - a, room);
  g.strokeStyle = theme.accent;
  g.lineWidth = 1;
  g.strokeRect(Math.round(a) + 0.5, OCCUPANCY_HEAD + 0.5, Math.max(2, Math.round(b - a) - 1), room - 1);
}

/** First and last cycle of all engines, so that their occupancy shares one axis. */
export function wholeSpan(picture: HardwarePicture): { first: number; last: number } {
  let { first, last } = picture.trace;
  for (const engine of picture.occupancy?.engines ?? []) {
    if (engine.time.length === 0) continue;
    first = Math.min(first, engine.time[0]!);
    last = Math.max(last, engine.time.at(-1)!);
  }
  return { first, last: Math.max(last, first + 1) };
}

function drawRuler(
  g: CanvasRenderingContext2D,
  x: (c: number) => number,
  width: number,
  y: number,
  picture: HardwarePicture,
  theme: Theme,
): void {
  g.fillStyle = theme.bg1;
  g.fillRect(0, y, width, RULER);
  g.fillStyle = theme.line1;
  g.fillRect(0, y, width, 1);
  g.fillRect(0, y + RULER - 1, width, 1);
  font(g, theme, 11, 600);
  g.fillStyle = theme.fg2;
  g.fillText("cycles", 10, y + 11);
  font(g, theme, 11);
  g.fillStyle = theme.fg3;
  g.fillText(picture.cycle > 0 ? "time" : "no clock samples", 10, y + 26);
  const { first } = wholeSpan(picture);
  const step = tickStep((picture.t1 - picture.t0) / (width - HEAD), 90);
  for (let c = first + Math.ceil((picture.t0 - first) / step) * step; c < picture.t1; c += step) {
    const at = Math.round(x(c));
    g.fillStyle = theme.line2;
    g.fillRect(at, y + RULER - 6, 1, 6);
    if (at > width - 70) continue;
    g.fillStyle = theme.fg2;
    g.fillText((c - first).toLocaleString("en-US"), at + 4, y + 11);
    if (picture.cycle <= 0) continue;
    g.fillStyle = theme.fg3;
    g.fillText(`${(((c - first) * picture.cycle) / 1000).toFixed(3)} µs`, at + 4, y + 26);
  }
}
