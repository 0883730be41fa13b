/** Draws memory over time: the ruler, the total with its peak, one band per buffer, what is folded. */
import { bufferHandle, bytes, counted } from "../base/format.ts";
import { bufferColour, byteTicks, clock, FOLDED, type BandPlan } from "../layout/memory_bands.ts";
import type { Span } from "../layout/span.ts";
import { ticks } from "../layout/timeline_scale.ts";
import type { BandColumns, MemoryWindow } from "../wire/memory.ts";
import { drawOutOfMemory, drawReserved } from "./memory_reserved_draw.ts";
import type { Theme } from "./theme.ts";
import type { Pen } from "./sheet/pen.ts";

export const LEFT = 64;
export const RIGHT = 12;
const TOP = 30;
const TOTAL = 148;
const GAP = 34;
const FOOT = 14;
const STRIP = 44;
const LABEL_HEIGHT = 13;
/** Room of the word "Total". */
const TITLE = 38;
/** Height of the band of small buffers, in the room below the floor. */
const SMALL = 3;

export interface MemoryTheme extends Theme {
  grid: string;
  /** Fill, fill when selected, and ink of each data colour. */
  fills: string[];
  inks: string[];
  selectedInks: string[];
  strip: string;
}

export interface MemoryPicture {
  span: Span;
  data: MemoryWindow | null;
  bands: BandColumns;
  plan: BandPlan;
  /** Places of the bands that are not folded, by colour, so that a colour is set once. */
  byColour: Uint32Array[];
  peak: number;
  peakTime: number;
  /** The largest total of the window when it last rested: the scale of the total. */
  highest: { time: number; value: number };
  /** Whether the bands are shown, or the total alone. */
  buffers: boolean;
  /** Whether the buffers belong to several processes. */
  several: boolean;
  selected: number;
  /** The selected buffer is one of those that are folded. */
  selectedFolded: boolean;
  cursor: { time: number; total: number | null } | null;
  /** The largest that was reserved in the window when it last rested, 0 where that is not known. */
  reserved: number;
  ooms: readonly number[];
}

export interface Frame {
  totalTop: number;
  totalBottom: number;
  bandTop: number;
  bandBottom: number;
  /** Pixels of a byte. */
  totalScale: number;
  bandScale: number;
}

/** How many buffers live through the window, and what they hold. */
export function foldedOf(picture: MemoryPicture): { count: number; bytes: number } {
  const { data, plan } = picture;
  return { count: (data?.folded ?? 0) + plan.folded, bytes: (data?.foldedBytes ?? 0) + plan.foldedBytes };
}

/** Where things are on a canvas of that size. */
export function frameOf(picture: MemoryPicture, height: number): Frame {
  const share = picture.buffers
    ? Math.min(TOTAL, Math.max(60, (height - TOP - GAP) * 0.3))
    : Math.max(60, height - TOP - FOOT - 10);
  const totalBottom = TOP + share;
  const bandTop = totalBottom + GAP;
  const floor = height - FOOT - (foldedOf(picture).count > 0 ? STRIP + SMALL + 1 : 0);
  return {
    totalTop: TOP,
    totalBottom,
    bandTop,
    bandBottom: floor,
    totalScale: (share - 22) / Math.max(1, picture.highest.value, picture.reserved),
    bandScale: Math.max(1, floor - bandTop - 6) / Math.max(1, picture.plan.height),
  };
}

export function xOf(time: number, span: Span, width: number): number {
  return LEFT + ((time - span.t0) / (span.t1 - span.t0)) * (width - LEFT - RIGHT);
}

