/**
 * Memory: total and bands of a device over time, what was alive at a moment, one buffer. Everything is in the address.
 */
import { fill, h } from "../../base/dom.ts";
import { bufferHandle, bytes, duration } from "../../base/format.ts";
import { isAbort } from "../../data/client.ts";
import { clock } from "../../layout/memory_bands.ts";
import { homeSpan, sameSpan } from "../../layout/memory_span.ts";
import type { Span } from "../../layout/span.ts";
import { fitSpan, moment } from "../../layout/timeline_scale.ts";
import { numberParam, type Params } from "../../state/place.ts";
import type { AliveWire, BufferWire, DeviceWire, MemoryWire } from "../../wire/memory.ts";
import { clearLayer, emptyState, errorState, failure, showLayer, waitFor } from "../common/states.ts";
import type { Page, View, ViewDef } from "../registry.ts";
import { drawBuffer } from "./buffer_pane.ts";
import { LeftPane } from "./left_pane.ts";
import { statusParts } from "./memory_status.ts";
import { MemoryWindows } from "./memory_windows.ts";
import { SegmentsPane } from "./segments_pane.ts";
import { MemoryStage, type Under } from "./stage.ts";

export const MEMORY: ViewDef = {
  id: "memory",
  title: "Memory",
  panes: { left: "Devices and alive buffers", right: "Buffer" },
  keys: [
    ["Zoom, pan", "W S A D"],
    ["Go to peak", "P"],
    ["Next, previous allocation", "→ ←"],
    ["Band above, below", "↑ ↓"],
  ],
  first: ["memory"],
  available: (info) => (info.tables["buffers"] ?? 0) > 0,
  create: (page) => new MemoryView(page),
};

/** What the address calls a device without a name: an empty parameter is none. */
const UNNAMED = "unnamed";
/** So many buffers take a moment to be placed: their total is shown before. */
const SLOW = 20_000;
/** A buffer that takes less of the window than this is zoomed to when a link opens it. */
const TINY = 0.02;

class MemoryView implements View {
  private readonly left: LeftPane;
  private readonly stage: MemoryStage;
  private readonly source: MemoryWindows;
  private readonly segments: SegmentsPane;
  private readonly deviceName = h("b.name.ell");
  private readonly windowText = h("span.dim.ell.grow");
  private readonly modes = h("span.seg", { role: "group", "aria-label": "What to show" });
  private readonly bufferId = h("span.mono");
  private readonly closeButton = h(
    "button.btn",
    {
      type: "button",
      "aria-label": "Close",
      title: "Close (Esc)",
      hidden: true,
      onclick: () => this.page.nav.set({ buffer: null }, "replace"),
    },
    "✕",
  );
  private readonly detail = h("div.scroll");
  private readonly said = h("div.offscreen", { "aria-live": "polite" });
  private readonly leaving = new AbortController();
  private params: Params = {};
  private wire: MemoryWire | null = null;
  private device: DeviceWire | null = null;
  private buffer: BufferWire | null = null;
  private asked = { alive: "", buffer: "", span: "", status: "" };
  private requests = { alive: new AbortController(), buffer: new AbortController() };
  private opening = true;

