/** A value over time: a step line with a filled area, its peak marked. */
import type { Tile } from "../data/timeline_tiles.ts";
import type { SeriesWindow } from "../wire/timeline.ts";
import type { Raster } from "./timeline_raster.ts";
import type { TimelineTheme } from "./timeline_theme.ts";

export interface SeriesStyle {
  raster: Raster;
  theme: TimelineTheme;
  ratio: number;
  t0: number;
  scale: number;
}

export interface Peak {
  x: number;
  y: number;
  value: number;
}

/** Draws a series into a row and gives the place of its peak when that is in the window. */
export function drawSeries(style: SeriesStyle, tiles: readonly Tile<SeriesWindow>[], top: number, height: number): Peak | null {
  const { raster, theme, ratio, t0, scale } = style;
  const first = tiles[0]?.data;
  if (!first) return null;
  const colour = theme.pixels.cat[9]!;
  const floor = Math.min(0, first.least);
  const reach = Math.max(first.peak - floor, 1e-12);
  const base = top + height - Math.round(3 * ratio);
  const room = height - 14 * ratio;
  const level = (value: number): number => Math.round(base - (room * (value - floor)) / reach);
  const line = Math.max(1, Math.round(ratio));
  let before = -1;
  let until = -1;
  for (let k = 0; k < tiles.length; k++) {
    const { data } = tiles[k]!;
    const { start, low, high, mean } = data;
    for (let i = 0; i < start.length; i++) {
      const x0 = Math.round((start[i]! - t0) * scale);
      const next = i + 1 < start.length ? start[i + 1]! : (tiles[k + 1]?.data.start[0] ?? (i > 0 ? 2 * start[i]! - start[i - 1]! : start[i]! + 1 / scale));
      const x1 = Math.max(x0 + 1, Math.round((next - t0) * scale));
      if (x1 <= 0 || x0 >= raster.width || x1 <= until) continue;
      const from = Math.max(x0, until);
      until = x1;
      const here = level(mean[i]!);
      raster.blend(from, here, x1, base, colour, 56);
      const up = Math.min(level(high[i]!), here);
      const down = Math.max(level(low[i]!), here);
      raster.fill(from, here, x1, here + line, colour);
      // within a pixel the value may go up and down: its reach is drawn, so that no peak is lost
      if (down - up > 1) raster.blend(from, up, Math.min(x1, from + line), down + line, colour, 150);
      if (before >= 0 && before !== here) raster.fill(from, Math.min(before, here), from + line, Math.max(before, here) + line, colour);
      before = here;
    }
  }
  raster.fill(0, base, raster.width, base + 1, theme.pixels.line1);
  const x = (first.peakTime - t0) * scale;
  return first.peak > 0 && x >= 0 && x < raster.width ? { x, y: level(first.peak), value: first.peak } : null;
}

/** The value of a series at a time, as far as the tiles know it. */
export function valueAt(tiles: readonly Tile<SeriesWindow>[], time: number): number | null {
  for (let k = tiles.length - 1; k >= 0; k--) {
    const { start, mean } = tiles[k]!.data;
    for (let i = start.length - 1; i >= 0; i--) if (start[i]! <= time) return mean[i]!;
  }
  return null;
}