/** A band's place on the canvas, cut to the window; null when it is outside. */
export function bandBox(
  i: number,
  picture: MemoryPicture,
  frame: Frame,
  width: number,
): { x: number; y: number; w: number; h: number } | null {
  const { bands, plan, span } = picture;
  const x0 = Math.max(LEFT, Math.round(xOf(bands.alloc[i]!, span, width)));
  const x1 = Math.min(
    width - RIGHT,
    Math.max(x0 + 1, Math.round(xOf(Math.min(bands.free[i]!, span.t1 + 1), span, width))),
  );
  if (
    x1 <= LEFT ||
    x0 >= width - RIGHT ||
    bands.free[i]! < span.t0 ||
    bands.alloc[i]! > span.t1 ||
    Number.isNaN(plan.low[i]!)
  )
    return null;
  const bottom = Math.round(frame.bandBottom - plan.low[i]! * frame.bandScale);
  const top = Math.min(bottom - 1, Math.round(frame.bandBottom - (plan.low[i]! + bands.bytes[i]!) * frame.bandScale));
  return { x: x0, y: top, w: x1 - x0, h: bottom - top };
}

export function drawMemory(g: Pen, width: number, height: number, picture: MemoryPicture, theme: MemoryTheme): void {
  const frame = frameOf(picture, height);
  g.fillStyle = theme.bg0;
  g.fillRect(0, 0, width, height);
  g.textBaseline = "middle";
  const flag = flagOf(g, width, picture, theme);
  drawRuler(g, width, height, picture, theme, flag);
  drawAxes(g, width, frame, picture, theme);
  g.save();
  g.beginPath();
  g.rect(LEFT, 0, width - LEFT - RIGHT, height);
  g.clip();
  drawStrip(g, width, height, picture, theme);
  g.beginPath();
  g.rect(LEFT, frame.bandTop - 4, width - LEFT - RIGHT, height);
  g.rect(LEFT, 0, width - LEFT - RIGHT, frame.totalBottom + 1);
  g.clip();
  drawReserved(g, width, frame, picture, theme);
  drawTotal(g, width, frame, picture, theme);
  drawOutOfMemory(g, width, frame, picture, theme);
  if (picture.buffers) drawBands(g, width, frame, picture, theme);
  g.restore();
  if (flag) drawCursor(g, height, frame, picture, theme, flag);
  drawPeak(g, width, frame, picture, theme, flag !== null);
}

function font(g: Pen, theme: Theme, size = 11, weight = 400, mono = false): void {
  g.font = `${weight} ${size}px ${mono ? theme.mono : theme.ui}`;
}

function drawRuler(
  g: Pen,
  width: number,
  height: number,
  picture: MemoryPicture,
  theme: MemoryTheme,
  flag: Flag | null,
): void {
  const found = ticks(picture.span, width - LEFT - RIGHT, 84);
  font(g, theme);
  g.textAlign = "left";
  for (const time of found.times) {
    const x = Math.round(xOf(time, picture.span, width));
    if (x < LEFT || x > width - RIGHT) continue;
    g.fillStyle = theme.grid;
    g.fillRect(x, TOP, 1, height - TOP - FOOT);
    const text = time === 0 ? "0" : `${found.label(time)} ${found.unit}`;
    g.fillStyle = theme.fg2;
    const end = x + 4 + g.measureText(text).width;
    if (end < width - 4 && !(flag && x - 2 < flag.left + flag.width && end + 6 > flag.left))
      g.fillText(text, x + 4, 14);
  }
}

function drawAxes(g: Pen, width: number, frame: Frame, picture: MemoryPicture, theme: MemoryTheme): void {
  const line = (y: number, text: string): void => {
    g.fillStyle = theme.grid;
    g.fillRect(LEFT, Math.round(y), width - LEFT - RIGHT, 1);
    g.fillStyle = theme.fg2;
    g.fillText(text, LEFT - 8, y + 0.5);
  };
  font(g, theme);
  g.textAlign = "right";
  const most = Math.max(picture.highest.value, picture.reserved);
  const total = byteTicks(0, most, most * frame.totalScale, picture.buffers ? 30 : 56);
  for (const value of total.values)
    if (value > 0) line(frame.totalBottom - value * frame.totalScale, total.label(value));
  if (picture.buffers && picture.plan.height > 0) {
    // what is folded lies under the bands: the scale goes on from there
    const from = foldedOf(picture).bytes;
    const found = byteTicks(from, from + picture.plan.height, picture.plan.height * frame.bandScale, 56);
    for (const value of found.values) line(frame.bandBottom - (value - from) * frame.bandScale, found.label(value));
  }
  g.textAlign = "left";
  font(g, theme, 11, 600);
  g.fillStyle = theme.fg2;
  g.fillText("Total", LEFT, TOP + 6);
  if (picture.buffers) g.fillText("Buffers, one band each", LEFT, frame.bandTop - 12);
}

