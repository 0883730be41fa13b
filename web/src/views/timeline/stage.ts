/** The drawing: minimap, ruler, rows and their heads; pan, zoom, select, hover. Knows no address and no pane. */
import { h } from "../../base/dom.ts";
import { duration } from "../../base/format.ts";
import { notebook } from "../../data/notes.ts";
import { seriesId, type TimelineSource } from "../../data/timeline.ts";
import { gridFor } from "../../data/timeline_tiles.ts";
import { HeadPainter, RULER, type HeadScene } from "../../draw/timeline/head.ts";
import { busyShare, entryAt } from "../../draw/timeline/lanes.ts";
import { firstMarker, TimelinePainter, type Focus, type Scene } from "../../draw/timeline/painter.ts";
import { valueAt } from "../../draw/timeline/series.ts";
import { drawNames } from "../../draw/timeline/names.ts";
import type { Sheet } from "../../draw/sheet/sheet.ts";
import { readTimelineTheme, type TimelineTheme } from "../../draw/timeline/theme.ts";
import { layoutRows, rowAt, type LaneBox, type RowBox, type RowLayout } from "../../layout/timeline_rows.ts";
import { clampSpan, panSpan, type Limits, type Span } from "../../layout/span.ts";
import { ticks, traceLimits } from "../../layout/timeline_scale.ts";
import { onTheme } from "../../state/settings.ts";
import type { FlowWire, LaneWindow } from "../../wire/timeline.ts";
import { offerSheets } from "../common/sheets.ts";
import { AxisViewport, type AxisTarget } from "../common/viewport/axis_viewport.ts";
import type { Point } from "../common/viewport/gestures.ts";
import type { RangeTarget } from "../common/viewport/range.ts";
import { headGestures } from "./head_gestures.ts";
import { describe } from "./slice_tip.ts";
import { TrackHeads } from "./track_heads.ts";

export interface StageOptions {
  /** The user moved the window; told when the movement has come to rest. */
  onMoved(span: Span): void;
  /** The rows were scrolled and have come to rest. */
  onScrolled(y: number): void;
  onRange(range: Span | null): void;
  /** A slice was clicked; -1 when the click hit nothing. */
  onFocus(row: number): void;
  onOpen(row: number): void;
  onFold(id: string): void;
  onPin(id: string): void;
  /** Something is drawn as sharp as it gets. */
  onDrawn(): void;
}

/** What lies under the pointer. */
export interface Under {
  row: RowBox;
  lane: LaneBox | null;
  entry: { lane: LaneWindow; at: number } | null;
  value: number | null;
  /** Names of the moments within 3 px. */
  moments: string[];
  time: number;
}

const REST_MS = 140;

export class Stage implements AxisTarget, RangeTarget {
  readonly element: HTMLElement;
  readonly body: HTMLElement;
  readonly headCanvas = h("canvas.tl-head", { "aria-hidden": "true" }) as HTMLCanvasElement;
  readonly canvas: HTMLCanvasElement;
  private readonly scroller: HTMLElement;
  private readonly space = h("div.tl-space");
  private readonly unit = h("span.faint");
  private readonly heads: TrackHeads;
  private readonly painter: TimelinePainter;
  private readonly headPainter: HeadPainter;
  private readonly watcher: ResizeObserver;
  private readonly stopTheme: () => void;
  private readonly stopNotes: () => void;
  readonly viewport: AxisViewport;
  private theme: TimelineTheme;
  private source: TimelineSource | null = null;
  private frame = 0;
  private resting = 0;
  private asked = 0;
  private overview: { devices: Float32Array; host: Float32Array } | null = null;
  private overviewFor = "";
  private laidFor = "";
  private rowOptions = {
    shut: new Set<string>() as ReadonlySet<string>,
    pinned: new Set<string>() as ReadonlySet<string>,
    filter: "",
  };
  private scrolling = 0;
  layout: RowLayout = { rows: [], height: 0, tracks: 0, hidden: 0, places: new Map() };
  span: Span = { t0: 0, t1: 1 };
  /** How far down the rows are; kept, since asking the browser for it after a change costs a layout. */
  scroll = 0;
  range: Span | null = null;
  focus: Focus | null = null;
  flows: readonly FlowWire[] = [];
  hits: ReadonlySet<number> | null = null;
  /** Milliseconds that drawing took, the last of them: for the benchmark. */
  readonly frames: number[] = [];

