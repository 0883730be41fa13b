/** The drawing of a device's memory: draws at most once a frame, finds what is under the pointer. Knows no address. */
import { h } from "../../base/dom.ts";
import {
  bandBox,
  drawMemory,
  foldedOf,
  frameOf,
  LEFT,
  memoryTheme,
  RIGHT,
  xOf,
  type MemoryPicture,
  type MemoryTheme,
} from "../../draw/memory_draw.ts";
import { readTheme } from "../../draw/theme.ts";
import type { Sheet } from "../../draw/sheet/sheet.ts";
import { bufferColour, clock, highest, planBands } from "../../layout/memory_bands.ts";
import { clampSpan, type Limits, type Span } from "../../layout/span.ts";
import { traceLimits } from "../../layout/timeline_scale.ts";
import { onTheme } from "../../state/settings.ts";
import type { BandColumns, BufferWire, DeviceWire, MemoryWindow } from "../../wire/memory.ts";
import { offerSheets } from "../common/sheets.ts";
import { AxisViewport, type AxisTarget } from "../common/viewport/axis_viewport.ts";
import type { Point } from "../common/viewport/gestures.ts";
import { describeMemory } from "./memory_tip.ts";

export interface Under {
  time: number;
  /** Place of the band, -1 for none. */
  band: number;
  /** In the drawing of the total. */
  total: boolean;
  /** On the strip of what is folded. */
  strip: boolean;
}

export interface StageEvents {
  onMoved(span: Span): void;
  onClick(under: Under): void;
  onNeed(span: Span, width: number): void;
  /** Bands were laid out: which buffers have one. */
  onLaid(drawn: ReadonlySet<number>): void;
  onDrawn(): void;
}

const SETTLE_MS = 120;
const NO_BANDS: BandColumns = {
  alloc: new Float64Array(), free: new Float64Array(), offset: new Float64Array(), bytes: new Float64Array(), id: new Float64Array(),
  dtype: new Int32Array(), name: new Int32Array(),
}; // prettier-ignore

