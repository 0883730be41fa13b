/** Draws a tape: ruler, signals, lanes with marks or columns, arrows between them, names. */
import {
  CLEAR,
  columnBox,
  columnsOf,
  eventNames,
  radius,
  RULER,
  signalHeight,
  stackY,
  type Column,
  type LaneBox,
} from "../layout/tape_lanes.ts";
import { endOf, isWall, type Way } from "../layout/tape_arrows.ts";
import type { Span } from "../layout/span.ts";
import type { TapeAxis } from "../layout/tape_axis.ts";
import { FAILED, type MessageWire, type TapeWindow, type TapeWire } from "../wire/tape.ts";
import { familyColours, type FamilyColour } from "./tape_colours.ts";
import { drawEdges, drawRuler, drawVeil, flagOf, font } from "./tape_ruler.ts";
import { shape } from "./tape_shapes.ts";
import { drawSignalNames, drawSpans } from "./tape_signals.ts";
import { readTheme, type Theme } from "./theme.ts";

/** px of a column at most. */
const WIDEST_COLUMN = 12;

export interface TapeTheme extends Theme {
  grid: string;
  error: string;
  families: FamilyColour[];
}

export interface TapePicture {
  tape: TapeWire;
  window: TapeWindow | null;
  axis: TapeAxis;
  u0: number;
  u1: number;
  boxes: Map<number, LaneBox>;
  scroll: number;
  selected: MessageWire | null;
  /** Times that the user selected. */
  range: Span | null;
  flows: boolean;
  signals: boolean;
  sizes: boolean;
}

/** What was drawn, for hovering and for saying what is missing. */
export interface Drawn {
  marks: { x: number; y: number; r: number; index: number }[];
  arrows: { x0: number; y0: number; x1: number; y1: number; index: number }[];
  columns: { x: number; width: number; y: number; height: number; column: Column }[];
  lines: { x: number; index: number; end: boolean }[];
  /** Names that found no room. */
  left: number;
  /** Only the ends of arrows are drawn. */
  ends: boolean;
  /** Events that are in columns and in sight. */
  inColumns: number;
}

export function readTapeTheme(element: Element, tape: TapeWire): TapeTheme {
  const theme = readTheme(element);
  const token = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  return {
    ...theme,
    grid: token("--grid"),
    error: token("--error"),
    families: familyColours(tape, theme.bg0, theme.edge),
  };
}

/** Height of what stands above the lanes. */
export function tapeTop(picture: TapePicture): number {
  return RULER + (picture.signals ? signalHeight(picture.tape.signals) : 0);
}

export function drawTape(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: TapePicture,
  theme: TapeTheme,
): Drawn {
  const { axis, u0, u1 } = picture;
  const x = (time: number): number => ((axis.toU(time) - u0) / (u1 - u0)) * width;
  const top = tapeTop(picture);
  const drawn: Drawn = { marks: [], arrows: [], columns: [], lines: [], left: 0, ends: false, inColumns: 0 };
  g.fillStyle = theme.bg0;
  g.fillRect(0, 0, width, height);
  g.textBaseline = "middle";
  g.textAlign = "left";
  const ticks = axis.ticks(u0, u1, width).map(({ u, text }) => ({ x: ((u - u0) / (u1 - u0)) * width, text }));
  g.save();
  g.beginPath();
  g.rect(0, top, width, height - top);
  g.clip();
  g.fillStyle = theme.grid;
  for (const tick of ticks) g.fillRect(Math.round(tick.x), top, 1, height - top);
  g.translate(0, top - picture.scroll);
  drawLanes(g, width, picture, theme);
  g.restore();
  if (picture.range) drawVeil(g, height, x, picture.range, theme);
  if (picture.signals) drawSpans(g, width, height, x, picture, theme, drawn);
  drawFolds(g, width, height, picture, theme);
  if (picture.window) {
    g.save();
    g.beginPath();
    g.rect(0, top, width, height - top);
    g.clip();
    g.translate(0, top - picture.scroll);
    if (picture.flows) drawArrows(g, width, x, picture, theme, drawn);
    drawColumns(g, width, x, picture, theme, drawn);
    drawBars(g, width, x, picture, theme);
    drawMarks(g, width, x, picture, theme, drawn);
    drawSelected(g, x, picture, theme, drawn);
    drawNames(g, width, x, picture, theme, drawn);
    g.restore();
  }
  if (picture.range) drawEdges(g, height, x, picture.range, theme);
  drawRuler(g, width, ticks, picture.range && flagOf(g, width, x, picture.range, theme), theme);
  if (picture.signals) drawSignalNames(g, width, x, picture, theme, drawn);
  return drawn;
}

