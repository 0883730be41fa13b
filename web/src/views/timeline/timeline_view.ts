/** The timeline: the drawing in the middle, figures and the focused slice at the right, everything in the address. */
import { plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { count, duration } from "../../base/format.ts";
import { OneAtATime } from "../../base/one_at_a_time.ts";
import { isAbort } from "../../data/client.ts";
import { NO_RUNS, runsParams, runsQuery } from "../../state/runs.ts";
import { TimelineSource } from "../../data/timeline.ts";
import { clampSpan, type Span } from "../../layout/span.ts";
import { fitSpan } from "../../layout/timeline_scale.ts";
import { numberParam, type Params } from "../../state/place.ts";
import type { CaptureInfo } from "../../wire/capture.ts";
import type { FlowsWire, GapsWire, LinksWire, RangeWire, SliceWire, TimelineWire } from "../../wire/timeline.ts";
import { clearLayer, emptyState, errorState, failure, showLayer, waitFor } from "../common/states.ts";
import type { Page, View, ViewDef } from "../registry.ts";
import { Finder } from "./finder.ts";
import { drawGaps } from "./gaps_pane.ts";
import { around, idSet, keyRange, runsOfSlice, spanOf, toggled } from "./address.ts";
import { drawRange, drawRangeBar, markTrack } from "./range_pane.ts";
import { drawSlice } from "./slice_pane.ts";
import { Stage } from "./stage.ts";
import { timelineStatus } from "./timeline_status.ts";

export const TIMELINE: ViewDef = {
  id: "timeline",
  title: "Timeline",
  panes: { left: null, right: "Details" },
  keys: [
    ["Zoom, pan", "W S A D"],
    ["Select a range", "⇧ drag"],
    ["Slice as range, range up to it", "R ⇧ R"],
    ["Zoom to range or slice", "Z"],
    ["Walk along the track", "← →"],
    ["Rows up, down", "↑ ↓"],
    ["Next, previous hit", "N ⇧N"],
    ["Code of the slice", "Enter"],
    ["Follow the end", "End"],
  ],
  first: ["timeline"],
  available: (info) => ["slices", "counters", "markers", "buffers"].some((table) => (info.tables[table] ?? 0) > 0),
  create: (page) => new TimelineView(page),
};

/** Which flows are drawn: those of the focused slice, all of the window when they are few, none. */
const FLOWS = ["focused", "window", "off"] as const;

/** Of `gaps` in the address: those of everything, whatever range is selected. */
const WHOLE = "whole";

class TimelineView implements View {
  private readonly stage: Stage;
  private readonly finder: Finder;
  private readonly figures = h("div.sec.tl-figures");
  private readonly detail = h("div.sec", { "aria-label": "Focused slice" });
  private readonly spoken = h("div.spoken", { role: "status", "aria-live": "polite" });
  private readonly rangeBar = h("div.bar", h("b", "Whole trace"));
  private readonly gapsButton = h("button.btn", { type: "button", "aria-pressed": "false" }, "Idle gaps");
  private readonly flowsButton = h("button.btn.wide", { type: "button", hidden: true });
  private readonly leaving = new AbortController();
  private source: TimelineSource | null = null;
  private params: Params = {};
  private info: CaptureInfo;
  private slice: SliceWire | null = null;
  private links: LinksWire | null = null;
  private asked = { bar: "", figures: "", slice: "", flows: "" };
  private figuring = new AbortController();
  private slicing = new AbortController();
  private readonly renewal = new OneAtATime(() => this.renew());
  private opening = true;
  /** The window was set to all runs of a kernel: the focused one does not take it for itself. */
  private zoomed = false;
  /** The first picture comes before the figures: both at once would keep each other waiting. */
  private pictured = false;

  constructor(private readonly page: Page) {
    this.info = page.info;
    this.finder = new Finder(page.client, {
      onText: (text) => page.nav.set({ find: text, hit: null, ...NO_RUNS }, "replace"),
      onHit: (row, extent) => {
        this.zoomed = extent !== null;
        page.nav.set({ slice: row, ...(extent ? around({ t0: extent[0], t1: extent[1] }) : {}) }, "replace");
      },
      onHits: (names) => {
        this.stage.hits = names;
        this.stage.redraw();
      },
      onDown: () => this.stage.canvas.focus(),
      from: () => this.slice?.start ?? this.stage.span.t0,
    });
    const fit = h("button.btn", { type: "button", onclick: () => this.fit() }, "Fit ", h("kbd", "Space"));
    page.middle.append(
      h(
        "div.bar",
        this.finder.element,
        this.gapsButton,
        this.flowsButton,
        h("span.grow"),
        h("span.dim.wide", "Drag pans · wheel zooms · ", h("kbd", "⇧"), " drag selects"),
        fit,
      ),
    );
    this.stage = new Stage(page.middle, {
      onMoved: (span) => this.moved(span),
      onScrolled: (y) => page.nav.set({ y: y > 0 ? y : null }, "replace"),
      onRange: (range) => page.nav.set({ r0: range ? range.t0 : null, r1: range ? range.t1 : null }),
      onFocus: (row) => page.nav.set({ slice: row >= 0 ? row : null }, row >= 0 ? "push" : "replace"),
      onOpen: (row) => void this.openCode(row),
      onFold: (id) => page.nav.set({ shut: toggled(this.params["shut"], id) }, "replace"),
      onPin: (id) => page.nav.set({ pin: toggled(this.params["pin"], id) }, "replace"),
      onDrawn: () => this.drawn(),
    });
    page.middle.append(this.spoken);
    this.gapsButton.addEventListener("click", () =>
      page.nav.set({ gaps: this.params["gaps"] === undefined ? 1 : null }),
    );
    this.flowsButton.addEventListener("click", () => {
      const now = FLOWS.indexOf((this.params["flows"] ?? "focused") as (typeof FLOWS)[number]);
      const next = FLOWS[(now + 1) % FLOWS.length]!;
      page.nav.set({ flows: next === "focused" ? null : next }, "replace");
    });
    page.right.append(this.rangeBar, h("div.scroll", this.figures, this.detail));
    void this.load();
  }

  show(params: Params): void {
    this.params = params;
    if (this.source) this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    if (this.stage.viewport.key(event)) return true;
    switch (event.key.length === 1 ? event.key.toLowerCase() : event.key) {
      case "ArrowLeft":
      case "ArrowRight":
        return this.walk(event.key === "ArrowRight" ? 1 : -1);
      case "ArrowUp":
      case "ArrowDown":
        this.stage.scrollBy(event.key === "ArrowDown" ? 44 : -44);
        return true;
      case "z":
        return this.zoomIn();
      case "r":
        this.page.nav.set(keyRange(this.stage.range, this.slice, this.stage.span, event.shiftKey), "replace");
        return true;
      case " ":
        return (this.fit(), true);
      case "End":
        return (this.follow(), true);
      case "n":
        return (void this.finder.step(event.shiftKey ? -1 : 1), true);
      case "Enter":
        if (this.slice) void this.openCode(this.slice.row);
        return this.slice !== null;
      default:
        return false;
    }
  }

  filter(): void {
    this.finder.focus();
  }

  escape(): boolean {
    if (this.params["gaps"] !== undefined) this.page.nav.set({ gaps: null }, "replace");
    else if (this.params["r0"] !== undefined) this.page.nav.set({ r0: null, r1: null }, "replace");
    else if (this.params["slice"] !== undefined) this.page.nav.set({ slice: null }, "replace");
    else if (this.params["find"] !== undefined) this.page.nav.set({ find: null, ...NO_RUNS }, "replace");
    else return false;
    return true;
  }

  grown(info: CaptureInfo): void {
    this.info = info;
    this.renewal.ask();
  }

  dispose(): void {
    this.leaving.abort();
    this.figuring.abort();
    this.slicing.abort();
    this.source?.dispose();
    this.stage.dispose();
  }

  private async load(): Promise<void> {
    const whole = await waitFor(
      this.stage.element,
      { title: "Reading the timeline" },
      (signal) => this.page.client.get<TimelineWire>("timeline", signal),
      this.leaving.signal,
    );
    if (!whole || this.leaving.signal.aborted) return;
    this.source = new TimelineSource(
      this.page.client,
      whole,
      () => this.stage.redraw(),
      () => this.renewal.ask(),
      (error) =>
        showLayer(
          this.stage.element,
          errorState(error, () => {
            clearLayer(this.stage.element);
            this.stage.redraw();
          }),
        ),
    );
    if (whole.tracks.id.length === 0)
      showLayer(
        this.stage.element,
        emptyState("No tracks yet", "The capture has no slices, counters or buffers so far."),
      );
    this.stage.setSource(this.source);
    this.opening = this.params["slice"] !== undefined;
    this.arrive();
    this.stage.scrollTo(numberParam(this.params, "y", 0));
  }

  /** A live capture has more: asks anew, and keeps what is shown until it comes. */
  private async renew(): Promise<void> {
    const whole = await this.page.client.get<TimelineWire>("timeline", this.leaving.signal);
    const { source } = this;
    if (!source || whole.generation === source.whole.generation) return;
    const shift = Number(BigInt(source.whole.origin) - BigInt(whole.origin));
    if (shift !== 0) this.stage.setSpan({ t0: this.stage.span.t0 + shift, t1: this.stage.span.t1 + shift });
    source.renew(whole);
    clearLayer(this.stage.element);
    this.stage.setSource(source);
    this.asked = { bar: "", figures: "", slice: "", flows: "" };
    this.arrive();
    if (this.slice) void this.refocus(this.slice, shift);
  }

  /** Rows are numbered anew when a live capture grows: the focused slice is found by its place. */
  private async refocus(slice: SliceWire, shift: number): Promise<void> {
    const { row } = await this.page.client.get<{ row: number }>(
      `timeline/at?track=${slice.track}&depth=${slice.depth}&time=${slice.start + shift}`,
    );
    if (row >= 0 && row !== slice.row && !this.leaving.signal.aborted) this.page.nav.set({ slice: row }, "replace");
  }

  private arrive(): void {
    const { params, stage } = this;
    stage.setRows({ shut: idSet(params["shut"]), pinned: idSet(params["pin"]), filter: params["find"] ?? "" });
    stage.span = clampSpan(this.wantedSpan(), stage.limits);
    const range = spanOf(params, "r0", "r1");
    stage.range = range;
    this.finder.show(params["find"] ?? "", runsQuery(params), params["slice"] === undefined);
    this.gapsButton.classList.toggle("on", params["gaps"] !== undefined);
    this.gapsButton.setAttribute("aria-pressed", String(params["gaps"] !== undefined));
    this.flowsButton.hidden = this.source!.whole.flows === 0;
    this.flowsButton.textContent = `Flows: ${params["flows"] ?? "focused"}`;
    void this.arriveFigures(range);
    void this.arriveSlice();
    void this.arriveFlows();
    stage.redraw();
    this.drawStatus();
  }

  private wantedSpan(): Span {
    const given = spanOf(this.params, "t0", "t1");
    if (given) return given;
    const { whole } = this.stage;
    const length = numberParam(this.params, "follow", 0);
    return length > 0 ? { t0: whole - length, t1: whole } : fitSpan(whole);
  }

  /** True while the window goes with the end of a live capture. */
  private get following(): boolean {
    return this.params["t0"] === undefined;
  }

  private moved(span: Span): void {
    const fits = span.t0 <= 0 && span.t1 >= this.stage.whole;
    this.page.nav.set(
      fits ? { t0: null, t1: null, follow: null } : { t0: Math.round(span.t0), t1: Math.round(span.t1), follow: null },
      "replace",
    );
  }

  private fit(): void {
    this.stage.setSpan(fitSpan(this.stage.whole));
    this.page.nav.set({ t0: null, t1: null, follow: null }, "replace");
  }

  private follow(): void {
    const { span, whole } = this.stage;
    const length = Math.min(span.t1 - span.t0, whole);
    this.page.nav.set({ t0: null, t1: null, follow: length < whole ? Math.round(length) : null }, "replace");
  }

  private zoomIn(): boolean {
    const target = this.stage.range ?? (this.slice && { t0: this.slice.start, t1: this.slice.start + this.slice.dur });
    if (!target) return false;
    this.page.nav.set(around(target));
    return true;
  }

  private walk(by: 1 | -1): boolean {
    if (!this.slice) {
      this.stage.pan(0.12 * by);
      return true;
    }
    const next = by > 0 ? this.slice.after : this.slice.before;
    if (next >= 0) this.page.nav.set({ slice: next }, "replace");
    return true;
  }

  private async openCode(row: number): Promise<void> {
    const slice =
      this.slice?.row === row
        ? this.slice
        : await this.page.client.get<SliceWire>(`timeline/slice?row=${row}`).catch(() => null);
    if (!slice || slice.context < 0) return;
    const view = this.page.has("code") ? "code" : "rewrites";
    if (this.page.has(view))
      this.page.nav.go({ ...this.page.nav.place, view, params: { context: String(slice.context) } });
  }

  private async arriveFigures(range: Span | null): Promise<void> {
    if (!this.pictured) return;
    const gaps = this.params["gaps"] !== undefined;
    this.drawRangeBar(gaps, range);
    // a gap that was chosen among all is the range then, and the others stay in the list
    const of = this.params["gaps"] === WHOLE ? null : range;
    const key = `${gaps}/${of?.t0}/${of?.t1}/${this.source!.whole.generation}`;
    if (key === this.asked.figures) return;
    this.asked.figures = key;
    this.figuring.abort();
    this.figuring = new AbortController();
    const { signal } = this.figuring;
    if (this.source!.whole.slices === 0) return;
    const times = of ? `?t0=${of.t0}&t1=${of.t1}` : "";
    if (gaps) {
      const wire = await waitFor(
        this.figures,
        { title: "Looking for gaps" },
        (stop) => this.page.client.get<GapsWire>(`timeline/gaps${times}`, stop),
        signal,
      );
      if (wire && !signal.aborted) {
        drawGaps(this.figures, wire, (gap) => {
          const margin = Math.max(gap.dur, 100);
          const chosen = of ? {} : { r0: gap.start, r1: gap.start + gap.dur, gaps: WHOLE };
          this.page.nav.set({ t0: gap.start - margin, t1: gap.start + gap.dur + margin, follow: null, ...chosen });
        });
      }
      return;
    }
    const wire = await waitFor(
      this.figures,
      { title: "Summing up" },
      (stop) => this.page.client.get<RangeWire>(`timeline/range${times}`, stop),
      signal,
    );
    if (!wire || signal.aborted) return;
    await this.source!.names.load(0);
    drawRange(this.figures, wire, {
      colour: (name) => this.source!.names.colour(name),
      // what ran on the host alone is listed there
      top: this.page.has("top")
        ? this.page.nav.address("top", {
            ...(range ? { r0: String(range.t0), r1: String(range.t1) } : {}),
            ...(wire.kernels === 0 && this.source!.whole.tracks.kind.includes("device") ? { group: "host" } : {}),
          })
        : null,
      calls: this.page.has("calls")
        ? this.page.nav.address("calls", range ? { range: `${Math.floor(range.t0)}-${Math.ceil(range.t1)}` } : {})
        : null,
      find: (text, name, context) => {
        const group = wire.kernels > 0 ? "kernels" : "host";
        this.page.nav.set({ ...NO_RUNS, ...runsParams({ text, group, name, context }), slice: null });
      },
      ranged: range !== null,
      tracks: this.source!.whole.tracks,
    });
    markTrack(this.figures, this.slice?.track ?? -1);
    this.page.right.dataset["figures"] = key;
  }

  private drawRangeBar(gaps: boolean, range: Span | null): void {
    const title = gaps ? "Idle gaps" : range ? "Selected range" : "Whole trace";
    const key = `${title}/${range !== null}`;
    if (key === this.asked.bar) return; // a button that has the focus keeps it
    this.asked.bar = key;
    drawRangeBar(this.rangeBar, title, {
      zoomIn: range && (() => this.zoomIn()),
      clear: range || gaps ? () => this.escape() : null,
    });
  }

  private async arriveSlice(): Promise<void> {
    const row = numberParam(this.params, "slice", -1);
    const key = `${row}/${this.source!.whole.generation}`;
    if (key === this.asked.slice) return;
    this.asked.slice = key;
    this.slicing.abort();
    this.slicing = new AbortController();
    const { signal } = this.slicing;
    if (row < 0) {
      this.slice = this.links = null;
      this.stage.focus = null;
      this.stage.flows = [];
      markTrack(this.figures, -1);
      this.spoken.textContent = "";
      delete this.page.right.dataset["slice"];
      fill(this.detail, h("p.faint", "Click a slice for what it is, what it used and where it came from."));
      this.stage.redraw();
      return;
    }
    try {
      const slice = await this.page.client.get<SliceWire>(`timeline/slice?row=${row}`, signal);
      const first = this.slice === null;
      this.slice = slice;
      this.links = null;
      markTrack(this.figures, slice.track);
      this.stage.focus = { row, track: slice.track, depth: slice.depth, start: slice.start, dur: slice.dur };
      // an address that says both where to look and what is focused is shown as it is
      if (!this.opening || this.params["t0"] === undefined) this.stage.reveal(this.stage.focus, first && !this.zoomed);
      this.opening = this.zoomed = false;
      this.stage.redraw();
      this.spoken.textContent = `${plain(slice.name)}, ${duration(slice.dur)}, on ${slice.trackName}`;
      this.drawDetail();
      this.links = await this.page.client.get<LinksWire>(`timeline/links?row=${row}`, signal);
      this.drawDetail();
      this.asked.flows = "";
      void this.arriveFlows();
    } catch (error) {
      if (isAbort(error)) return;
      fill(
        this.detail,
        failure(error, () => {
          this.asked.slice = "";
          void this.arriveSlice();
        }),
      );
    }
  }

  private drawDetail(): void {
    if (!this.slice) return;
    drawSlice(this.detail, this.page, this.slice, this.links, {
      go: (row) => this.page.nav.set({ slice: row }),
      runs: (slice) => {
        this.page.nav.set(runsOfSlice(slice, this.source!.whole.tracks));
      },
      close: () => this.page.nav.set({ slice: null }, "replace"),
    });
    this.page.right.dataset["slice"] = `${this.slice.row}${this.links ? "/links" : ""}`;
  }

  /** Arrows of the focused slice, or of the whole window when they are few enough to read. */
  private async arriveFlows(): Promise<void> {
    const mode = this.params["flows"] ?? "focused";
    if (mode !== "window") {
      this.stage.flows = mode === "focused" ? (this.links?.flows ?? []) : [];
      this.asked.flows = "";
      this.stage.redraw();
      return;
    }
    const { t0, t1 } = this.stage.span;
    const key = `${Math.round(t0)}/${Math.round(t1)}`;
    if (key === this.asked.flows || this.source!.whole.flows === 0) return;
    this.asked.flows = key;
    try {
      const wire = await this.page.client.get<FlowsWire>(
        `timeline/flows?t0=${Math.round(t0)}&t1=${Math.round(t1)}&most=400`,
        this.leaving.signal,
      );
      if (this.asked.flows !== key) return;
      this.stage.flows = wire.flows.length > 0 ? wire.flows : (this.links?.flows ?? []);
      if (wire.total > wire.flows.length) this.flowsButton.textContent = `Flows: ${count(wire.total)}, zoom in`;
      this.stage.redraw();
    } catch (error) {
      if (!isAbort(error)) this.asked.flows = "";
    }
  }

  private drawn(): void {
    const { t0, t1 } = this.stage.span;
    this.page.middle.dataset["shown"] = `${Math.round(t0)}/${Math.round(t1)}`;
    this.drawStatus();
    if (this.pictured) return;
    this.pictured = true;
    void this.arriveFigures(this.stage.range);
  }

  private drawStatus(): void {
    const { source, stage } = this;
    if (!source) return;
    const { left, right } = timelineStatus(stage, source.whole, (change, mode) => this.page.nav.set(change, mode));
    if (this.info.live) right.push(this.followNote());
    this.page.status(left, right);
  }

  private followNote(): HTMLElement {
    if (this.following) return h("span", "following the end");
    const button = h("button.endkey", { type: "button", onclick: () => this.follow() }, h("kbd", "End"));
    return h("span", "following the end is off ", button);
  }
}