function drawTotal(g: Pen, width: number, frame: Frame, picture: MemoryPicture, theme: MemoryTheme): void {
  const { data, span } = picture;
  const { totalBottom: base, totalScale: scale } = frame;
  if (data && data.total.start.length > 0) {
    const { start, low, high } = data.total;
    const last = start.length - 1;
    const until = start[last]! + data.width;
    const line: number[] = [];
    const spread: number[] = [];
    let x = 0;
    for (let i = 0; i <= last; i++) {
      const next = i < last ? start[i + 1]! : until;
      if (next < span.t0 || start[i]! > span.t1) continue;
      x = xOf(start[i]!, span, width);
      const y = base - high[i]! * scale;
      line.push(x, y);
      // within a pixel the total may go up and down: how far is drawn, so that no peak or dip is lost
      if (high[i]! > low[i]!) spread.push(x + 0.5, y, base - low[i]! * scale);
      x = xOf(next, span, width);
      line.push(x, y);
    }
    if (line.length > 0) {
      g.fillStyle = g.strokeStyle = theme.cat[9]!;
      g.globalAlpha = 0.2;
      trace(g, line);
      g.lineTo(x, base);
      g.lineTo(line[0]!, base);
      g.closePath();
      g.fill();
      g.globalAlpha = 0.45;
      g.lineWidth = 1;
      g.beginPath();
      for (let i = 0; i < spread.length; i += 3) {
        g.moveTo(spread[i]!, spread[i + 1]!);
        g.lineTo(spread[i]!, spread[i + 2]!);
      }
      g.stroke();
      g.globalAlpha = 1;
      g.lineWidth = 1.5;
      g.lineJoin = "round";
      trace(g, line);
      g.stroke();
    }
  }
  g.fillStyle = theme.line2;
  g.fillRect(LEFT, Math.round(base), width - LEFT - RIGHT, 1);
}

/** A path along points, x and y in turn. */
function trace(g: Pen, points: readonly number[]): void {
  g.beginPath();
  g.moveTo(points[0]!, points[1]!);
  for (let i = 2; i < points.length; i += 2) g.lineTo(points[i]!, points[i + 1]!);
}

function drawBands(g: Pen, width: number, frame: Frame, picture: MemoryPicture, theme: MemoryTheme): void {
  const { bands } = picture;
  drawSmall(g, width, frame, picture, theme);
  font(g, theme, 10.5, 400, true);
  const letter = g.measureText("0").width;
  const labels: { text: string; x: number; y: number; colour: number }[] = [];
  for (const [colour, places] of picture.byColour.entries()) {
    g.fillStyle = theme.fills[colour]!;
    for (const i of places) {
      const box = bandBox(i, picture, frame, width);
      if (!box) continue;
      // a pixel of ground between neighbours, as long as both stay visible
      const gapX = box.w > 3 ? 1 : 0;
      const gapY = box.h > 3 ? 1 : 0;
      g.fillRect(box.x, box.y, box.w - gapX, box.h - gapY);
      if (box.h < LABEL_HEIGHT || box.w < 3 * letter + 8) continue;
      const room = Math.floor((box.w - 8) / letter);
      const name = bufferHandle(bands.id[i]!, picture.several);
      const full = `${name} ${bytes(bands.bytes[i]!)}`;
      const text = full.length <= room ? full : name.length <= room ? name : "";
      if (text !== "") labels.push({ text, x: box.x + 4, y: box.y + box.h / 2, colour });
    }
  }
  g.textAlign = "left";
  for (const label of labels) {
    g.fillStyle = theme.inks[label.colour]!;
    g.fillText(label.text, label.x, label.y + 0.5);
  }
  const at = picture.selected >= 0 ? bands.id.indexOf(picture.selected) : -1;
  const box = at >= 0 ? bandBox(at, picture, frame, width) : null;
  if (!box) return;
  const colour = bufferColour(picture.selected);
  g.fillStyle = theme.bg0;
  g.fillRect(box.x - 3, box.y - 3, box.w + 5, box.h + 5);
  g.fillStyle = theme.cat[colour]!;
  g.fillRect(box.x, box.y, box.w - 1, box.h - 1);
  g.strokeStyle = theme.fg1;
  g.lineWidth = 2;
  g.strokeRect(box.x - 2, box.y - 2, box.w + 3, box.h + 3);
  const label = labels.find((one) => one.x === box.x + 4 && one.y === box.y + box.h / 2);
  if (label) {
    g.fillStyle = theme.selectedInks[colour]!;
    g.fillText(label.text, label.x, label.y + 0.5);
  }
}