function drawLanes(g: CanvasRenderingContext2D, width: number, picture: TapePicture, theme: TapeTheme): void {
  for (const box of picture.boxes.values()) {
    g.fillStyle = theme.line1;
    g.fillRect(0, box.y0, width, 1);
    g.fillStyle = theme.grid;
    g.fillRect(0, Math.round(box.y), width, 1);
  }
}

function drawFolds(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: TapePicture,
  theme: TapeTheme,
): void {
  const { axis, u0, u1 } = picture;
  font(g, theme, 10);
  for (const fold of axis.folds) {
    const [a, b] = [fold.u0, fold.u1].map((u) => ((u - u0) / (u1 - u0)) * width) as [number, number];
    if (b < 0 || a > width) continue;
    g.fillStyle = theme.bg3;
    g.globalAlpha = 0.6;
    g.fillRect(a, RULER, b - a, height);
    g.globalAlpha = 1;
    const text = `${(fold.ns / 1e9).toFixed(2)} s folded`;
    if (b - a > g.measureText(text).width + 6) {
      g.fillStyle = theme.fg3;
      g.fillText(text, (a + b) / 2 - g.measureText(text).width / 2, height - 10);
    }
  }
}

function drawArrows(
  g: CanvasRenderingContext2D,
  width: number,
  x: (time: number) => number,
  picture: TapePicture,
  theme: TapeTheme,
  drawn: Drawn,
): void {
  const { arrows } = picture.window!;
  const ways: (Way & { index: number; down: boolean; back: boolean; room: number })[] = [];
  for (let i = 0; i < arrows.count.length; i++) {
    const a = picture.boxes.get(arrows.source[i]!);
    const b = picture.boxes.get(arrows.target[i]!);
    if (!a || !b) continue;
    const down = b.y0 > a.y0;
    const sign = down ? 1 : -1;
    const shift = down ? -3 : 3;
    const x0 = Math.round(x(arrows.start[i]!) + shift) + 0.5;
    const x1 = Math.round(x(arrows.end[i]!) + shift) + 0.5;
    if (Math.max(x0, x1) < -10 || Math.min(x0, x1) > width + 10) continue;
    const y0 = a.y + sign * (CLEAR / 2) * a.height;
    const y1 = b.y - sign * (CLEAR / 2) * b.height;
    const back = b.kind === "dispatcher";
    ways.push({
      x0,
      y0,
      x1,
      y1,
      width: 1 + Math.log2(arrows.count[i]!) * 0.5,
      index: i,
      down,
      back,
      room: (back ? a : b).height / 3,
    });
  }
  const last = [...picture.boxes.values()].at(-1);
  drawn.ends = last !== undefined && isWall(ways, width, last.y0 + last.height);
  for (const whole of ways) {
    const way = drawn.ends ? endOf(whole, whole.back, whole.room) : whole;
    drawn.arrows.push(way);
    arrow(g, way.x0, way.y0, way.x1, way.y1, way.width, way.down ? theme.edge : theme.fg4);
  }
}

function arrow(
  g: CanvasRenderingContext2D,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  width: number,
  colour: string,
): void {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
  g.strokeStyle = g.fillStyle = colour;
  g.lineWidth = Math.min(width, 6);
  g.beginPath();
  g.moveTo(x0, y0);
  g.lineTo(x1 - dx * 4, y1 - dy * 4);
  g.stroke();
  const half = 2.6 + width * 0.5;
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x1 - dx * 6 - dy * half, y1 - dy * 6 + dx * half);
  g.lineTo(x1 - dx * 6 + dy * half, y1 - dy * 6 - dx * half);
  g.fill();
}

