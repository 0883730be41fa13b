/** Two timelines one above the other, aligned at a moment that both have; they are panned and zoomed together. */
import { fill, h } from "../../base/dom.ts";
import { counted, duration } from "../../base/format.ts";
import { isAbort } from "../../data/client.ts";
import type { BothWindowsWire, CompareWire, LanesWire } from "../../wire/compare.ts";
import { fitLabel, fitTitle, type Advance } from "../../layout/timeline_labels.ts";
import { ticks, type Ticks } from "../../layout/timeline_scale.ts";
import { sizedPen } from "../common/sized_pen.ts";
import { failure } from "../common/states.ts";
import { sideChip } from "./side_chip.ts";

export interface TimelineSource {
  window(query: string, signal: AbortSignal): Promise<BothWindowsWire>;
  /** What it is aligned at, from the address: begin, kernel, or a marker's name. */
  align(): string;
  setAlign(value: string): void;
  /** Window from the address: where it begins and how long it is, ns from the moment of alignment; null for all. */
  view(): [number, number] | null;
  setView(from: number, length: number): void;
  kernel: { a: string; b: string } | null;
  /** The pass in which the chosen pair parts: the numbers of the step on either side. */
  pass: { name: string; a: number; b: number } | null;
}

/** What of the chosen pair both timelines can be aligned at: its first runs, and the pass in which it parts. */
export function atPair(found: CompareWire, name: string): Pick<TimelineSource, "kernel" | "pass"> {
  const row = found.kernels.find((one) => one.name === name);
  const parted = found.divergence.find((one) => one.a === name || one.b === name);
  const both = parted && parted.stepA >= 0 && parted.stepB >= 0;
  return {
    kernel: row && row.a !== "" && row.b !== "" ? { a: row.a, b: row.b } : null,
    pass: both ? { name: parted.step, a: parted.stepA, b: parted.stepB } : null,
  };
}

/** A window of the address: where it begins and how long it is; null for none. */
export function parseWindow(text: string | undefined): [number, number] | null {
  const parts = (text ?? "").split(",").map(Number);
  return parts.length === 2 && parts.every(Number.isFinite) && parts[1]! > 0 ? [parts[0]!, parts[1]!] : null;
}

const ALIGNED = { kernel: "the first run of ", pass: "the pass ", marker: "marker ", step: "" } as const;

const HEAD = 118;
const LANE = 22;
const GAP = 4;
const RULER = 22;

export class TimelinePair {
  readonly element: HTMLElement;
  private readonly canvases: Record<"a" | "b", HTMLCanvasElement>;
  private readonly pick = h("select", { "aria-label": "Aligned at" }) as HTMLSelectElement;
  private readonly scale = h("span.dim");
  private readonly ruler = h("canvas.cmp-ruler", { "aria-hidden": "true" }) as HTMLCanvasElement;
  private readonly tip = h("div.cmp-tip", { hidden: true });
  private readonly host = h("div.cmp-timelines");
  private data: BothWindowsWire | null = null;
  private asking = new AbortController();
  private offsets: [number, number] = [0, 0];
  private from = 0;
  private length = 0;
  private waiting = 0;
  private readonly watcher: ResizeObserver;

  constructor(private readonly source: TimelineSource) {
    const canvas = (): HTMLCanvasElement => h("canvas", { tabindex: 0 }) as HTMLCanvasElement;
    this.canvases = { a: canvas(), b: canvas() };
    this.host.append(
      this.ruler,
      h("div.cmp-track", h("div.row.half-head", sideChip("a")), this.canvases.a),
      h("div.cmp-track", h("div.row.half-head", sideChip("b")), this.canvases.b),
      this.tip,
    );
    this.pick.addEventListener("change", () => {
      source.setAlign(this.pick.value);
    });
    this.element = h(
      "div.cmp-fill",
      h(
        "div.bar",
        h("label.dim", "Aligned at ", this.pick),
        h("span.grow"),
        this.scale,
        h("button.btn", { type: "button", onclick: () => this.all() }, "Fit"),
      ),
      this.host,
    );
    for (const side of ["a", "b"] as const) this.gestures(this.canvases[side], side);
    this.watcher = new ResizeObserver(() => this.ask());
    this.watcher.observe(this.host);
  }

  dispose(): void {
    this.watcher.disconnect();
    this.asking.abort();
    window.clearTimeout(this.waiting);
  }

  /** The address changed. */
  show(): void {
    void this.begin();
  }

