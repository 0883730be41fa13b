/** The body of the timeline: rows as pixels, then what lies over them as lines. Draws only what is on the screen. */
import { bytes } from "../../base/format.ts";
import { laneId, seriesId, type TimelineSource } from "../../data/timeline.ts";
import { gridFor } from "../../data/timeline_tiles.ts";
import type { RowBox, RowLayout } from "../../layout/timeline_rows.ts";
import type { Span } from "../../layout/span.ts";
import { ticks } from "../../layout/timeline_scale.ts";
import type { NoteWire } from "../../wire/notes.ts";
import type { FlowWire } from "../../wire/timeline.ts";
import type { Pen } from "../sheet/pen.ts";
import { Glyphs } from "./glyphs.ts";
import { drawLane } from "./lanes.ts";
import { drawNotes } from "./notes.ts";
import { drawFlows, drawFocus } from "./marks.ts";
import { Raster } from "./raster.ts";
import { PenLetters, PenSurface, type Letters, type Surface } from "./surface.ts";
import { drawSeries, type Peak } from "./series.ts";
import type { TimelineTheme } from "./theme.ts";

/** A slice that has the focus. */
export interface Focus {
  row: number;
  track: number;
  depth: number;
  start: number;
  dur: number;
}

export interface Scene {
  source: TimelineSource;
  layout: RowLayout;
  span: Span;
  scroll: number;
  range: Span | null;
  focus: Focus | null;
  flows: readonly FlowWire[];
  hits: ReadonlySet<number> | null;
  notes: readonly NoteWire[];
}

/** CSS pixels between two ticks. */
export const TICK = 52;
/** Markers nearer to each other than this are drawn faint. */
const CLOSE = 10;

export class TimelinePainter {
  private readonly context: CanvasRenderingContext2D;
  private readonly raster = new Raster();
  private theme: TimelineTheme | null = null;
  private glyphs: Glyphs | null = null;
  private ratio = 1;
  width = 1;
  height = 1;

  constructor(private readonly canvas: HTMLCanvasElement) {
    // pixels come from us: a picture in main memory is the quickest
    this.context = canvas.getContext("2d", { alpha: false, willReadFrequently: true })!;
  }

  resize(width: number, height: number, ratio: number): void {
    this.width = Math.max(1, Math.floor(width));
    this.height = Math.max(1, Math.floor(height));
    this.ratio = ratio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.raster.resize(this.canvas.width, this.canvas.height);
    if (this.theme) this.setTheme(this.theme);
  }

  setTheme(theme: TimelineTheme): void {
    this.theme = theme;
    const size = 11 * this.ratio;
    this.glyphs = new Glyphs(`${size}px ${theme.ui}`, size);
  }

  draw(scene: Scene): void {
    const { theme, raster, context, ratio } = this;
    if (!theme) return;
    const glyphs = this.glyphs!;
    const letters: Letters = {
      advance: glyphs.advance,
      write: (text, x, y, ink) => glyphs.draw(raster, text, x, y, ink),
    };
    const area = { theme, width: this.width, height: this.height, ratio };
    raster.fill(0, 0, raster.width, 1, theme.pixels.bg);
    drawGround(raster, scene, area, 1);
    raster.repeat();
    const peaks = drawRows(raster, letters, scene, area);
    raster.put(context);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawOver(context, scene, area, peaks);
  }

  /** Draws with a pen what is on the screen, as it would be without a screen's pixels. */
  paint(pen: Pen, scene: Scene): void {
    const { theme, width, height } = this;
    if (!theme) return;
    const surface = new PenSurface(pen, width, height);
    const area = { theme, width, height, ratio: 1 };
    surface.fill(0, 0, width, height, theme.pixels.bg);
    drawGround(surface, scene, area, height);
    const peaks = drawRows(surface, new PenLetters(pen, `11px ${theme.ui}`), scene, area);
    drawOver(pen, scene, area, peaks);
  }

  /** Rows that are at least partly on the screen. */
  visible(layout: RowLayout, scroll: number): RowBox[] {
    return visibleRows(layout, scroll, this.height);
  }
}

interface Area {
  theme: TimelineTheme;
  width: number;
  height: number;
  /** Pixels of the surface for one of the page's. */
  ratio: number;
}

type RowPeak = Peak & { row: RowBox };

function visibleRows(layout: RowLayout, scroll: number, height: number): RowBox[] {
  return layout.rows.filter((row) => row.y + row.h > scroll && row.y < scroll + height);
}

/** What goes from top to bottom: the grid, the veil over the range. */
function drawGround(surface: Surface, scene: Scene, { theme, width }: Area, bottom: number): void {
  const { span, range } = scene;
  const { pixels } = theme;
  const scale = surface.width / (span.t1 - span.t0);
  for (const time of ticks(span, width, TICK).times) {
    const x = Math.round((time - span.t0) * scale);
    surface.fill(x, 0, x + 1, bottom, pixels.grid);
  }
  if (!range) return;
  const [x0, x1] = [range.t0, range.t1].map((time) => Math.round((time - span.t0) * scale)) as [number, number];
  surface.blend(x0, 0, x1, bottom, pixels.accent, pixels.veil);
}

