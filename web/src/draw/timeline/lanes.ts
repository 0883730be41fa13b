/** One lane of slices: those that are wide enough as boxes with labels, the others merged per pixel. */
import type { Tile } from "../../data/timeline_tiles.ts";
import { fitLabel } from "../../layout/timeline_labels.ts";
import type { Paint } from "../../layout/timeline_rows.ts";
import type { LaneWindow } from "../../wire/timeline.ts";
import type { Letters, Surface } from "./surface.ts";
import type { TimelineTheme } from "./theme.ts";

/** Slices narrower than this (CSS px) are merged. */
const NARROW = 2.5;
const LABEL = 22;
/** Share of a pixel that the shortest slice is drawn with. */
const LEAST = 0.03;

export interface LaneStyle {
  surface: Surface;
  theme: TimelineTheme;
  letters: Letters;
  ratio: number;
  t0: number;
  /** Pixels of a ns. */
  scale: number;
  text(name: number): string;
  colour(name: number): number;
  /** Names that are searched for; null when nothing is. */
  hits: ReadonlySet<number> | null;
}

/** Amount of colour that is left of a slice that a search leaves aside. */
const ASIDE = 60;

let occupied = new Float32Array(0);
let longest = new Float32Array(0);
let chosen = new Int32Array(0);
const columns = { tops: new Int32Array(0), inks: new Uint32Array(0), amounts: new Int32Array(0) };

export function drawLane(
  style: LaneStyle,
  tiles: readonly Tile<LaneWindow>[],
  top: number,
  height: number,
  paint: Paint,
): void {
  const { surface, ratio, t0, scale } = style;
  const { width } = surface;
  if (occupied.length < width) {
    [occupied, longest, chosen] = [new Float32Array(width), new Float32Array(width), new Int32Array(width)];
    columns.tops = new Int32Array(width);
    columns.inks = new Uint32Array(width);
    columns.amounts = new Int32Array(width);
  }
  occupied.fill(0, 0, width);
  longest.fill(0, 0, width);
  const least = NARROW * ratio;
  let low = width;
  let high = -1;
  let past = -Infinity;
  for (const { data } of tiles) {
    const { start, end, busy, row, name, width: bucket } = data;
    for (let i = firstAt(end, t0), n = start.length; i < n; i++) {
      // a slice across two tiles is in both
      if (start[i]! < past) continue;
      let x0 = (start[i]! - t0) * scale;
      if (x0 >= width) break;
      let x1 = (end[i]! - t0) * scale;
      past = end[i]!;
      if (x1 < 0) continue;
      const wide = x1 - x0 >= least && (bucket === 0 || busy[i]! > 0.995 || end[i]! - start[i]! > bucket);
      if (wide) {
        if (bucket > 0) {
          // what one slice fills is one entry; the buckets at its ends, which it fills in part, belong to it
          if (i > 0 && row[i - 1] === row[i] && end[i - 1] === start[i])
            x0 -= busy[i - 1]! * (end[i - 1]! - start[i - 1]!) * scale;
          if (i + 1 < n && row[i + 1] === row[i] && start[i + 1] === end[i]) {
            x1 += busy[i + 1]! * (end[i + 1]! - start[i + 1]!) * scale;
            past = end[++i]!;
          }
        }
        drawSlice(style, x0, x1, top, height, paint, name[i]!);
        continue;
      }
      const joins =
        bucket > 0 &&
        i + 1 < n &&
        row[i + 1] === row[i] &&
        start[i + 1] === end[i] &&
        (end[i + 1]! - start[i + 1]!) * scale >= least;
      if (joins) continue;
      // several pixels only when a coarser tile stands in for one that is still on its way
      const from = Math.max(0, Math.floor(x0));
      const to = Math.min(width - 1, Math.max(from, Math.ceil(x1) - 1));
      // where there is an entry something ran, however short: it never vanishes
      const share = Math.max(LEAST, busy[i]!);
      for (let x = from; x <= to; x++) {
        const inside = Math.max(0.02, Math.min(x + 1, x1) - Math.max(x, x0)) * share;
        occupied[x]! += inside;
        if (inside > longest[x]!) {
          longest[x] = inside;
          chosen[x] = name[i]!;
        }
      }
      if (from < low) low = from;
      if (to > high) high = to;
    }
  }
  drawColumns(style, low, high, top, height, paint);
}

