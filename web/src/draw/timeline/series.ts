/** A value over time: a step line with a filled area, its peak marked. */
import type { Tile } from "../../data/timeline_tiles.ts";
import type { SeriesWindow } from "../../wire/timeline.ts";
import type { Surface } from "./surface.ts";
import type { TimelineTheme } from "./theme.ts";

export interface SeriesStyle {
  surface: Surface;
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
export function drawSeries(
  style: SeriesStyle,
  tiles: readonly Tile<SeriesWindow>[],
  top: number,
  height: number,
): Peak | null {
  const { surface, theme, ratio, t0, scale } = style;
  const first = tiles[0]?.data;
  if (!first) return null;
  const colour = theme.pixels.cat[9]!;
  const floor = Math.min(0, first.least);
  const reach = Math.max(first.peak - floor, 1e-12);
  const base = top + height - Math.round(3 * ratio);
  const room = height - 14 * ratio;
  const level = (value: number): number => Math.round(base - (room * (value - floor)) / reach);
  const line = Math.max(1, Math.round(ratio));
  const steps = stepsOf(style, tiles, level);
  fillBelow(surface, steps, top, base, colour);
  let before = -1;
  for (let i = 0; i < steps.n; i++) {
    const [x0, x1, here, up, down] = [steps.x0[i]!, steps.x1[i]!, steps.here[i]!, steps.up[i]!, steps.down[i]!];
    surface.fill(x0, here, x1, here + line, colour);
    // within a pixel the value may go up and down: its reach is drawn, so that no peak is lost
    if (down - up > 1) surface.blend(x0, up, Math.min(x1, x0 + line), down + line, colour, 150);
    if (before >= 0 && before !== here)
      surface.fill(x0, Math.min(before, here), x0 + line, Math.max(before, here) + line, colour);
    before = here;
  }
  surface.fill(0, base, surface.width, base + 1, theme.pixels.line1);
  const x = (first.peakTime - t0) * scale;
  return first.peak > 0 && x >= 0 && x < surface.width ? { x, y: level(first.peak), value: first.peak } : null;
}

/** What is drawn from pixel to pixel; arrays that every series of every frame uses, since objects would be litter. */
const kept = {
  n: 0,
  x0: new Int32Array(0),
  x1: new Int32Array(0),
  here: new Int32Array(0),
  up: new Int32Array(0),
  down: new Int32Array(0),
};
const columns = { tops: new Int32Array(0), inks: new Uint32Array(0), amounts: new Int32Array(0) };
type Steps = typeof kept;

function stepsOf(style: SeriesStyle, tiles: readonly Tile<SeriesWindow>[], level: (value: number) => number): Steps {
  const { t0, scale } = style;
  const { width } = style.surface;
  if (kept.x0.length < width) {
    for (const name of ["x0", "x1", "here", "up", "down"] as const) kept[name] = new Int32Array(width);
    columns.tops = new Int32Array(width);
    columns.inks = new Uint32Array(width);
    columns.amounts = new Int32Array(width).fill(AREA);
  }
  kept.n = 0;
  let until = 0;
  for (let k = 0; k < tiles.length; k++) {
    const { start, low, high, mean } = tiles[k]!.data;
    for (let i = 0; i < start.length; i++) {
      const next =
        i + 1 < start.length
          ? start[i + 1]!
          : (tiles[k + 1]?.data.start[0] ?? (i > 0 ? 2 * start[i]! - start[i - 1]! : start[i]! + 1 / scale));
      const x1 = Math.min(width, Math.round((next - t0) * scale));
      const x0 = Math.max(Math.round((start[i]! - t0) * scale), until);
      if (x1 <= x0 || x1 <= 0 || x0 >= width) continue;
      until = x1;
      const here = level(mean[i]!);
      const at = kept.n++;
      kept.x0[at] = x0;
      kept.x1[at] = x1;
      kept.here[at] = here;
      kept.up[at] = Math.min(level(high[i]!), here);
      kept.down[at] = Math.max(level(low[i]!), here);
    }
  }
  return kept;
}

/** Amount of colour of the area under the line. */
const AREA = 56;

function fillBelow(surface: Surface, steps: Steps, top: number, base: number, colour: number): void {
  const first = steps.n > 0 ? steps.x0[0]! : 0;
  const past = steps.n > 0 ? steps.x1[steps.n - 1]! : 0;
  const bottom = Math.min(base, surface.height);
  if (past <= first || bottom <= 0) return;
  columns.tops.fill(bottom, first, past);
  columns.inks.fill(colour, first, past);
  for (let i = 0; i < steps.n; i++) columns.tops.fill(steps.here[i]!, steps.x0[i], steps.x1[i]);
  surface.columns(first, past, Math.max(0, top), bottom, columns);
}

/** The value of a series at a time, as far as the tiles know it. */
export function valueAt(tiles: readonly Tile<SeriesWindow>[], time: number): number | null {
  for (let k = tiles.length - 1; k >= 0; k--) {
    const { start, mean } = tiles[k]!.data;
    for (let i = start.length - 1; i >= 0; i--) if (start[i]! <= time) return mean[i]!;
  }
  return null;
}