  constructor(
    host: HTMLElement,
    private readonly options: StageOptions,
  ) {
    this.canvas = h("canvas.tl-rows", {
      tabindex: 0,
      role: "application",
      "aria-label": "Timeline. W and S zoom, A and D pan, the arrows walk along the track of the focused slice.",
    }) as HTMLCanvasElement;
    this.heads = new TrackHeads(
      (id) => options.onFold(id),
      (id) => options.onPin(id),
    );
    this.body = h("div.tl-view", this.heads.element, this.canvas);
    this.scroller = h("div.tl-scroll", { tabindex: -1 }, this.body, this.space);
    this.element = h(
      "div.stage.tl",
      h(
        "div.tl-top",
        h("div.tl-names", h("div.tl-whole", h("span.faint", "Whole trace")), h("div.tl-unit", this.unit)),
        this.headCanvas,
      ),
      this.scroller,
    );
    host.append(this.element);
    this.painter = new TimelinePainter(this.canvas);
    this.headPainter = new HeadPainter(this.headCanvas);
    this.theme = readTimelineTheme(this.element);
    this.painter.setTheme(this.theme);
    this.scroller.addEventListener(
      "scroll",
      () => {
        this.scroll = this.scroller.scrollTop;
        this.redraw();
        window.clearTimeout(this.scrolling);
        this.scrolling = window.setTimeout(() => options.onScrolled(Math.round(this.scroll)), REST_MS);
      },
      { passive: true },
    );
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(this.element);
    this.stopTheme = onTheme(() => {
      this.theme = readTimelineTheme(this.element);
      this.painter.setTheme(this.theme);
      this.redraw();
    });
    this.viewport = new AxisViewport(this.canvas, this, this);
    this.viewport.listen(this.headCanvas, headGestures(this, this.viewport));
    offerSheets(this.element, () => this.sheet());
    this.stopNotes = notebook.onChange(() => this.redraw());
    // for tests and the benchmark: what is drawn where
    (this.element as HTMLElement & { timeline?: Stage }).timeline = this;
  }

  get width(): number {
    return this.painter.width;
  }

  get height(): number {
    return this.painter.height;
  }

  get whole(): number {
    return this.source?.whole.span ?? 1;
  }

  get limits(): Limits {
    return traceLimits(this.whole);
  }

  get axis(): { left: number; width: number } {
    return { left: 0, width: this.width };
  }

  readonly first = 0;

  get last(): number {
    return this.whole;
  }

  timeAt(x: number): number {
    return this.span.t0 + (x / this.width) * (this.span.t1 - this.span.t0);
  }

  xOf(time: number): number {
    return ((time - this.span.t0) / (this.span.t1 - this.span.t0)) * this.width;
  }

  get small(): boolean {
    return this.element.clientHeight < 640;
  }

  setSource(source: TimelineSource): void {
    this.source = source;
    this.overviewFor = "";
    this.resize();
  }

  setRows(options: { shut: ReadonlySet<string>; pinned: ReadonlySet<string>; filter: string }): void {
    if (!this.source) return;
    this.rowOptions = options;
    const key = [
      this.source.whole.generation,
      this.small,
      options.filter,
      ...[...options.shut].sort(),
      "",
      ...[...options.pinned].sort(),
    ].join("~");
    if (key === this.laidFor) return;
    this.laidFor = key;
    this.layout = layoutRows(this.source.whole.tracks, { ...options, small: this.small });
    this.space.style.height = `${this.layout.height}px`;
    this.heads.clear();
    this.scroll = this.scroller.scrollTop;
    this.redraw();
  }

  /** Shows a window without telling anyone. */
  setSpan(span: Span): void {
    this.span = clampSpan(span, this.limits);
    this.redraw();
  }

  /** The user moves: draws at once, says so when it rests. */
  move(span: Span): void {
    this.setSpan(span);
    window.clearTimeout(this.resting);
    this.resting = window.setTimeout(() => this.options.onMoved(this.span), REST_MS);
  }

  /** As the wheel and the keys do: for the benchmark. */
  zoom(factor: number, share?: number): void {
    this.viewport.zoom(factor, share);
  }

  pan(share: number): void {
    this.viewport.pan(share);
  }

  scrollBy(px: number): void {
    if (px !== 0) this.scrollTo(this.scroll + px);
  }

  scrollTo(y: number): void {
    this.scroller.scrollTop = Math.max(0, y);
    this.scroll = this.scroller.scrollTop;
    this.redraw();
  }

  select(range: Span | null, done: boolean): void {
    this.range = range;
    this.redraw();
    if (done) this.options.onRange(range);
  }

  click(at: Point): void {
    this.options.onFocus(this.sliceAt(at));
  }

