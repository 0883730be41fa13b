/** Hardware: waves and units of a kernel clock by clock, instructions with heat, counters, control flow. */
import { fill, h } from "../../base/dom.ts";
import { drawHardware, occupancyRoom, topHeight, wholeSpan, type HardwarePicture } from "../../draw/hardware_draw.ts";
import { readTheme } from "../../draw/theme.ts";
import { HEAD, hardwareRows, OCCUPANCY_HEAD } from "../../layout/hardware_rows.ts";
import { numberParam, type Params } from "../../state/place.ts";
import { onTheme } from "../../state/settings.ts";
import {
  readWindow,
  type CountersWire,
  type EventWire,
  type FlowWire,
  type HardwareEntry,
  type InstructionsWire,
  type LaneEvents,
  type OccupancyWire,
  type TraceWire,
} from "../../wire/hardware.ts";
import { clearLayer, emptyState, errorState, failure, showLayer, waitFor } from "../common/states.ts";
import { isAbort } from "../../data/client.ts";
import type { Page, View, ViewDef } from "../registry.ts";
import { CounterTable } from "./counter_table.ts";
import { FlowGraph } from "./flow_graph.ts";
import { HardwareBar, type Mode } from "./hardware_bar.ts";
import { cycleAt, EventTip, hitAt } from "./event_tip.ts";
import { busiest, counterStrip, noWaves, statusParts } from "./facts.ts";
import { InstructionList } from "./instruction_list.ts";

export const HARDWARE: ViewDef = {
  id: "hardware",
  title: "Hardware",
  panes: { left: null, right: "Instructions" },
  keys: [
    ["Zoom", "W S"],
    ["Pan", "A D"],
    ["Next, previous event of the lane", "→ ←"],
    ["Fit", "Space"],
  ],
  available: (info) => (info.tables["hardware"] ?? 0) > 0,
  create: (page) => new HardwareView(page),
};