function drawRows(surface: Surface, letters: Letters, scene: Scene, area: Area): RowPeak[] {
  const { theme, ratio } = area;
  const { source, span, scroll } = scene;
  const { pixels } = theme;
  const px = (value: number): number => Math.round(value * ratio);
  const style = {
    surface,
    theme,
    letters,
    ratio,
    t0: span.t0,
    scale: surface.width / (span.t1 - span.t0),
    hits: scene.hits,
    text: (name: number) => source.names.text(name),
    colour: (name: number) => source.names.colour(name),
  };
  const grid = gridFor(span.t0, span.t1, area.width);
  const peaks: RowPeak[] = [];
  for (const row of visibleRows(scene.layout, scroll, area.height)) {
    const top = px(row.y - scroll);
    if (row.kind === "group") {
      surface.fill(0, top, surface.width, px(row.y + row.h - scroll), pixels.group);
      surface.fill(0, top, surface.width, top + 1, pixels.line1);
      continue;
    }
    surface.fill(0, top, surface.width, top + 1, pixels.line0);
    for (const lane of row.lanes) {
      const tiles = source.lanes.cover(laneId(lane), grid, span.t0, span.t1);
      if (tiles.length > 0) drawLane(style, tiles, px(row.y + lane.y - scroll), px(lane.h), lane.paint);
    }
    if (row.series) {
      const tiles = source.series.cover(seriesId(row.series), grid, span.t0, span.t1);
      const peak = drawSeries(style, tiles, top, px(row.h));
      if (peak) peaks.push({ ...peak, row });
    }
  }
  return peaks;
}

/** What lies over the rows: peaks, the edges of the range, markers, flows, the focus. */
function drawOver(pen: Pen, scene: Scene, area: Area, peaks: readonly RowPeak[]): void {
  const { layout, span, scroll, flows, focus } = scene;
  const { theme, width, height } = area;
  drawPeaks(pen, peaks, area);
  drawLines(pen, scene, area);
  const view = { context: pen, theme, layout, span, scroll, width, height };
  drawFlows(view, flows, focus);
  if (focus) drawFocus(view, focus);
  drawNotes(pen, view, scene.notes);
}

function drawPeaks(pen: Pen, peaks: readonly RowPeak[], { theme, ratio }: Area): void {
  pen.font = `10px ${theme.ui}`;
  pen.textBaseline = "middle";
  for (const peak of peaks) {
    const x = peak.x / ratio;
    const y = peak.y / ratio;
    const text = `peak ${peak.row.series && "memory" in peak.row.series ? bytes(peak.value) : figure(peak.value, peak.row.unit)}`;
    const width = pen.measureText(text).width;
    pen.fillStyle = theme.fg1;
    pen.beginPath();
    pen.arc(x, y, 2.5, 0, 7);
    pen.fill();
    pen.fillStyle = theme.fg2;
    pen.fillText(text, x - 7 - width >= 2 ? x - 7 - width : x + 7, y - 5);
  }
}

/** Edges of the range and markers, over the slices. */
function drawLines(pen: Pen, scene: Scene, { theme, width, height }: Area): void {
  const { span, range } = scene;
  const scale = width / (span.t1 - span.t0);
  if (range) {
    pen.fillStyle = theme.accent;
    for (const time of [range.t0, range.t1]) pen.fillRect(Math.round((time - span.t0) * scale), 0, 1, height);
  }
  const { time, colour, track } = scene.source.whole.markers;
  const own = new Map(
    visibleRows(scene.layout, scene.scroll, height).flatMap((row) =>
      row.lanes.map((lane) => [lane.track, row] as const),
    ),
  );
  let last = -10;
  for (let i = firstMarker(time, span.t0); i < time.length && time[i]! <= span.t1; i++) {
    const x = Math.round((time[i]! - span.t0) * scale);
    pen.fillStyle = /^#[0-9a-f]{3,8}$/i.test(colour[i]!) ? colour[i]! : theme.fg3;
    pen.globalAlpha = 1;
    if (track[i]! >= 0) {
      // what happened on one track is marked there and nowhere else
      const row = own.get(track[i]!);
      if (row) pen.fillRect(x, row.y - scene.scroll + 1, 1, row.h - 1);
      continue;
    }
    if (x - last < 3) continue;
    // where they stand close they must not hide what they mark
    pen.globalAlpha = x - last < CLOSE || Math.round((time[i + 1] ?? Infinity) - time[i]!) * scale < CLOSE ? 0.4 : 1;
    last = x;
    for (let y = 0; y < height; y += 6) pen.fillRect(x, y, 1, 3);
  }
  pen.globalAlpha = 1;
}

/** The first moment at or after a time; they are in order. */
export function firstMarker(times: readonly number[], time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! >= time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** From a million on a figure has four digits and a prefix, as bytes have: 1.919 M, 24.02 Gflops. */
const STEPS: readonly (readonly [number, string])[] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
];
const FOUR_DIGITS = { minimumSignificantDigits: 4, maximumSignificantDigits: 4 };
const TWO_PLACES = { maximumFractionDigits: 2 };

/** A counter's value. */
export function figure(value: number, unit: string): string {
  if (unit === "bytes") return bytes(value);
  const size = Math.abs(value);
  const [step, sign] = STEPS.find(([least]) => size >= least) ?? [1, ""];
  const text =
    size >= 1e18 || (size > 0 && size < 0.005)
      ? value.toPrecision(3)
      : (value / step).toLocaleString("en-US", size >= 1e6 ? FOUR_DIGITS : TWO_PLACES);
  return [text, `${sign}${unit}`].filter((part) => part !== "").join(" ");
}