  constructor(private readonly page: Page) {
    this.left = new LeftPane(page.left, {
      device: (name) => page.nav.set({ device: name || UNNAMED, buffer: null, time: null, ...this.spanFor(name) }),
      buffer: (id) => page.nav.set({ buffer: id }),
      filter: (text) => page.nav.set({ q: text === "" ? null : text }, "replace"),
    });
    page.middle.append(
      h(
        "div.bar",
        this.deviceName,
        this.windowText,
        this.modes,
        h("button.btn", { type: "button", onclick: () => this.goToPeak() }, "Go to peak", h("kbd.wide", "P")),
        h("button.btn", { type: "button", onclick: () => this.fit() }, "Fit", h("kbd.wide", "Space")),
      ),
    );
    this.stage = new MemoryStage(page.middle, {
      onMoved: (span) => this.moved(span),
      onClick: (under) => this.pick(under),
      onNeed: (span, width) => this.device && this.source.need(span, width),
      onLaid: (drawn) => {
        this.left.setDrawn(drawn);
        this.drawStatus();
      },
      onDrawn: () => this.drawn(),
    });
    this.segments = new SegmentsPane(page.middle, page.client, {
      buffer: (id) => page.nav.set({ buffer: id }),
      time: (time) => page.nav.set({ time }, "replace"),
    });
    page.middle.append(this.said);
    this.source = new MemoryWindows(
      page.client,
      1,
      () => this.arrived(),
      (error) =>
        showLayer(
          this.stage.element,
          errorState(error, () => {
            clearLayer(this.stage.element);
            this.stage.redraw();
          }),
        ),
    );
    page.right.append(h("div.bar", h("b", "Buffer"), this.bufferId, h("span.grow"), this.closeButton), this.detail);
    void this.load();
  }

  show(params: Params): void {
    this.params = params;
    if (this.wire) this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    if (!this.device) return false;
    if (this.stage.viewport.key(event)) return true;
    switch (event.key.length === 1 ? event.key.toLowerCase() : event.key) {
      case " ":
        this.fit();
        return true;
      case "p":
        this.goToPeak();
        return true;
      case "ArrowRight":
        return this.walk(1);
      case "ArrowLeft":
        return this.walk(-1);
      case "ArrowUp":
        return this.climb(1);
      case "ArrowDown":
        return this.climb(-1);
      default:
        return false;
    }
  }

  filter(): void {
    this.left.focusFilter();
  }

  escape(): boolean {
    const innermost = ["buffer", "time"].find((name) => this.params[name] !== undefined);
    if (innermost === undefined) return false;
    this.page.nav.set({ [innermost]: null }, "replace");
    return true;
  }

  grown(): void {
    void this.page.client
      .get<MemoryWire>("memory", this.leaving.signal)
      .then((wire) => {
        this.wire = wire;
        this.left.setDevices(wire.devices, wire.several);
        clearLayer(this.stage.element);
        // the buffers may be numbered anew, and their ends have moved: everything is asked for again
        this.asked = { alive: "", buffer: "", span: "", status: "" };
        this.opening = false;
        if (wire.devices.length > 0) this.arrive();
      })
      .catch(() => undefined);
  }

  dispose(): void {
    this.leaving.abort();
    this.requests.alive.abort();
    this.requests.buffer.abort();
    this.source.dispose();
    this.stage.dispose();
    this.segments.dispose();
    this.left.dispose();
  }

  private get whole(): number {
    return this.wire?.duration ?? 1;
  }

  private async load(): Promise<void> {
    const wire = await waitFor(
      this.stage.element,
      { title: "Reading buffers" },
      (signal) => this.page.client.get<MemoryWire>("memory", signal),
      this.leaving.signal,
    );
    if (!wire || this.leaving.signal.aborted) return;
    this.wire = wire;
    this.left.setDevices(wire.devices, wire.several);
    if (wire.devices.length === 0)
      showLayer(this.stage.element, emptyState("No buffers yet", "The capture has no allocation so far."));
    else this.arrive();
  }