  private async begin(): Promise<void> {
    this.asking.abort();
    this.asking = new AbortController();
    const { kernel, pass } = this.source;
    let named = kernel ? `&kernel=${encodeURIComponent(kernel.a)}&kernelB=${encodeURIComponent(kernel.b)}` : "";
    if (pass) named += `&pass=${encodeURIComponent(pass.name)}&stepA=${pass.a}&stepB=${pass.b}`;
    try {
      const first = await this.source.window(
        `window?moments=1&pixels=1&a0=0&a1=1&b0=0&b1=1${named}`,
        this.asking.signal,
      );
      this.align(first);
    } catch (error) {
      if (!isAbort(error))
        fill(
          this.host,
          failure(error, () => this.show()),
        );
      return;
    }
    this.ask();
  }

  private align(first: BothWindowsWire): void {
    const wanted = this.source.align();
    const options: [string, string, [number, number]][] = [["begin", "the begin", [0, 0]]];
    for (const { kind, name, a, b } of first.moments ?? [])
      options.push([kind === "kernel" || kind === "pass" ? kind : `${kind}:${name}`, ALIGNED[kind] + name, [a, b]]);
    const found = options.find((option) => option[0] === wanted) ?? options[0]!;
    fill(this.pick, ...options.map(([value, label]) => h("option", { value, selected: value === found[0] }, label)));
    this.offsets = found[2];
    const before = Math.max(...this.offsets);
    const after = Math.max(first.a.length - this.offsets[0], first.b.length - this.offsets[1]);
    const kept = this.source.view();
    [this.from, this.length] = kept ?? [-before, Math.max(1, before + after)];
    this.whole = [-before, Math.max(1, before + after)];
  }

  private whole: [number, number] = [0, 1];

  private all(): void {
    [this.from, this.length] = this.whole;
    this.moved();
  }