/** Buffers that are too small to be seen each: one thin band on the floor for as long as any of them lives. */
function drawSmall(g: Pen, width: number, frame: Frame, picture: MemoryPicture, theme: MemoryTheme): void {
  const { bands, plan, span } = picture;
  g.fillStyle = theme.fg4;
  let until = LEFT;
  for (const i of plan.small) {
    // they come in the order of their allocation: what is covered already is not drawn again
    const x0 = Math.max(until, Math.round(xOf(bands.alloc[i]!, span, width)));
    const x1 = Math.min(
      width - RIGHT,
      Math.max(x0 + 1, Math.round(xOf(Math.min(bands.free[i]!, span.t1 + 1), span, width))),
    );
    if (x1 <= x0) continue;
    g.fillRect(x0, frame.bandBottom, x1 - x0, SMALL);
    until = x1;
  }
}

/** Buffers that live through everything in sight: one strip, whatever they hold. */
function drawStrip(g: Pen, width: number, height: number, picture: MemoryPicture, theme: MemoryTheme): void {
  const folded = foldedOf(picture);
  if (folded.count === 0 || !picture.buffers) return;
  const top = height - FOOT - STRIP + 2;
  g.fillStyle = theme.strip;
  g.fillRect(LEFT, top, width - LEFT - RIGHT, STRIP - 2);
  if (picture.selectedFolded) {
    g.strokeStyle = theme.fg1;
    g.lineWidth = 2;
    g.strokeRect(LEFT + 1, top + 1, width - LEFT - RIGHT - 2, STRIP - 4);
  }
  font(g, theme);
  const live = folded.count === 1 ? "lives" : "live";
  const text = `${counted(folded.count, "buffer")} that ${live} through this window, ${bytes(folded.bytes)}`;
  const note = "folded, not to scale";
  const size = g.measureText(text).width;
  g.fillStyle = theme.fg1;
  g.fillText(text, LEFT + 8, top + STRIP / 2);
  g.fillStyle = theme.fg3;
  if (LEFT + 8 + size + 24 + g.measureText(note).width < width - RIGHT)
    g.fillText(note, LEFT + 8 + size + 24, top + STRIP / 2);
}

interface Flag {
  x: number;
  left: number;
  width: number;
  text: string;
}

/** Where the chosen moment is and what its flag says; null when it is out of sight. Ticks give way to it. */
function flagOf(g: Pen, width: number, picture: MemoryPicture, theme: MemoryTheme): Flag | null {
  const { cursor, span } = picture;
  if (!cursor || cursor.time < span.t0 || cursor.time > span.t1) return null;
  const x = Math.round(xOf(cursor.time, span, width));
  const when = clock(cursor.time, (span.t1 - span.t0) / (width - LEFT - RIGHT), span.t1 - span.t0);
  const text = cursor.total === null ? when : `${when} · ${bytes(cursor.total)}`;
  font(g, theme, 11, 600);
  const room = g.measureText(text).width + 12;
  return { x, left: Math.max(4, Math.min(width - room - 4, x - room / 2)), width: room, text };
}

