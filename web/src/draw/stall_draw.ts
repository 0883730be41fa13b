/** Draws stall samples: the reasons of each multiprocessor over cycles, and below it those of each wave. */
import { HEAD, tickStep } from "../layout/hardware_rows.ts";
import { firstRun, laneOf, reasonShares, type StallRow } from "../layout/stall_rows.ts";
import type { Stalls } from "../wire/stalls.ts";
import type { Theme } from "./theme.ts";

/** Data colours of the reasons, in the order of the server's list. */
export const REASON_COLOURS = [12, 2, 9, 5, 4, 10, 11, 7, 8];
export const STALL_RULER = 24;
/** Runs from this many pixels on are drawn on their own; narrower ones share their pixels. */
const OWN = 3;

export interface StallPicture {
  stalls: Stalls;
  rows: StallRow[];
  scroll: number;
  t0: number;
  t1: number;
  /** The selected run; -1 for none. */
  focus: number;
}

type Axis = (cycle: number) => number;

export function drawStalls(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: StallPicture,
  theme: Theme,
): void {
  const x: Axis = (cycle) => HEAD + ((cycle - picture.t0) / (picture.t1 - picture.t0)) * (width - HEAD);
  g.fillStyle = theme.bg0;
  g.fillRect(0, 0, width, height);
  g.textBaseline = "middle";
  const focused = picture.focus >= 0 ? laneOf(picture.stalls, picture.focus) : -1;
  for (const row of picture.rows) {
    const y = STALL_RULER + row.y - picture.scroll;
    if (y > height || y + row.height < STALL_RULER) continue;
    g.save();
    g.beginPath();
    g.rect(HEAD, y, width - HEAD, row.height);
    g.clip();
    if (row.unit) drawUnit(g, row, y, width, picture, theme);
    else drawWave(g, row, y, x, width, picture, theme);
    if (!row.unit && row.first === focused) drawFocus(g, row, y, x, picture, theme);
    g.restore();
    drawHead(g, row, y, !row.unit && row.first === focused, width, theme);
  }
  drawRuler(g, x, width, picture, theme);
  g.fillStyle = theme.line1;
  g.fillRect(HEAD - 1, 0, 1, height);
}

/** The pixels of a multiprocessor, filled from below by the share of each reason; what no sample fell into is empty. */
function drawUnit(
  g: CanvasRenderingContext2D,
  row: StallRow,
  y: number,
  width: number,
  { stalls, t0, t1 }: StallPicture,
  theme: Theme,
): void {
  g.fillStyle = theme.bg1;
  g.fillRect(HEAD, y, width - HEAD, row.height);
  const pixels = Math.max(1, Math.floor(width - HEAD));
  const shares = reasonShares(stalls, row, t0, t1, pixels);
  const kinds = stalls.head.reasons.length;
  const tall = (row.height - 8) / ((t1 - t0) / pixels);
  for (let at = 0; at < pixels; at++) {
    let base = y + row.height - 3;
    for (const [reason] of stalls.head.totals) {
      const own = shares[at * kinds + reason]! * tall;
      if (own <= 0) continue;
      base -= own;
      g.fillStyle = theme.cat[REASON_COLOURS[reason]!]!;
      g.fillRect(HEAD + at, base, 1, own);
    }
  }
}

/** Runs as they are; where several share a pixel, it has the colour of the reason that most of its cycles have. */
function drawWave(
  g: CanvasRenderingContext2D,
  row: StallRow,
  y: number,
  x: Axis,
  width: number,
  { stalls, t0, t1 }: StallPicture,
  theme: Theme,
): void {
  g.fillStyle = theme.line1;
  g.fillRect(HEAD, y, width - HEAD, 1);
  const colour = (reason: number): string => theme.cat[REASON_COLOURS[reason]!]!;
  const held = new Float64Array(stalls.head.reasons.length);
  let pixel = -1;
  const flush = (): void => {
    if (pixel < 0) return;
    let most = 0;
    for (let reason = 1; reason < held.length; reason++) if (held[reason]! > held[most]!) most = reason;
    g.fillStyle = colour(most);
    g.fillRect(pixel, y + 4, 1.5, row.height - 7);
    held.fill(0);
    pixel = -1;
  };
  g.font = `400 10px ${theme.ui}`;
  const end = stalls.from[row.last]!;
  for (let i = firstRun(stalls, row.first, t0); i < end && stalls.start[i]! < t1; i++) {
    const [from, to] = [x(stalls.start[i]!), x(stalls.end[i]!)];
    if (to - from < OWN) {
      const at = Math.floor(from);
      if (at !== pixel) flush();
      pixel = at;
      held[stalls.reason[i]!]! += stalls.end[i]! - stalls.start[i]!;
      continue;
    }
    flush();
    g.fillStyle = colour(stalls.reason[i]!);
    g.fillRect(from, y + 4, to - from - 0.5, row.height - 7);
  }
  flush();
}

function drawFocus(
  g: CanvasRenderingContext2D,
  row: StallRow,
  y: number,
  x: Axis,
  { stalls, focus }: StallPicture,
  theme: Theme,
): void {
  const from = x(stalls.start[focus]!);
  g.strokeStyle = theme.fg1;
  g.lineWidth = 2;
  g.strokeRect(from - 1.5, y + 2, Math.max(x(stalls.end[focus]!) - from, 2) + 2.5, row.height - 3);
}

function drawHead(
  g: CanvasRenderingContext2D,
  row: StallRow,
  y: number,
  selected: boolean,
  width: number,
  theme: Theme,
): void {
  g.fillStyle = selected ? theme.accentBg : theme.bg1;
  g.fillRect(0, y, HEAD, row.height);
  g.fillStyle = row.unit ? theme.line2 : theme.line1;
  g.fillRect(0, y, row.unit ? width : HEAD, 1);
  const middle = y + row.height / 2 + 0.5;
  if (row.unit) {
    g.font = `600 11px ${theme.ui}`;
    g.fillStyle = theme.fg1;
    g.fillText(`${row.folded ? "▸" : "▾"} ${row.label}`, 10, middle - 7, HEAD - 20);
    g.font = `400 11px ${theme.ui}`;
    g.fillStyle = theme.fg3;
    g.fillText(row.note, 22, middle + 8, HEAD - 32);
    return;
  }
  g.font = `400 11px ${theme.ui}`;
  g.fillStyle = theme.fg2;
  g.fillText(row.label, 22, middle, HEAD - 80);
  g.fillStyle = theme.fg3;
  g.textAlign = "right";
  g.fillText(row.note, HEAD - 10, middle);
  g.textAlign = "left";
}

function drawRuler(g: CanvasRenderingContext2D, x: Axis, width: number, { t0, t1 }: StallPicture, theme: Theme): void {
  g.fillStyle = theme.bg1;
  g.fillRect(0, 0, width, STALL_RULER);
  g.fillStyle = theme.line1;
  g.fillRect(0, STALL_RULER - 1, width, 1);
  g.font = `600 11px ${theme.ui}`;
  g.fillStyle = theme.fg2;
  g.fillText("cycles", 10, 12);
  g.font = `400 11px ${theme.ui}`;
  const step = tickStep((t1 - t0) / (width - HEAD), 90);
  for (let c = Math.max(0, Math.ceil(t0 / step) * step); c < t1; c += step) {
    const at = Math.round(x(c));
    g.fillStyle = theme.line2;
    g.fillRect(at, STALL_RULER - 6, 1, 6);
    g.fillStyle = theme.fg2;
    if (at < width - 60) g.fillText(c.toLocaleString("en-US"), at + 4, 11);
  }
}