  private moved(): void {
    this.draw();
    window.clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => {
      this.source.setView(Math.round(this.from), Math.round(this.length));
      this.ask();
    }, 60);
  }

  private get width(): number {
    return Math.max(50, this.host.clientWidth - HEAD);
  }

  private ask(): void {
    if (this.length <= 0 || this.host.clientWidth === 0) return;
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const [a, b] = this.offsets.map((offset) => Math.floor(offset + this.from));
    const long = Math.ceil(this.length);
    const query = `window?pixels=${Math.round(this.width)}&a0=${a}&a1=${a! + long}&b0=${b}&b1=${b! + long}`;
    this.source.window(query, signal).then(
      (data) => {
        this.data = data;
        this.draw();
      },
      (error: unknown) => {
        if (!isAbort(error)) this.scale.textContent = "The server does not answer.";
      },
    );
  }

  private draw(): void {
    if (!this.data) return;
    this.drawRuler();
    this.drawSide("a", this.data.a, this.offsets[0]);
    this.drawSide("b", this.data.b, this.offsets[1]);
    const hidden = Math.max(this.data.a.left_out, this.data.b.left_out);
    const rest = hidden > 0 ? `${counted(hidden, "track")} more not drawn · ` : "";
    this.scale.textContent = `${rest}${duration(this.length)} in sight`;
    this.host.dataset["drawn"] = `${this.data.a.lanes.length}/${this.data.b.lanes.length}`;
  }

  /** Times from the moment at which both are aligned. */
  private drawRuler(): void {
    const pen = this.pen(this.ruler, RULER);
    const found = this.ticks;
    pen.fillStyle = colour("--fg-3");
    pen.fillText(found.unit, 8, RULER / 2);
    let free = HEAD;
    for (const time of found.times) {
      const at = HEAD + this.x(time);
      const left = Math.round(at) + 4;
      pen.fillStyle = colour("--line-2");
      pen.fillRect(Math.round(at), RULER - 6, 1, 6);
      const text = found.label(time);
      const end = left + pen.measureText(text).width;
      if (left < free || end > HEAD + this.width) continue;
      pen.fillStyle = colour("--fg-2");
      pen.fillText(text, left, RULER / 2);
      free = end + 8;
    }
  }

  private get ticks(): Ticks {
    return ticks({ t0: this.from, t1: this.from + this.length }, this.width, 90);
  }

  /** A canvas that is empty, as wide as both timelines. */
  private pen(canvas: HTMLCanvasElement, height: number): CanvasRenderingContext2D {
    const width = this.width + HEAD;
    canvas.style.height = `${height}px`;
    const pen = sizedPen(canvas, width, height);
    pen.fillStyle = colour("--bg-0");
    pen.fillRect(0, 0, width, height);
    pen.font = `11px ${colour("--font-ui") || "sans-serif"}`;
    pen.textBaseline = "middle";
    return pen;
  }

  private drawSide(side: "a" | "b", lanes: LanesWire, offset: number): void {
    const canvas = this.canvases[side];
    const height = lanes.lanes.length * (LANE + GAP) + 8;
    const pen = this.pen(canvas, height);
    const marks = this.ticks.times.map((time) => Math.round(HEAD + this.x(time)));
    const advance = advanceOf(pen);
    lanes.lanes.forEach((lane, at) => {
      const y = 4 + at * (LANE + GAP);
      pen.fillStyle = colour("--fg-2");
      pen.fillText(fitTitle(lane.title, HEAD - 16, advance), 8, y + LANE / 2);
      pen.fillStyle = colour("--bg-1");
      pen.fillRect(HEAD, y, this.width, LANE);
      pen.fillStyle = colour("--line-1");
      for (const mark of marks) pen.fillRect(mark, y, 1, LANE);
      pen.save();
      pen.beginPath();
      pen.rect(HEAD, y, this.width, LANE);
      pen.clip();
      for (let i = 0; i < lane.start.length; i++) {
        const x0 = HEAD + this.x(lane.start[i]! - offset);
        const x1 = HEAD + this.x(lane.end[i]! - offset);
        if (x1 < HEAD || x0 > HEAD + this.width) continue;
        const name = lanes.names[lane.name[i]!] ?? "";
        const number = 1 + (hash(name) % 12);
        pen.fillStyle = colour(`--cat-${number}`);
        const wide = Math.max(x1 - x0 - 0.5, 0.75);
        pen.fillRect(x0, y + 1, wide, LANE - 2);
        const left = Math.max(x0, HEAD) + 4;
        const room = Math.min(x1, HEAD + this.width) - left - 3;
        if (room > 22 && lane.count[i]! <= 1) {
          pen.fillStyle = colour(`--cat-${number}-ink`) || colour("--bg-0");
          pen.fillText(fitLabel(name, room, advance), left, y + LANE / 2);
        }
      }
      pen.restore();
    });
    const zero = HEAD + this.x(0);
    if (zero >= HEAD && zero <= HEAD + this.width) {
      pen.fillStyle = colour("--accent");
      pen.fillRect(Math.round(zero), 0, 1, height);
    }
  }

  private x(time: number): number {
    return ((time - this.from) / this.length) * this.width;
  }

  private gestures(canvas: HTMLCanvasElement, side: "a" | "b"): void {
    canvas.setAttribute("aria-label", `Timeline of ${side.toUpperCase()}`);
    let held: { x: number; from: number } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, from: this.from };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        this.from = held.from - ((event.clientX - held.x) / this.width) * this.length;
        this.moved();
      } else this.hover(event, canvas, side);
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (held = null));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const at = (event.clientX - canvas.getBoundingClientRect().left - HEAD) / this.width;
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
          this.from += ((event.deltaX || event.deltaY) / this.width) * this.length;
        else this.zoom(Math.exp(event.deltaY * 0.002), Math.max(0, Math.min(1, at)));
        this.moved();
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      const step = this.length / 10;
      if (event.key === "ArrowLeft" || event.key === "a") this.from -= step;
      else if (event.key === "ArrowRight" || event.key === "d") this.from += step;
      else if (event.key === "+" || event.key === "w") this.zoom(0.7, 0.5);
      else if (event.key === "-" || event.key === "s") this.zoom(1.4, 0.5);
      else return;
      event.preventDefault();
      event.stopPropagation();
      this.moved();
    });
  }

  private zoom(factor: number, at: number): void {
    const length = Math.max(100, Math.min(4 * this.whole[1], this.length * factor));
    this.from += (this.length - length) * at;
    this.length = length;
  }

  private hover(event: PointerEvent, canvas: HTMLCanvasElement, side: "a" | "b"): void {
    const lanes = this.data?.[side];
    const box = canvas.getBoundingClientRect();
    const lane = lanes?.lanes[Math.floor((event.clientY - box.top - 4) / (LANE + GAP))];
    const offset = this.offsets[side === "a" ? 0 : 1];
    const time = this.from + ((event.clientX - box.left - HEAD) / this.width) * this.length + offset;
    const at = lane ? lane.start.findIndex((start, i) => start <= time && lane.end[i]! > time) : -1;
    this.tip.hidden = at < 0;
    if (at < 0 || !lane) return;
    const several = lane.count[at]! > 1 ? ` and ${lane.count[at]! - 1} more` : "";
    fill(
      this.tip,
      h("b", (lanes.names[lane.name[at]!] ?? "") + several),
      h("span", ` ${duration(lane.end[at]! - lane.start[at]!)}`),
    );
    const host = this.host.getBoundingClientRect();
    this.tip.style.left = `${Math.min(event.clientX - host.left + 12, host.width - 260)}px`;
    this.tip.style.top = `${event.clientY - host.top + 14}px`;
  }
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** How wide letters are, each measured once a drawing. */
function advanceOf(pen: CanvasRenderingContext2D): Advance {
  const known = new Map<string, number>();
  return (char) => {
    let width = known.get(char);
    if (width === undefined) known.set(char, (width = pen.measureText(char).width));
    return width;
  };
}

function hash(text: string): number {
  let value = 7;
  for (let at = 0; at < text.length; at++) value = (value * 31 + text.charCodeAt(at)) >>> 0;
  return value;
}