function drawCursor(
  g: Pen,
  height: number,
  frame: Frame,
  picture: MemoryPicture,
  theme: MemoryTheme,
  flag: Flag,
): void {
  g.fillStyle = theme.accent;
  g.fillRect(flag.x, TOP - 10, 1, (picture.buffers ? height - FOOT : frame.totalBottom) - TOP + 10);
  g.beginPath();
  g.roundRect(flag.left, 4, flag.width, 18, 3);
  g.fill();
  font(g, theme, 11, 600);
  g.fillStyle = theme.bg0;
  g.textAlign = "left";
  g.fillText(flag.text, flag.left + 6, 13.5);
}

/** The peak of the capture; a window without it has its own highest point, with a hollow mark. */
function drawPeak(
  g: Pen,
  width: number,
  frame: Frame,
  picture: MemoryPicture,
  theme: MemoryTheme,
  flagged: boolean,
): void {
  const { peak, peakTime, span, cursor } = picture;
  if (picture.data === null) return; // there is no scale to place it on yet
  const whole = peakTime >= span.t0 && peakTime <= span.t1;
  const { time, value } = whole ? { time: peakTime, value: peak } : picture.highest;
  if (value <= 0 || time < span.t0 || time > span.t1) return;
  const x = xOf(time, span, width);
  const y = Math.max(TOP - 4, frame.totalBottom - value * frame.totalScale);
  const dot = (radius: number, colour: string): void => {
    g.fillStyle = colour;
    g.beginPath();
    g.arc(x, y, radius, 0, 7);
    g.fill();
  };
  dot(5, theme.bg0);
  dot(3.5, theme.fg1);
  if (!whole) dot(2, theme.bg0);
  const head = `${whole ? "Peak" : "Highest here"} ${bytes(value)}`;
  const tail =
    flagged && cursor?.time === time
      ? ""
      : `at ${clock(time, (span.t1 - span.t0) / (width - LEFT - RIGHT), span.t1 - span.t0)}`;
  font(g, theme, 11, 600);
  const first = g.measureText(head).width;
  font(g, theme);
  const second = tail === "" ? 0 : g.measureText(tail).width + 8;
  // the title stands at the left edge
  const beside = y - 6 < TOP + 20 ? Math.max(x + 9, LEFT + TITLE) : x + 9;
  const left = beside + first + second < width - RIGHT ? beside : x - 9 - first - second;
  font(g, theme, 11, 600);
  g.textAlign = "left";
  g.fillStyle = theme.fg1;
  g.fillText(head, left, y - 6);
  font(g, theme);
  g.fillStyle = theme.fg2;
  if (tail !== "") g.fillText(tail, left + first + 8, y - 6);
}

/** The theme with what bands need: fills mixed with the ground, and inks that can be read on them. */
export function memoryTheme(theme: Theme, grid: string): MemoryTheme {
  const fills = theme.cat.map((colour) => (colour === "" ? "" : mix(colour, theme.bg0, 0.82)));
  return {
    ...theme,
    grid,
    fills,
    inks: fills.map((colour) => (colour === "" ? "" : inkOn(colour))),
    selectedInks: theme.cat.map((colour) => (colour === "" ? "" : inkOn(colour))),
    strip: mix(theme.cat[FOLDED]!, theme.bg0, 0.16),
  };
}

function channels(colour: string): [number, number, number] {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  if (hex) return [hex[1]!, hex[2]!, hex[3]!].map((part) => parseInt(part, 16)) as [number, number, number];
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(colour);
  if (short)
    return [short[1]!, short[2]!, short[3]!].map((part) => parseInt(part + part, 16)) as [number, number, number];
  return [136, 136, 136];
}

function mix(a: string, b: string, share: number): string {
  const [x, y] = [channels(a), channels(b)];
  return `#${x
    .map((value, i) =>
      Math.round(value * share + y[i]! * (1 - share))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

/** Black or white, whichever reads better. */
function inkOn(colour: string): string {
  const [r, g, b] = channels(colour).map((value) => {
    const s = value / 255;
    return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#0b0d10" : "#ffffff";
}