export class MemoryStage implements AxisTarget {
  readonly element = h("div.stage");
  readonly canvas = h("canvas.mem-canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": "Memory over time",
  }) as HTMLCanvasElement;
  readonly picture: MemoryPicture = {
    span: { t0: 0, t1: 1 },
    data: null,
    bands: NO_BANDS,
    plan: planBands(NO_BANDS, 0, 1),
    byColour: [],
    peak: 0,
    peakTime: 0,
    highest: { time: 0, value: 0 },
    buffers: true,
    several: false,
    selected: -1,
    selectedFolded: false,
    cursor: null,
    reserved: 0,
    ooms: [],
  };
  whole = 1;
  private device = "";
  readonly viewport: AxisViewport;
  /** Whether bands that are too small to be seen each are drawn as one. */
  merge = true;
  /** How many frames were drawn, and what the last one took, ms: for the benchmark. */
  frames = 0;
  lastFrame = 0;
  private readonly context = this.canvas.getContext("2d", { alpha: false })!;
  private settling = 0;
  private theme: MemoryTheme | null = null;
  private frame = 0;
  private size = { width: 0, height: 0, ratio: 1 };
  private chosen: BufferWire | null = null;
  private readonly watcher: ResizeObserver;
  private readonly stopTheme: () => void;

  constructor(
    host: HTMLElement,
    private readonly events: StageEvents,
  ) {
    this.element.append(this.canvas);
    host.append(this.element);
    Object.assign(this.canvas, { memoryStage: this });
    this.stopTheme = onTheme(() => {
      this.theme = null;
      this.redraw();
    });
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(this.element);
    this.viewport = new AxisViewport(this.canvas, this);
    offerSheets(this.element, () => this.sheet());
  }

  get width(): number {
    return this.size.width;
  }

  /** Width of the time axis. */
  get room(): number {
    return Math.max(1, this.size.width - LEFT - RIGHT);
  }

  /** Whether the window rests and its bands are laid out for it. */
  get settled(): boolean {
    return this.settling === 0;
  }

  get span(): Span {
    return this.picture.span;
  }

  get limits(): Limits {
    return traceLimits(this.whole);
  }

  get axis(): { left: number; width: number } {
    return { left: LEFT, width: this.room };
  }

  setDevice(device: DeviceWire, whole: number, several: boolean): void {
    this.device = device.name;
    this.picture.several = several;
    this.picture.peak = device.peak;
    this.picture.peakTime = device.peakTime;
    this.picture.ooms = device.ooms;
    this.whole = whole;
    this.redraw();
  }

  setSpan(span: Span): void {
    this.picture.span = clampSpan(span, this.limits);
    // while the window moves, bands stay where they are; what lives through it is folded when it rests
    window.clearTimeout(this.settling);
    this.settling = window.setTimeout(() => {
      this.settling = 0;
      this.lay();
    }, SETTLE_MS);
    this.redraw();
  }

  setData(data: MemoryWindow | null): void {
    this.picture.data = data;
    this.lay();
  }

  /** Lays the bands out anew: what is drawn how has changed. */
  relay(): void {
    this.lay();
  }

  /** The selected buffer; it has a band even when the server left it out. */
  choose(buffer: BufferWire | null): void {
    this.chosen = buffer;
    this.picture.selected = buffer?.id ?? -1;
    this.lay();
  }

  /** The user moves. */
  move(span: Span): void {
    this.setSpan(span);
    this.events.onMoved(this.span);
  }

  click(at: Point): void {
    const under = this.under(at.x, at.y);
    if (under) this.events.onClick(under);
  }

  cursor(at: Point): string {
    return (this.under(at.x, at.y)?.band ?? -1) >= 0 ? "pointer" : "";
  }

  describe(at: Point): HTMLElement[] | null {
    const under = this.under(at.x, at.y);
    return under && describeMemory(this, under);
  }

  timeAt(x: number): number {
    return this.span.t0 + ((x - LEFT) / this.room) * (this.span.t1 - this.span.t0);
  }

  under(x: number, y: number): Under | null {
    if (x < LEFT || x > this.size.width - RIGHT) return null;
    const { picture } = this;
    const frame = frameOf(picture, this.size.height);
    const found: Under = { time: this.timeAt(x), band: -1, total: y <= frame.totalBottom, strip: false };
    if (!picture.buffers || found.total) return found;
    found.strip = y > frame.bandBottom && foldedOf(picture).count > 0;
    for (let i = picture.bands.id.length - 1; i >= 0; i--) {
      const box = bandBox(i, picture, frame, this.size.width);
      if (box && x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h) {
        found.band = i;
        break;
      }
    }
    return found;
  }

  /** Where a buffer's band is on the canvas. */
  boxOf(id: number): { x: number; y: number; w: number; h: number } | null {
    const at = this.picture.bands.id.indexOf(id);
    return at < 0 ? null : bandBox(at, this.picture, frameOf(this.picture, this.size.height), this.size.width);
  }

  xOf(time: number): number {
    return xOf(time, this.span, this.size.width);
  }

  redraw(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    this.frame = -1;
    window.clearTimeout(this.settling);
    this.watcher.disconnect();
    this.stopTheme();
    this.viewport.dispose();
  }

  /** Gives each band its place: when there are others, and when the window rests. */
  private lay(): void {
    const { picture, chosen } = this;
    let bands = picture.data?.bands ?? NO_BANDS;
    const { data } = picture;
    if (data && chosen && bands.id.indexOf(chosen.id) < 0 && !this.isFolded(chosen, data))
      bands = withBuffer(bands, chosen);
    picture.bands = bands;
    const { t0, t1 } = picture.span;
    picture.plan = planBands(bands, t0, t1);
    if (this.merge) {
      // what would be lower than half a pixel is drawn as one: a pixel each would say too much, nothing too little
      const frame = frameOf(picture, this.size.height);
      const least = (0.5 * picture.plan.height) / Math.max(1, frame.bandBottom - frame.bandTop);
      picture.plan = planBands(bands, t0, t1, least, chosen ? bands.id.indexOf(chosen.id) : -1);
    }
    if (data) {
      picture.highest = highest(data.total.start, data.total.high, picture.span.t0, picture.span.t1);
      picture.reserved = highest(data.reserved.start, data.reserved.high, picture.span.t0, picture.span.t1).value;
    }
    const groups: number[][] = Array.from({ length: 13 }, () => []);
    const drawn = new Set<number>();
    for (let i = 0; i < bands.id.length; i++) {
      if (Number.isNaN(picture.plan.low[i]!)) continue;
      groups[bufferColour(bands.id[i]!)]!.push(i);
      drawn.add(bands.id[i]!);
    }
    picture.selectedFolded =
      chosen !== null && chosen.alloc <= picture.span.t0 && (chosen.free ?? Infinity) >= picture.span.t1;
    picture.byColour = groups.map((places) => Uint32Array.from(places));
    this.events.onLaid(drawn);
    this.redraw();
  }

  /** A buffer that is not among the bands of its window, but lives in it from end to end, is in the strip. */
  private isFolded(buffer: BufferWire, data: MemoryWindow): boolean {
    const { start } = data.total;
    if (start.length === 0) return false;
    const last = start[start.length - 1]! + data.width;
    return buffer.alloc <= start[0]! && (buffer.free ?? Infinity) >= Math.floor(last);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const ratio = window.devicePixelRatio || 1;
    if (width === 0 || height === 0) return;
    this.size = { width, height, ratio };
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    cancelAnimationFrame(this.frame);
    this.draw();
  }

  private get colours(): MemoryTheme {
    return (this.theme ??= memoryTheme(
      readTheme(this.canvas),
      getComputedStyle(this.canvas).getPropertyValue("--grid").trim() || "#888",
    ));
  }

  private sheet(): Sheet[] {
    const { width, height } = this.size;
    if (width === 0) return [];
    const { span } = this;
    const exact = [(span.t1 - span.t0) / this.room, span.t1 - span.t0] as const;
    return [
      {
        title: "Memory",
        detail: `${this.device}, ${clock(span.t0, ...exact)} to ${clock(span.t1, ...exact)}`,
        width,
        height,
        paint: (pen) => drawMemory(pen, width, height, this.picture, this.colours),
      },
    ];
  }

  private draw(): void {
    this.frame = 0;
    const { width, height, ratio } = this.size;
    if (width === 0) return;
    const begun = performance.now();
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawMemory(this.context, width, height, this.picture, this.colours);
    this.lastFrame = performance.now() - begun;
    this.frames++;
    this.events.onNeed(this.span, this.room);
    this.events.onDrawn();
  }
}

function withBuffer(bands: BandColumns, buffer: BufferWire): BandColumns {
  const add = (column: Float64Array, value: number): Float64Array => {
    const longer = new Float64Array(column.length + 1);
    longer.set(column);
    longer[column.length] = value;
    return longer;
  };
  const blank = (column: Int32Array): Int32Array => {
    const longer = new Int32Array(column.length + 1).fill(-1);
    longer.set(column);
    return longer;
  };
  return {
    alloc: add(bands.alloc, buffer.alloc),
    free: add(bands.free, buffer.free ?? Infinity),
    offset: add(bands.offset, buffer.offset),
    bytes: add(bands.bytes, buffer.bytes),
    id: add(bands.id, buffer.id),
    dtype: blank(bands.dtype),
    name: blank(bands.name),
  };
}