/** So many events that marks would be mud: height is how many, colour what. */
function drawColumns(
  g: CanvasRenderingContext2D,
  width: number,
  x: (time: number) => number,
  picture: TapePicture,
  theme: TapeTheme,
  drawn: Drawn,
): void {
  const { columns: rows, cell } = picture.window!;
  const { columns, most } = columnsOf(rows);
  for (const column of columns) {
    const box = picture.boxes.get(column.lane);
    let [x0, x1] = [x(column.start), x(column.start + cell)];
    // a moment of the clock that is wide on the screen stands where its marks would, not as long as something that
    // lasted
    if (x1 - x0 > WIDEST_COLUMN) [x0, x1] = [x0 - WIDEST_COLUMN / 2, x0 + WIDEST_COLUMN / 2];
    if (!box || x1 < 0 || x0 > width) continue;
    const { height, foot } = columnBox(box, column.total, most.get(column.lane)!);
    const wide = Math.max(1, x1 - x0 - 0.6);
    let y = foot;
    for (let i = column.from; i < column.to; i++) {
      const colour = theme.families[rows.family[i]!]!;
      const part = (height * rows.count[i]!) / column.total;
      g.fillStyle = colour.fill;
      g.globalAlpha = colour.area;
      g.fillRect(x0, y - part, wide, part);
      y -= part;
    }
    g.globalAlpha = 1;
    drawn.inColumns += column.total;
    drawn.columns.push({ x: x0, width: Math.max(x1 - x0, 2), y: foot - height, height, column });
  }
}

/** Durations that the tape knows, on the workers' lanes. */
function drawBars(
  g: CanvasRenderingContext2D,
  width: number,
  x: (time: number) => number,
  picture: TapePicture,
  theme: TapeTheme,
): void {
  const { marks } = picture.window!;
  for (let i = 0; i < marks.seq.length; i++) {
    const box = picture.boxes.get(marks.lane[i]!);
    if (!box || box.kind !== "worker" || marks.dur[i]! <= 0) continue;
    const [x0, x1] = [x(marks.time[i]!), x(marks.time[i]! + marks.dur[i]!)];
    if (x1 < 0 || x0 > width) continue;
    const height = Math.min(14, 0.3 * box.height);
    g.globalAlpha = 0.45;
    g.fillStyle = theme.families[marks.family[i]!]!.fill;
    g.fillRect(x0, box.y - height / 2, Math.max(x1 - x0, 0.7), height);
  }
  g.globalAlpha = 1;
}

function drawMarks(
  g: CanvasRenderingContext2D,
  width: number,
  x: (time: number) => number,
  picture: TapePicture,
  theme: TapeTheme,
  drawn: Drawn,
): void {
  const { marks } = picture.window!;
  for (let i = 0; i < marks.seq.length; i++) {
    const box = picture.boxes.get(marks.lane[i]!);
    const at = x(marks.time[i]!);
    if (!box || at < -12 || at > width + 12) continue;
    drawn.marks.push({
      x: at,
      y: stackY(box, marks.place[i]!, marks.many[i]!),
      r: radius(marks.size[i]!, picture.tape.largest, box.height),
      index: i,
    });
  }
  // large ones first: a small one is never hidden
  drawn.marks.sort((a, b) => b.r - a.r || a.index - b.index);
  for (const { x: at, y, r, index } of drawn.marks) {
    mark(g, picture, theme, marks.event[index]!, marks.family[index]!, at, y, r);
    if ((marks.flags[index]! & FAILED) !== 0) {
      g.strokeStyle = theme.error;
      g.lineWidth = 1.5;
      g.beginPath();
      g.arc(at, y, r + 3, 0, 7);
      g.stroke();
    }
  }
}

function mark(
  g: CanvasRenderingContext2D,
  picture: TapePicture,
  theme: TapeTheme,
  event: number,
  family: number,
  x: number,
  y: number,
  r: number,
): void {
  const colour = theme.families[family]!;
  shape(g, picture.tape.kinds[event]!.shape, x, y, r);
  g.lineWidth = 2;
  g.strokeStyle = theme.bg0;
  g.stroke();
  g.globalAlpha = colour.alpha;
  g.fillStyle = colour.fill;
  g.fill();
  g.globalAlpha = 1;
  if (colour.outline !== null) {
    g.lineWidth = 1;
    g.strokeStyle = colour.outline;
    g.stroke();
  }
}