  open(at: Point): void {
    const row = this.sliceAt(at);
    if (row >= 0) this.options.onOpen(row);
  }

  cursor(at: Point): string {
    return this.sliceAt(at) >= 0 ? "pointer" : "";
  }

  describe(at: Point): HTMLElement[] | null {
    return describe(this, this.under(at.x, at.y));
  }

  /** Brings a slice into sight: scrolls to its row, moves the window only when the slice is outside or too small. */
  reveal(focus: Focus, zoom: boolean): void {
    const place = this.layout.places.get(`${focus.track}:${focus.depth}`);
    if (place) {
      const top = place.row.y + place.lane.y;
      if (top < this.scroll) this.scrollTo(place.row.y - 24);
      else if (top + place.lane.h > this.scroll + this.height)
        this.scrollTo(place.row.y + place.row.h - this.height + 24);
    }
    const length = this.span.t1 - this.span.t0;
    const middle = focus.start + focus.dur / 2;
    const outside =
      focus.start + focus.dur < this.span.t0 + 0.02 * length || focus.start > this.span.t1 - 0.02 * length;
    const tiny = (focus.dur / length) * this.width < 6;
    if (zoom && (tiny || focus.dur > length)) {
      // something without length has no size of its own to zoom to
      const wanted = focus.dur > 0 ? Math.max(focus.dur * 12, 1000) : Math.min(length, this.whole / 200);
      this.move({ t0: middle - wanted / 2, t1: middle + wanted / 2 });
    } else if (outside) this.move(panSpan(this.span, middle - (this.span.t0 + this.span.t1) / 2, this.limits));
  }

  /** What is at a place of the canvas, CSS px. */
  under(x: number, y: number): Under | null {
    const row = rowAt(this.layout.rows, y + this.scroll);
    if (!row || !this.source || x < 0 || x > this.width) return null;
    const scale = this.width / (this.span.t1 - this.span.t0);
    const time = this.span.t0 + x / scale;
    const within = y + this.scroll - row.y;
    const lane = row.lanes.find((one) => within >= one.y - 1 && within < one.y + one.h + 1) ?? null;
    const grid = gridFor(this.span.t0, this.span.t1, this.width);
    const entry = lane
      ? entryAt(this.source.lanes.cover(lane.id, grid, this.span.t0, this.span.t1), this.span.t0, scale, x, 3)
      : null;
    const value = row.series
      ? valueAt(this.source.series.cover(seriesId(row.series), grid, this.span.t0, this.span.t1), time)
      : null;
    return { row, lane, entry, value, moments: this.momentsAt(row, time, 3 / scale), time };
  }

  /** The row of the slice at a place, -1 for none. */
  private sliceAt(at: Point): number {
    const entry = this.under(at.x, at.y)?.entry;
    return entry ? entry.lane.row[entry.at]! : -1;
  }

  private momentsAt(row: RowBox, at: number, reach: number): string[] {
    const { time, name, track } = this.source!.whole.markers;
    const found: string[] = [];
    for (let i = firstMarker(time, at - reach); i < time.length && time[i]! <= at + reach && found.length < 8; i++) {
      if (track[i]! < 0 || row.lanes.some((lane) => lane.track === track[i])) found.push(name[i]!);
    }
    return found;
  }

  nameOf(number: number): string {
    return this.source?.names.text(number) ?? "";
  }