  private arrive(): void {
    const { devices } = this.wire!;
    const wanted = this.params["device"];
    const buffer = numberParam(this.params, "buffer", -1);
    // a link that names a buffer alone: its device is the one to show
    if (wanted === undefined && !this.device && buffer >= 0 && this.asked.buffer !== String(buffer)) {
      return void this.arriveBuffer(buffer).then(() => !this.device && !this.leaving.signal.aborted && this.arrive());
    }
    const name =
      wanted ?? (buffer < 0 ? undefined : this.buffer?.id === buffer ? this.buffer.device : this.device?.name);
    const device =
      devices.find((one) => one.name === name) ??
      devices.find((one) => one.name === "" && name === UNNAMED) ??
      largest(devices);
    if (this.device !== device) {
      if (this.device?.name !== device.name) this.stage.setData(null);
      this.device = device;
      this.stage.setDevice(device, this.whole, this.wire!.several);
      this.source.use(device.name, this.whole, device.buffers > SLOW);
      this.left.selectDevice(device.name);
      this.deviceName.textContent = device.name || UNNAMED;
      this.asked.span = "";
    }
    this.arriveSpan();
    const merge = this.params["small"] === undefined;
    if (this.stage.merge !== merge) {
      this.stage.merge = merge;
      this.stage.relay();
    }
    this.arriveMode(device);
    this.left.setFilter(this.params["q"] ?? "");
    void this.arriveAlive(device);
    void this.arriveBuffer(buffer);
    this.stage.redraw();
  }

  private get inSegments(): boolean {
    return this.params["show"] === "segments" && this.device?.reserved !== "";
  }

  private arriveMode(device: DeviceWire): void {
    const mode = this.inSegments ? "segments" : this.params["show"] === "total" ? "total" : null;
    this.stage.picture.buffers = mode === null;
    this.stage.element.classList.toggle("mem-short", mode === "segments");
    const time = numberParam(this.params, "time", device.peakTime);
    if (mode === "segments") void this.segments.show(device.name, time, this.whole);
    else this.segments.hide();
    const modes: (readonly [string, string | null])[] = [
      ["Total", "total"],
      ["Buffers", null],
    ];
    if (device.reserved !== "") modes.push(["Segments", "segments"]);
    fill(
      this.modes,
      ...modes.map(([title, value]) => {
        const on = mode === value;
        return h(
          `button${on ? ".on" : ""}`,
          { type: "button", "aria-pressed": String(on), onclick: () => this.page.nav.set({ show: value }) },
          title,
        );
      }),
    );
  }

  private arriveSpan(): void {
    const key = `${this.params["t0"]}/${this.params["t1"]}`;
    if (key === this.asked.span) return;
    this.asked.span = key;
    const t0 = numberParam(this.params, "t0", NaN);
    const t1 = numberParam(this.params, "t1", NaN);
    this.stage.setSpan(t1 > t0 ? { t0, t1 } : this.home);
  }

  /** Where the device's memory opens. */
  private get home(): Span {
    return this.device ? homeSpan(this.device, this.whole) : fitSpan(this.whole);
  }

  /** What becomes of the window with another device: one that shows nothing of it is given up. */
  private spanFor(name: string): { t0?: null; t1?: null } {
    const device = this.wire?.devices.find((one) => one.name === name);
    const { t0, t1 } = this.stage.span;
    return device && (device.last < t0 || device.first > t1) ? { t0: null, t1: null } : {};
  }

  private moved(span: Span): void {
    const all = span.t0 <= 0 && span.t1 >= this.whole;
    const change = sameSpan(all ? fitSpan(this.whole) : span, this.home)
      ? { t0: null, t1: null }
      : { t0: Math.round(span.t0), t1: Math.round(span.t1) };
    // what is on the screen is exact already: the address only follows
    this.asked.span = `${change.t0 ?? undefined}/${change.t1 ?? undefined}`;
    this.page.nav.set(change, "replace");
  }

  /** To where the device's memory is, and from there to all of the trace. */
  private fit(): void {
    this.stage.move(sameSpan(this.stage.span, this.home) ? fitSpan(this.whole) : this.home);
  }

  private goToPeak(): void {
    if (!this.device) return;
    const { peakTime } = this.device;
    const { t0, t1 } = this.stage.span;
    if (peakTime < t0 || peakTime > t1) this.stage.move({ t0: peakTime - (t1 - t0) / 2, t1: peakTime + (t1 - t0) / 2 });
    this.page.nav.set({ time: peakTime });
  }