/** The selected message with its way; where it is part of a column, its mark stands before the column. */
function drawSelected(
  g: CanvasRenderingContext2D,
  x: (time: number) => number,
  picture: TapePicture,
  theme: TapeTheme,
  drawn: Drawn,
): void {
  const { selected, boxes } = picture;
  const box = selected && boxes.get(selected.lane);
  if (!selected || !box) return;
  const found = drawn.marks.find(({ index }) => picture.window!.marks.seq[index] === selected.seq);
  const at = found ?? {
    x: x(selected.time),
    y: box.y,
    r: Math.max(4, radius(selected.size, picture.tape.largest, box.height)),
  };
  const [a, b] = [boxes.get(selected.source), boxes.get(selected.target)];
  if (a && b && a !== b && picture.flows) {
    const sign = b.y0 > a.y0 ? 1 : -1;
    // a worker reports what it computed when it is done
    const when = picture.tape.kinds[selected.event]!.name === "COMPUTE" ? x(selected.time + selected.dur) : at.x;
    arrow(
      g,
      when,
      a === box ? at.y + sign * (at.r + 6) : a.y,
      when,
      b === box ? at.y - sign * (at.r + 6) : b.y,
      2,
      theme.accent,
    );
  }
  if (!found) mark(g, picture, theme, selected.event, selected.family, at.x, at.y, at.r);
  shape(g, picture.tape.kinds[selected.event]!.shape, at.x, at.y, at.r + 3.5);
  g.lineWidth = 4;
  g.strokeStyle = theme.bg0;
  g.stroke();
  g.lineWidth = 2;
  g.strokeStyle = theme.fg1;
  g.stroke();
}

function drawNames(
  g: CanvasRenderingContext2D,
  width: number,
  x: (time: number) => number,
  picture: TapePicture,
  theme: TapeTheme,
  drawn: Drawn,
): void {
  const { tape } = picture;
  const { marks } = picture.window!;
  const asks = tape.kinds.findIndex((kind) => kind.name === "RECV");
  const text = (i: number): string => {
    const op = tape.ops[marks.op[i]!] ?? "";
    return `#${marks.seq[i]!} ${op.length > 18 ? `${op.slice(0, 17)}…` : op}`;
  };
  font(g, theme, 10);
  const names = eventNames(
    marks,
    picture.boxes,
    asks,
    tape.families.map(({ name }) => name),
    x,
    width,
    text,
    (label) => g.measureText(label).width,
  );
  drawn.left += names.left;
  for (const name of names.placed) halo(g, name.text, name.x, name.y, theme.fg2, theme);
  if (picture.sizes) drawSizes(g, width, picture, theme, drawn);
}

/** Sizes of the largest messages beside their marks. */
function drawSizes(
  g: CanvasRenderingContext2D,
  width: number,
  picture: TapePicture,
  theme: TapeTheme,
  drawn: Drawn,
): void {
  const { marks } = picture.window!;
  const large = drawn.marks
    .filter(({ index }) => marks.size[index]! >= Math.max(1024, picture.tape.largest / 256))
    .slice(0, 60);
  large.sort((a, b) => marks.size[b.index]! - marks.size[a.index]!);
  const taken: [number, number, number, number][] = [];
  for (const { x, y, r, index } of large) {
    const size = marks.size[index]!;
    const text = size < 1e6 ? `${(size / 1e3).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;
    const w = g.measureText(text).width;
    const box: [number, number, number, number] = [x + r + 3, y - 6, x + r + 5 + w, y + 6];
    if (box[2] > width || taken.some((o) => box[0] < o[2] && box[2] > o[0] && box[1] < o[3] && box[3] > o[1])) continue;
    taken.push(box);
    halo(g, text, box[0], y, theme.changed, theme);
  }
}

function halo(g: CanvasRenderingContext2D, text: string, x: number, y: number, colour: string, theme: TapeTheme): void {
  g.lineWidth = 3;
  g.lineJoin = "round";
  g.strokeStyle = theme.bg0;
  g.strokeText(text, x, y + 0.5);
  g.fillStyle = colour;
  g.fillText(text, x, y + 0.5);
}