function drawColumns(style: LaneStyle, low: number, high: number, top: number, height: number, paint: Paint): void {
  const { surface, theme, ratio, hits } = style;
  const { tops, inks, amounts } = columns;
  const bottom = Math.min(surface.height, top + height);
  if (low > high || bottom <= Math.max(0, top)) return;
  for (let x = low; x <= high; x++) {
    const busy = occupied[x]!;
    if (busy <= 0) {
      tops[x] = bottom;
      continue;
    }
    const share = busy > 1 ? 1 : busy;
    tops[x] = top + height - Math.max(Math.round(3 * ratio), Math.round(height * Math.min(1, 0.25 + share)));
    inks[x] = theme.pixels.cat[paint === "name" ? style.colour(chosen[x]!) : paint]!;
    amounts[x] = hits !== null && !hits.has(chosen[x]!) ? ASIDE : Math.round(256 * (0.35 + 0.65 * share));
  }
  surface.columns(low, high + 1, Math.max(0, top), bottom, columns);
}

function drawSlice(
  style: LaneStyle,
  x0: number,
  x1: number,
  top: number,
  height: number,
  paint: Paint,
  name: number,
): void {
  const { surface, theme, letters, ratio, hits } = style;
  const left = Math.round(Math.max(x0, -8));
  let right = Math.round(Math.min(x1, surface.width + 8));
  const width = x1 - x0;
  if (width > 3 * ratio) right -= Math.round(ratio);
  right = Math.max(left + 1, right);
  const colour = paint === "name" ? style.colour(name) : paint;
  const aside = hits !== null && !hits.has(name);
  const strength = aside ? ASIDE : 256;
  if (width > 4 * ratio) surface.rounded(left, top, right, top + height, theme.pixels.cat[colour]!, strength);
  else surface.blend(left, top, right, top + height, theme.pixels.cat[colour]!, strength);
  if (width <= LABEL * ratio || height < 12 * ratio) return;
  const from = Math.max(left, 0) + 4 * ratio;
  const room = Math.min(right, surface.width) - from - 4 * ratio;
  if (room < 8 * ratio) return;
  const label = fitLabel(style.text(name), room, letters.advance);
  if (label !== "")
    letters.write(label, from, top + height / 2 + 0.5 * ratio, aside ? theme.pixels.fg3 : theme.pixels.ink[colour]!);
}

/** The first entry that ends after a time. */
function firstAt(end: Float64Array, time: number): number {
  let low = 0;
  let high = end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end[middle]! >= time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The entry of a lane under a pixel; the nearest within 3 px, since one may be narrower than the pointer. */
export function entryAt(
  tiles: readonly Tile<LaneWindow>[],
  t0: number,
  scale: number,
  x: number,
  reach: number,
): { lane: LaneWindow; at: number } | null {
  let best: { lane: LaneWindow; at: number } | null = null;
  let nearest = reach;
  for (const { data } of tiles) {
    for (let i = firstAt(data.end, t0 + (x - reach) / scale); i < data.start.length; i++) {
      const x0 = (data.start[i]! - t0) * scale;
      if (x0 > x + reach) break;
      const x1 = (data.end[i]! - t0) * scale;
      const away = x < x0 ? x0 - x : x > x1 ? x - x1 : 0;
      if (away < nearest || (away === 0 && best === null)) {
        nearest = away;
        best = { lane: data, at: i };
      }
      if (away === 0) return { lane: data, at: i };
    }
  }
  return best;
}

/** Share of a window in which a lane was busy. */
export function busyShare(tiles: readonly Tile<LaneWindow>[], t0: number, t1: number): number {
  let sum = 0;
  let past = -Infinity;
  for (const { data } of tiles) {
    for (let i = firstAt(data.end, t0); i < data.start.length && data.start[i]! < t1; i++) {
      if (data.start[i]! < past) continue;
      past = data.end[i]!;
      sum += Math.max(0, Math.min(t1, past) - Math.max(t0, data.start[i]!)) * data.busy[i]!;
    }
  }
  return t1 > t0 ? Math.min(1, sum / (t1 - t0)) : 0;
}