class HardwareView implements View {
  private readonly trouble = h("div"); // below the instructions: the focused event could not be read
  private readonly bar = new HardwareBar(
    (change) => this.go(change),
    () => this.fit(),
  );
  private readonly canvas = h("canvas.hw-canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": "Waves and units over clock cycles",
  }) as HTMLCanvasElement;
  private readonly body = h("div.stage");
  private readonly counters = h("div.hw-pmc");
  private readonly said = h("div.offscreen", { "aria-live": "polite" });
  private readonly tip = new EventTip();
  private readonly list: InstructionList;
  private entries: HardwareEntry[] = [];
  private picture: HardwarePicture | null = null;
  private instructions: InstructionsWire | null = null;
  private focus: EventWire | null = null;
  private readonly folded = new Set<string>();
  private params: Params = {};
  private row = -1;
  private mode: Mode = "waves";
  private counted = false;
  private frame = 0;
  /** Where the pointer is over the waves, px: keys zoom there, as the wheel does. */
  private pointed: number | null = null;
  private asked = "";
  private windowRequest = new AbortController();
  private readonly leaving = new AbortController();
  private readonly stopTheme: () => void;
  private readonly watcher: ResizeObserver;

  constructor(private readonly page: Page) {
    page.middle.append(this.bar.element, this.body, this.counters, this.said);
    page.right.classList.add("hw-right");
    this.list = new InstructionList(page.right, (instruction) => this.chooseInstruction(instruction));
    page.right.append(this.trouble);
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerleave", () => {
      this.pointed = null;
      this.tip.hide();
    });
    this.stopTheme = onTheme(() => this.redraw());
    this.watcher = new ResizeObserver(() => {
      this.layRows();
      this.clampScroll();
      void this.fetchWindow();
      this.redraw();
    });
    this.watcher.observe(this.body);
    void this.load();
  }

  show(params: Params): void {
    this.params = params;
    if (this.entries.length > 0) void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    const { picture } = this;
    if (!picture || this.mode !== "waves") return false;
    const middle = this.pointed === null ? (picture.t0 + picture.t1) / 2 : this.cycleAt(this.pointed);
    const step = (picture.t1 - picture.t0) / 5;
    switch (event.key) {
      case " ":
        this.fit();
        break;
      case "w":
      case "W":
        this.zoom(middle, 0.7);
        break;
      case "s":
      case "S":
        this.zoom(middle, 1 / 0.7);
        break;
      case "a":
      case "A":
        this.setWindow(picture.t0 - step, picture.t1 - step);
        break;
      case "d":
      case "D":
        this.setWindow(picture.t0 + step, picture.t1 + step);
        break;
      case "ArrowRight":
        this.walk(1);
        break;
      case "ArrowLeft":
        this.walk(-1);
        break;
      default:
        return false;
    }
    return true;
  }

  escape(): boolean {
    if (this.params["ev"] === undefined) return false;
    this.go({ ev: null });
    return true;
  }

  dispose(): void {
    this.leaving.abort();
    this.windowRequest.abort();
    this.stopTheme();
    this.watcher.disconnect();
    this.list.dispose();
    this.tip.remove();
    this.page.right.classList.remove("hw-right");
    cancelAnimationFrame(this.frame);
  }

  private go(change: Record<string, string | number | null>, mode: "push" | "replace" = "push"): void {
    this.page.nav.set(change, mode);
  }

  private async load(): Promise<void> {
    const wire = await waitFor(
      this.body,
      { title: "Reading hardware traces" },
      () => this.page.client.once<{ entries: HardwareEntry[] }>("hardware"),
      this.leaving.signal,
    );
    if (!wire) return;
    this.entries = wire.entries;
    await this.arrive();
  }

  private async arrive(): Promise<void> {
    const traces = this.entries.filter((other) => other.kind === "sqtt");
    const wanted = numberParam(this.params, "row", -1);
    const first = traces.find((entry) => entry.detail) ?? traces[0];
    const entry = traces.find((other) => other.row === wanted) ?? first;
    const asked = this.params["mode"];
    const mode: Mode = asked === "counters" || asked === "flow" ? asked : entry ? "waves" : "counters";
    this.mode = mode;
    this.counters.hidden = true;
    this.drawBar(traces.find((other) => other.row === (wanted < 0 ? this.row : wanted)) ?? entry);
    // without a wish the engine that was opened stays, which need not be the first
    const open = wanted < 0 && this.picture ? this.row : entry?.row;
    if (entry && open !== this.row) await this.openTrace(entry);
    if (mode === "counters") return this.showCounters();
    if (!entry) return showLayer(this.body, emptyState("No thread trace", "This capture has counters only."));
    if (!this.picture) return;
    if (mode === "flow") return this.showFlow();
    this.showWaves();
  }

  private drawBar(entry: HardwareEntry | undefined): void {
    this.bar.draw(
      this.entries.filter((other) => other.kind === "sqtt"),
      entry,
      this.mode,
    );
  }

  private async openTrace(entry: HardwareEntry): Promise<void> {
    const { client } = this.page;
    const base = `hardware/${entry.row}`;
    const answer = await waitFor(
      this.body,
      { title: `Decoding ${entry.source}` },
      () =>
        Promise.all([
          client.once<TraceWire>(base),
          client.once<OccupancyWire>(`${base}/occupancy`),
          client.once<InstructionsWire>(`${base}/instructions`),
          client.once<CountersWire>("hardware/counters"),
        ]),
      this.leaving.signal,
    );
    if (!answer) return;
    const [trace, occupancy, instructions, counters] = answer;
    const better = this.params["row"] === undefined ? busiest(occupancy, entry.row) : undefined;
    const other = this.entries.find((candidate) => candidate.row === better);
    if (other) {
      this.drawBar(other);
      return this.openTrace(other);
    }
    this.row = entry.row;
    this.asked = "";
    this.focus = null;
    this.instructions = instructions;
    this.list.set(instructions);
    const { cycle, tick } = trace.clock;
    const cycles = (cycle.at(-1) ?? 0) - (cycle[0] ?? 0);
    const ticks = (tick.at(-1) ?? 0) - (tick[0] ?? 0);
    const perCycle = cycles > 0 && ticks > 0 ? (ticks * 10) / cycles : 0;
    if (!trace.lanes.some((lane) => lane.group === "waves")) this.folded.delete("all");
    this.picture = {
      trace,
      occupancy,
      row: entry.row,
      rows: [],
      scroll: 0,
      t0: trace.first,
      t1: Math.max(trace.last, trace.first + 1),
      lanes: new Map(),
      focus: null,
      linked: null,
      selected: -1,
      cycle: perCycle,
      folded: this.folded.has("occupancy"),
    };
    this.layRows();
    this.bar.drawLegend(trace.classes);
    const run =
      counters.runs.find((other) => other.kernel === entry.kernel && other.run === entry.run) ??
      counters.runs.find((other) => other.kernel === entry.kernel);
    fill(this.counters, ...(run ? counterStrip(run) : []));
    this.counted = run !== undefined;
    this.status(entry);
  }

  private status(entry: HardwareEntry): void {
    const { left, right } = statusParts(entry.kernel, this.picture!);
    this.page.status(left, right);
  }

  private layRows(): void {
    const { picture } = this;
    if (!picture) return;
    const { trace, cycle } = picture;
    picture.rows = hardwareRows(
      trace.lanes,
      this.folded,
      cycle > 0 ? `${(1 / cycle).toFixed(2)} GHz` : "",
      trace.traced,
      this.body.clientHeight - topHeight(picture),
    ).rows;
  }

  private showCounters(): void {
    void (async () => {
      const wire = await waitFor(
        this.body,
        { title: "Reading counters" },
        () => this.page.client.once<CountersWire>("hardware/counters"),
        this.leaving.signal,
      );
      if (!wire || this.mode !== "counters") return;
      fill(this.body);
      const host = h("div.hw-page");
      this.body.append(host);
      new CounterTable(host, wire);
      this.page.middle.dataset["shown"] = "counters";
    })();
  }

  private showFlow(): void {
    const row = this.row;
    void (async () => {
      const wire = await waitFor(
        this.body,
        { title: "Reading the control flow" },
        () => this.page.client.once<FlowWire>(`hardware/${row}/flow`),
        this.leaving.signal,
      );
      if (!wire || this.mode !== "flow" || !this.instructions || !this.picture || row !== this.row) return;
      fill(this.body);
      const host = h("div.hw-page");
      this.body.append(host);
      new FlowGraph(host, wire, this.instructions, this.picture.trace);
      this.page.middle.dataset["shown"] = `flow/${row}`;
    })();
  }

  private showWaves(): void {
    const picture = this.picture!;
    clearLayer(this.body);
    this.counters.hidden = !this.counted;
    if (picture.trace.lanes.length === 0) {
      fill(this.body);
      showLayer(this.body, emptyState("No waves here", noWaves(picture)));
      this.page.middle.dataset["shown"] = `waves/${this.row}/`;
      return;
    }
    if (this.canvas.parentElement !== this.body) fill(this.body, this.canvas);
    const t0 = numberParam(this.params, "t0", NaN);
    const t1 = numberParam(this.params, "t1", NaN);
    const { first } = wholeSpan(picture);
    if (t1 > t0) [picture.t0, picture.t1] = [first + t0, first + t1];
    else this.fitPicture();
    const event = numberParam(this.params, "ev", -1);
    if (event < 0 || event !== this.focus?.event) void this.focusEvent(event);
    void this.fetchWindow();
    this.redraw();
  }

  private fitPicture(): void {
    const picture = this.picture!;
    const { first, last } = picture.trace;
    const pad = Math.max(1, (last - first) * 0.01);
    [picture.t0, picture.t1] = [first - pad, last + pad];
  }

  private fit(): void {
    this.tip.hide();
    this.go({ t0: null, t1: null });
    if (this.picture) this.fitPicture();
    void this.fetchWindow();
    this.redraw();
  }

  private setWindow(t0: number, t1: number): void {
    const { picture } = this;
    if (!picture) return;
    this.tip.hide(); // what is under the pointer is another
    const { first, last } = wholeSpan(picture);
    const span = Math.max(8, Math.min(t1 - t0, (last - first) * 1.1));
    const pad = span * 0.5;
    const begin = Math.max(first - pad, Math.min(t0, last + pad - span));
    [picture.t0, picture.t1] = [begin, begin + span];
    this.go({ t0: Math.round(begin - first), t1: Math.round(begin + span - first) }, "replace");
    void this.fetchWindow();
    this.redraw();
  }

  private zoom(at: number, factor: number): void {
    const { picture } = this;
    if (picture) this.setWindow(at - (at - picture.t0) * factor, at + (picture.t1 - at) * factor);
  }

  private async fetchWindow(): Promise<void> {
    const { picture } = this;
    const width = this.body.clientWidth - HEAD;
    if (!picture || this.mode !== "waves" || width < 10) return;
    const lanes = picture.rows.filter((row) => row.lane >= 0).map((row) => row.lane);
    // a margin on both sides, so that panning shows something before the next answer
    const margin = (picture.t1 - picture.t0) * 0.5;
    const t0 = Math.max(0, Math.floor(picture.t0 - margin));
    const t1 = Math.max(t0 + 1, Math.ceil(picture.t1 + margin));
    const path = `hardware/${this.row}/window?t0=${t0}&t1=${t1}&px=${width * 2}&lanes=${lanes.join(",")}`;
    if (path === this.asked) return;
    this.asked = path;
    this.windowRequest.abort();
    this.windowRequest = new AbortController();
    try {
      const found = readWindow(await this.page.client.bytes(path, this.windowRequest.signal));
      if (this.picture !== picture) return;
      picture.lanes = new Map(found.map((events, i) => [lanes[i]!, events]));
      this.redraw();
    } catch (error) {
      if (!isAbort(error))
        showLayer(
          this.body,
          errorState(error, () => {
            clearLayer(this.body);
            this.asked = "";
            void this.fetchWindow();
          }),
        );
    }
  }

  private redraw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      const { picture, canvas } = this;
      if (!picture || this.mode !== "waves" || canvas.parentElement === null) return;
      const width = this.body.clientWidth;
      const height = this.body.clientHeight;
      const ratio = window.devicePixelRatio || 1;
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      const g = canvas.getContext("2d", { alpha: false })!;
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      drawHardware(g, width, height, picture, readTheme(canvas));
      if (picture.lanes.size > 0) this.page.middle.dataset["shown"] = `waves/${this.row}/${this.focus?.event ?? ""}`;
      const entry = this.entries.find((other) => other.row === this.row);
      if (entry) this.status(entry);
    });
  }

  private clampScroll(): void {
    const { picture } = this;
    if (!picture) return;
    const last = picture.rows.at(-1);
    const room = this.body.clientHeight - topHeight(picture);
    picture.scroll = Math.max(0, Math.min(picture.scroll, (last ? last.y + last.height : 0) - room));
  }

  private cycleAt(x: number): number {
    return cycleAt(this.picture!, x, this.body.clientWidth);
  }

  private wheel(event: WheelEvent): void {
    if (!this.picture) return;
    event.preventDefault();
    this.tip.hide();
    if (event.shiftKey || event.offsetX < HEAD || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey) {
        const move = ((this.picture.t1 - this.picture.t0) * event.deltaX) / this.body.clientWidth;
        this.setWindow(this.picture.t0 + move, this.picture.t1 + move);
        return;
      }
      this.picture.scroll += event.deltaY || event.deltaX;
      this.clampScroll();
      this.redraw();
      return;
    }
    this.zoom(this.cycleAt(event.offsetX), Math.exp(event.deltaY * 0.0015));
  }

  private press(event: PointerEvent): void {
    const { picture } = this;
    if (!picture || event.button !== 0) return;
    this.tip.hide();
    const { offsetX: x, offsetY: y } = event;
    const engines = picture.occupancy?.engines ?? [];
    const room = occupancyRoom(picture);
    if (y < OCCUPANCY_HEAD) {
      if (x < HEAD) this.fold("occupancy");
      return;
    }
    if (y < OCCUPANCY_HEAD + room) {
      const engine = engines[Math.floor(((y - OCCUPANCY_HEAD) / room) * engines.length)]!;
      if (x < HEAD) return this.go({ row: engine.row, ev: null, t0: null, t1: null });
      const { first, last } = wholeSpan(picture);
      const at = first + ((x - HEAD) / (this.body.clientWidth - HEAD)) * (last - first);
      const half = (picture.t1 - picture.t0) / 2;
      return this.setWindow(at - half, at + half);
    }
    const top = topHeight(picture);
    if (x < HEAD && y > top) {
      const row = picture.rows.find(
        (other) =>
          other.lane < 0 && y >= top + other.y - picture.scroll && y < top + other.y + other.height - picture.scroll,
      );
      if (row && row.group !== "clock") this.fold(row.group);
      return;
    }
    this.drag(event);
  }

  private fold(group: string): void {
    if (!this.folded.delete(group)) this.folded.add(group);
    this.picture!.folded = this.folded.has("occupancy");
    this.layRows();
    this.clampScroll();
    void this.fetchWindow();
    this.redraw();
  }

  private drag(event: PointerEvent): void {
    const picture = this.picture!;
    const start = { x: event.offsetX, y: event.offsetY, t0: picture.t0, t1: picture.t1, scroll: picture.scroll };
    let moved = false;
    this.canvas.setPointerCapture(event.pointerId);
    const move = (now: PointerEvent): void => {
      const dx = now.offsetX - start.x;
      const dy = now.offsetY - start.y;
      if (!moved && Math.hypot(dx, dy) < 4) return;
      moved = true;
      picture.scroll = start.scroll - dy;
      this.clampScroll();
      const shift = (dx / (this.body.clientWidth - HEAD)) * (start.t1 - start.t0);
      this.setWindow(start.t0 - shift, start.t1 - shift);
    };
    const up = (now: PointerEvent): void => {
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", up);
      this.canvas.removeEventListener("pointercancel", up);
      if (moved) return;
      const hit = hitAt(picture, now.offsetX, now.offsetY, this.body.clientWidth);
      this.go({ ev: hit ? hit.events.event[hit.index]! : null });
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
  }

  private move(event: PointerEvent): void {
    const { offsetX, offsetY, buttons } = event;
    this.pointed = offsetX < HEAD ? null : offsetX;
    this.tip.after(event, () => {
      const { picture, instructions } = this;
      const hit = picture && buttons === 0 ? hitAt(picture, offsetX, offsetY, this.body.clientWidth) : null;
      return hit && picture ? { hit, picture, instructions } : null;
    });
  }

  private async focusEvent(event: number): Promise<void> {
    const { picture } = this;
    if (!picture) return;
    fill(this.trouble);
    if (event < 0) {
      this.focus = null;
      [picture.focus, picture.linked, picture.selected] = [null, null, -1];
      this.list.select(-1);
      this.redraw();
      return;
    }
    const { client } = this.page;
    const base = `hardware/${this.row}/events`;
    const found = await client.once<EventWire>(`${base}/${event}`).catch((error: unknown) =>
      fill(
        this.trouble,
        failure(error, () => void this.focusEvent(event)),
      ),
    );
    if (!found || this.picture !== picture || numberParam(this.params, "ev", -1) !== event) return;
    this.focus = found;
    picture.focus = found;
    picture.selected = found.lane;
    picture.linked = found.link >= 0 ? await client.once<EventWire>(`${base}/${found.link}`) : null;
    if (this.focus !== found) return;
    this.list.select(found.instruction);
    const text = found.instruction >= 0 ? (this.instructions?.text[found.instruction] ?? "") : "";
    this.said.textContent = `${found.op}, ${picture.trace.lanes[found.lane]!.label}, cycle ${found.start - wholeSpan(picture).first}. ${text}`;
    this.reveal(found.start);
    this.redraw();
  }

  private reveal(cycle: number): void {
    const { t0, t1 } = this.picture!;
    if (cycle >= t0 && cycle < t1) return;
    const half = (t1 - t0) / 2;
    this.setWindow(cycle - half, cycle + half);
  }

  private walk(step: number): void {
    const { picture, focus } = this;
    if (!picture) return;
    const lane = focus?.lane ?? picture.rows.find((row) => row.lane >= 0)?.lane ?? -1;
    const events = picture.lanes.get(lane);
    if (!events || events.start.length === 0) return;
    const at = focus ? events.event.indexOf(focus.event) : -1;
    const next =
      events.event[Math.max(0, Math.min(events.event.length - 1, at < 0 ? this.firstIn(events) : at + step))];
    if (next !== undefined && next >= 0) this.go({ ev: next }, "replace");
  }

  /** The first event of a lane in the window, one of an instruction when it is given: what is here begins before it. -1 for none. */
  private firstIn(events: LaneEvents, instruction?: number): number {
    const { t0, t1 } = this.picture!;
    return events.start.findIndex(
      (start, at) => start >= t0 && start < t1 && (instruction === undefined || events.instruction[at] === instruction),
    );
  }

  /** An instruction of the list: the first of its events in the window, else the first of all. */
  private chooseInstruction(instruction: number): void {
    const { picture } = this;
    if (!picture || this.mode !== "waves") return;
    for (const row of picture.rows) {
      const events = row.lane >= 0 && row.group === "waves" ? picture.lanes.get(row.lane) : undefined;
      const at = events ? this.firstIn(events, instruction) : -1;
      if (events && at >= 0) return this.go({ ev: events.event[at]! });
    }
    const first = this.instructions?.event[instruction] ?? -1;
    if (first >= 0) this.go({ ev: first });
  }
}