  private pick(under: Under): void {
    const time = Math.max(0, Math.min(this.whole, Math.round(under.time)));
    this.page.nav.set(under.band >= 0 ? { time, buffer: this.stage.picture.bands.id[under.band]! } : { time });
  }

  /** The buffer that was allocated next or before; with none selected, the first or last of the window. */
  private walk(by: 1 | -1): boolean {
    if (this.inSegments && this.segments.step(by)) return true;
    let next = -1;
    if (this.buffer) next = by > 0 ? this.buffer.after : this.buffer.before;
    else {
      const { bands } = this.stage.picture;
      const { t0, t1 } = this.stage.span;
      const inside = Array.from(bands.id.keys()).filter((i) => bands.alloc[i]! >= t0 && bands.alloc[i]! <= t1);
      const at = by > 0 ? inside[0] : inside.at(-1);
      if (at !== undefined) next = bands.id[at]!;
    }
    if (next >= 0) this.page.nav.set({ buffer: next }, "replace");
    return true;
  }

  /** The nearest band above or below the selected one that lives at the same time. */
  private climb(by: 1 | -1): boolean {
    const { bands, plan } = this.stage.picture;
    const own = this.buffer ? bands.id.indexOf(this.buffer.id) : -1;
    if (own < 0) return this.walk(by);
    const { t0, t1 } = this.stage.span;
    const middle = (Math.max(t0, bands.alloc[own]!) + Math.min(t1, bands.free[own]!)) / 2;
    let best = -1;
    for (let i = 0; i < bands.id.length; i++) {
      if (
        i === own ||
        bands.alloc[i]! > middle ||
        bands.free[i]! <= middle ||
        (plan.low[i]! - plan.low[own]!) * by <= 0
      )
        continue;
      if (best < 0 || (plan.low[i]! - plan.low[best]!) * by < 0) best = i;
    }
    if (best >= 0) this.page.nav.set({ buffer: bands.id[best]! }, "replace");
    return true;
  }

  private async arriveAlive(device: DeviceWire): Promise<void> {
    const given = numberParam(this.params, "time", NaN);
    const time = Number.isNaN(given) ? device.peakTime : given;
    const key = `${device.name}/${given}/${time}`;
    if (key === this.asked.alive) return;
    this.asked.alive = key;
    this.requests.alive.abort();
    this.requests.alive = new AbortController();
    const { picture } = this.stage;
    picture.cursor = Number.isNaN(given) ? null : { time, total: null };
    this.stage.redraw();
    this.left.setTitle(Number.isNaN(given) ? "Alive at the peak" : `Alive at ${moment(time, this.whole)}`);
    try {
      const alive = await this.page.client.get<AliveWire>(
        `memory/alive?device=${encodeURIComponent(device.name)}&time=${time}`,
        this.requests.alive.signal,
      );
      if (picture.cursor) picture.cursor = { time, total: alive.total };
      this.left.setAlive(alive);
      this.left.selectBuffer(this.buffer?.id ?? -1);
      this.page.left.dataset["alive"] = String(time);
      this.stage.redraw();
    } catch (error) {
      if (isAbort(error)) return;
      this.left.fail(error, () => {
        this.asked.alive = "";
        void this.arriveAlive(device);
      });
    }
  }