  redraw(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  /** Names and times of the moments in sight that have no flag, for want of room. */
  get crowded(): { name: string; time: number }[] {
    const markers = this.source?.whole.markers;
    return markers
      ? this.headPainter.crowded
          .filter((i) => i < markers.time.length)
          .map((i) => ({ name: markers.name[i]!, time: markers.time[i]! }))
      : [];
  }

  /** Rows whose top is below the lower edge. */
  get below(): number {
    return this.layout.rows.filter((row) => row.kind !== "group" && row.y >= this.scroll + this.height).length;
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    window.clearTimeout(this.resting);
    window.clearTimeout(this.asked);
    window.clearTimeout(this.scrolling);
    this.watcher.disconnect();
    this.stopTheme();
    this.stopNotes();
    this.viewport.dispose();
  }

  private resize(): void {
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const width = this.element.clientWidth - this.heads.width;
    this.body.style.height = `${this.scroller.clientHeight}px`;
    this.painter.resize(this.scroller.clientWidth - this.heads.width, this.scroller.clientHeight, ratio);
    this.headPainter.resize(width, ratio);
    this.setRows(this.rowOptions);
    if (this.painter.width < 2) return;
    const wanted = Math.min(2000, this.headPainter.width);
    const key = `${this.source?.whole.generation ?? 0}/${wanted}`;
    if (this.source && this.overviewFor !== key && this.source.whole.slices > 0) {
      this.overviewFor = key;
      this.source
        .overview(wanted)
        .then((overview) => {
          this.overview = overview;
          this.redraw();
        })
        .catch(() => undefined);
    }
    this.redraw();
  }

  private draw(): void {
    this.frame = 0;
    const { source } = this;
    if (!source || this.width < 2) return;
    const begun = performance.now();
    const { layout, span, focus } = this;
    this.painter.draw(this.sceneOf(source));
    this.headPainter.draw(this.headOf(source), this.theme);
    const visible = this.painter.visible(layout, this.scroll);
    this.heads.draw(visible, this.scroll, focus?.track ?? -1);
    this.unit.textContent = ticks(span, this.width).unit;
    this.frames.push(performance.now() - begun);
    if (this.frames.length > 2000) this.frames.splice(0, 1000);
    const lanes = visible.flatMap((row) => row.lanes);
    const series = visible.flatMap((row) => (row.series ? [row.series] : []));
    source.want(lanes, series, Math.max(0, span.t0), Math.min(span.t1, source.whole.span), this.width);
    if (!source.waiting) this.settled(visible);
  }

  private sceneOf(source: TimelineSource): Scene {
    const { layout, span, scroll, range, focus, flows, hits } = this;
    return { source, layout, span, scroll, range, focus, flows, hits, notes: notebook.notes };
  }

  private headOf(source: TimelineSource): HeadScene {
    const { range, overview } = this;
    const { t0, t1 } = this.span;
    // the ruler is as wide as the rows even when a scroll bar takes some of it
    const span = { t0, t1: t0 + (t1 - t0) * (this.headPainter.width / this.width) };
    return { span, whole: source.whole.span, range, markers: source.whole.markers, overview };
  }

  /** The window as it is: names, ruler and the rows in sight. */
  private sheet(): Sheet[] {
    const { source, theme, span, width } = this;
    if (!source || width < 2) return [];
    const rows = this.painter.visible(this.layout, this.scroll);
    const end = Math.max(0, ...rows.map((row) => row.y + row.h)) - this.scroll;
    const [left, height] = [this.heads.width, Math.min(this.height, Math.ceil(end) + 1)];
    const [scene, head] = [this.sceneOf(source), this.headOf(source)];
    return [
      {
        title: "Timeline",
        detail: `${span.t0 === 0 ? "0" : duration(span.t0)} to ${duration(span.t1)}`,
        width: left + width,
        height: RULER + height,
        paint: (pen) => {
          pen.save();
          pen.translate(0, RULER);
          drawNames(pen, theme, rows, this.scroll, { width: left, height });
          pen.restore();
          for (const [y, tall, paint] of [
            [0, RULER, () => this.headPainter.paintRuler(pen, head, theme)],
            [RULER, height, () => this.painter.paint(pen, scene)],
          ] as const) {
            pen.save();
            pen.translate(left, y);
            pen.beginPath();
            pen.rect(0, 0, width, tall);
            pen.clip();
            paint();
            pen.restore();
          }
          pen.fillStyle = theme.bg1;
          pen.fillRect(0, 0, left, RULER);
          pen.fillStyle = theme.fg3;
          pen.font = `11px ${theme.ui}`;
          pen.textAlign = "right";
          pen.textBaseline = "middle";
          pen.fillText(ticks(span, width).unit, left - 8, RULER / 2);
        },
      },
    ];
  }

  /** Everything wanted is there: figures beside the names, and whoever waits for the picture. */
  private settled(visible: readonly RowBox[]): void {
    window.clearTimeout(this.asked);
    this.asked = window.setTimeout(() => {
      const grid = gridFor(this.span.t0, this.span.t1, this.width);
      this.heads.setNotes(visible, (row) => {
        const { source } = this;
        if (!source) return "";
        if (row.series) {
          const tile = source.series.cover(seriesId(row.series), grid, this.span.t0, this.span.t1)[0];
          return tile ? { peak: tile.data.peak } : "";
        }
        const lane = row.lanes[0];
        if (row.group !== "Devices" || !lane) return row.note;
        const t0 = Math.max(0, this.span.t0);
        const t1 = Math.min(this.span.t1, source.whole.span);
        return `${Math.round(100 * busyShare(source.lanes.cover(lane.id, grid, t0, t1), t0, t1))}%`;
      });
      this.options.onDrawn();
    }, 30);
  }
}