  private async arriveBuffer(id: number): Promise<void> {
    const key = String(id);
    if (key === this.asked.buffer) return;
    this.asked.buffer = key;
    this.requests.buffer.abort();
    this.requests.buffer = new AbortController();
    const { signal } = this.requests.buffer;
    const opening = this.opening && this.params["t0"] === undefined;
    this.opening = false;
    if (id < 0) {
      this.setBuffer(null);
      fill(
        this.detail,
        h("div.none.faint", "Click a band, or a row of what was alive, for its size, lifetime, producer and readers."),
      );
      return;
    }
    try {
      const buffer = await this.page.client.get<BufferWire>(`memory/buffers/${id}`, signal);
      this.setBuffer(buffer);
      drawBuffer(this.detail, this.page, buffer, this.whole);
      this.page.right.dataset["buffer"] = key;
      const lived = duration((buffer.free ?? this.whole) - buffer.alloc);
      const handle = bufferHandle(id, this.wire?.several ?? false);
      this.said.textContent = `Buffer ${handle}, ${bytes(buffer.bytes)}, ${lived}`;
      if (buffer.device !== this.device?.name) this.page.nav.set({ device: buffer.device || UNNAMED }, "replace");
      this.reveal(buffer, opening);
    } catch (error) {
      if (isAbort(error)) return;
      this.setBuffer(null);
      fill(
        this.detail,
        failure(error, () => {
          this.asked.buffer = "";
          void this.arriveBuffer(id);
        }),
      );
    }
  }

  private setBuffer(buffer: BufferWire | null): void {
    this.buffer = buffer;
    this.stage.choose(buffer);
    this.segments.choose(buffer?.id ?? -1);
    this.left.selectBuffer(buffer?.id ?? -1);
    this.bufferId.textContent = buffer ? bufferHandle(buffer.id, this.wire?.several ?? false) : "";
    this.closeButton.hidden = buffer === null;
    if (!buffer) delete this.page.right.dataset["buffer"];
  }

  /** Brings a buffer into sight; one that a link opened and that is too narrow to see is zoomed to. */
  private reveal(buffer: BufferWire, opening: boolean): void {
    const { t0, t1 } = this.stage.span;
    const end = buffer.free ?? this.whole;
    const life = Math.max(1, end - buffer.alloc);
    if (opening && life < TINY * (t1 - t0)) this.stage.move({ t0: buffer.alloc - life, t1: end + life });
    else if (end < t0 || buffer.alloc > t1) {
      const middle = Math.min(buffer.alloc + life / 2, buffer.alloc + (t1 - t0) / 4);
      this.stage.move({ t0: middle - (t1 - t0) / 2, t1: middle + (t1 - t0) / 2 });
    }
  }

  private arrived(): void {
    clearLayer(this.stage.element);
    this.stage.setData(this.source.data);
    this.drawStatus();
  }

  private drawn(): void {
    if (!this.device) return;
    const { t0, t1 } = this.stage.span;
    const pixel = (t1 - t0) / this.stage.room;
    const say = (time: number): string => clock(time, pixel, t1 - t0);
    this.windowText.textContent = `${say(Math.max(0, t0))} to ${say(Math.min(this.whole, t1))}`;
    if (this.source.data && !this.source.waiting && this.stage.settled)
      this.page.middle.dataset["shown"] = `memory/${this.device.name}`;
  }

  private drawStatus(): void {
    const { device } = this;
    const { data } = this.source;
    if (!device || !data || !this.source.complete) return;
    const { small } = this.stage.picture.plan;
    const largest = small.reduce((most, i) => Math.max(most, this.stage.picture.bands.bytes[i]!), 0);
    const merge = this.params["small"] === undefined;
    const key = [device.name, device.buffers, data.left, small.length, largest, merge].join("/");
    if (key === this.asked.status) return;
    this.asked.status = key;
    const facts = { device, small: small.length, largest, merge, left: data.left, leftBytes: data.leftBytes };
    const parts = statusParts(facts, {
      small: (show) => this.page.nav.set({ small: show ? 1 : null }, "replace"),
      zoomIn: () => this.stage.viewport.zoom(0.5),
    });
    this.page.status(...parts);
  }
}

/** The device with the highest peak; one whose buffers are what is reserved for another says less than that one. */
function largest(devices: readonly DeviceWire[]): DeviceWire {
  const reserved = new Set(devices.map((one) => one.reserved));
  const held = devices.filter((one) => one.name === "" || !reserved.has(one.name));
  const some = held.length > 0 ? held : devices;
  return some.reduce((best, one) => (one.peak > best.peak ? one : best), some[0]!);
}
