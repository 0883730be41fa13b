/** Hardware: waves and units of a kernel clock by clock, instructions with heat, counters, control flow. */
import { fill, h } from "../../base/dom.ts";
import { StretchSource, type Wanted } from "../../data/stretch_source.ts";
import { CLASS_COLOURS, wholeSpan } from "../../draw/hardware_draw.ts";
import { HEAD } from "../../layout/hardware_rows.ts";
import { numberParam, type Params } from "../../state/place.ts";
import {
  instructionText,
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
import { FlowGraph } from "../common/flow_graph.ts";
import { clearLayer, emptyState, errorState, failure, showLayer, waitFor } from "../common/states.ts";
import type { Page, View } from "../registry.ts";
import { CounterTable } from "./counter_table.ts";
import { HardwareBar, type Mode } from "./hardware_bar.ts";
import { busiest, codeAddress, counterStrip, noWaves, statusParts } from "./facts.ts";
import { HardwareStage } from "./hardware_stage.ts";
import { InstructionList } from "./instruction_list.ts";
import { StallPanel } from "./stall_panel.ts";

interface WantedLanes extends Wanted {
  lanes: number[];
}

export class HardwareView implements View {
  private readonly trouble = h("div"); // below the instructions: the focused event could not be read
  private readonly bar = new HardwareBar(
    (change) => this.go(change),
    () => this.fit(),
  );
  private readonly stage = new HardwareStage({
    moved: () => this.moved(),
    need: () => this.fetchWindow(),
    select: (event) => this.go({ ev: event }),
    engine: (row) => this.go({ row, ev: null, t0: null, t1: null }),
    drawn: () => this.drawn(),
  });
  private readonly body = this.stage.element;
  private readonly counters = h("div.hw-pmc");
  private readonly said = h("div.offscreen", { "aria-live": "polite" });
  private readonly side = h("div.hw-side"); // what stands beside a thread trace
  private readonly list: InstructionList;
  /** What shows stall samples; there when an entry with such is open. */
  private stalls: StallPanel | null = null;
  private entries: HardwareEntry[] = [];
  private focus: EventWire | null = null;
  private params: Params = {};
  private row = -1;
  private mode: Mode = "waves";
  private counted = false;
  /** The window that the address was last told of: what is on the screen is exact, the address is whole cycles. */
  private told = "";
  private readonly windows: StretchSource<LaneEvents[], WantedLanes>;
  private readonly leaving = new AbortController();

  constructor(private readonly page: Page) {
    page.middle.append(this.bar.element, this.body, this.counters, this.said);
    page.right.classList.add("hw-right");
    this.list = new InstructionList(this.side, {
      onSelect: (instruction) => this.chooseInstruction(instruction),
      onOrder: (costly) => this.go({ sort: costly ? "cost" : null }),
      code: (context, line) => codeAddress(page, context, line),
    });
    this.side.append(this.trouble);
    page.right.append(this.side);
    this.windows = new StretchSource(page.client, {
      decode: readWindow,
      onData: (found, wanted) => this.arrived(found, wanted),
      onError: (error) => this.failed(error),
    });
    void this.load();
  }

  show(params: Params): void {
    this.params = params;
    if (this.entries.length > 0) void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    if (this.mode !== "waves") return false;
    if (this.sampled) return this.stalls!.key(event);
    if (!this.picture) return false;
    if (this.stage.viewport.key(event)) return true;
    switch (event.key) {
      case " ":
        this.fit();
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
    this.windows.dispose();
    this.list.dispose();
    this.stage.dispose();
    this.stalls?.dispose();
    this.page.right.classList.remove("hw-right");
  }

  private get picture(): HardwareStage["picture"] {
    return this.stage.picture;
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
    this.list.order(this.params["sort"] === "cost");
    const traces = this.timed();
    const wanted = numberParam(this.params, "row", -1);
    const first = traces.find((entry) => entry.detail) ?? traces[0];
    // without a wish the one that was opened stays, which need not be the first
    const entry = traces.find((other) => other.row === (wanted < 0 ? this.row : wanted)) ?? first;
    const sampled = entry?.kind === "pma";
    const asked = this.params["mode"];
    const mode: Mode = asked === "counters" || (asked === "flow" && !sampled) ? asked : entry ? "waves" : "counters";
    this.mode = mode;
    this.counters.hidden = true;
    this.drawBar(entry);
    this.side.hidden = sampled;
    if (sampled) this.stalls ??= new StallPanel(this.page, this.body, this.leaving.signal);
    if (this.stalls) this.stalls.hidden = !sampled;
    if (entry && sampled) return this.showStalls(entry);
    if (entry && entry.row !== this.row) await this.openTrace(entry);
    if (mode === "counters") return this.showCounters();
    if (!entry) return showLayer(this.body, emptyState("No thread trace", "This capture has counters only."));
    if (!this.picture) return;
    if (mode === "flow") return this.showFlow();
    this.showWaves();
  }

  private drawBar(entry: HardwareEntry | undefined): void {
    this.bar.draw(this.timed(), entry, this.mode);
  }

  /** What can be drawn over cycles: thread traces and stall samples. */
  private timed(): HardwareEntry[] {
    return this.entries.filter((other) => other.kind === "sqtt" || other.kind === "pma");
  }

  /** Whether the open entry is stall samples. */
  private get sampled(): boolean {
    return this.stalls !== null && this.entries.some((other) => other.row === this.row && other.kind === "pma");
  }

  private async showStalls(entry: HardwareEntry): Promise<void> {
    const panel = this.stalls!;
    this.row = entry.row;
    await panel.open(entry);
    if (this.row !== entry.row) return;
    this.bar.drawLegend(panel.legend);
    if (this.mode === "counters") this.showCounters();
    else panel.show(this.params);
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
    this.focus = null;
    this.told = "";
    this.list.set(instructions);
    this.stage.use(entry.row, trace, occupancy, instructions);
    this.bar.drawLegend(trace.classes.map((name, i) => [CLASS_COLOURS[i]!, name]));
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
      if (!wire || this.mode !== "flow" || !this.stage.instructions || !this.picture || row !== this.row) return;
      fill(this.body);
      const host = h("div.hw-page");
      this.body.append(host);
      new FlowGraph(host, wire, this.stage.instructions, this.picture.trace.resources);
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
    this.stage.show();
    const told = `${this.params["t0"]}/${this.params["t1"]}`;
    if (told !== this.told) this.takeWindow();
    this.told = told;
    const event = numberParam(this.params, "ev", -1);
    if (event < 0 || event !== this.focus?.event) void this.focusEvent(event);
    this.fetchWindow();
    this.stage.redraw();
  }

  private takeWindow(): void {
    const [t0, t1] = [numberParam(this.params, "t0", NaN), numberParam(this.params, "t1", NaN)];
    const { first } = wholeSpan(this.picture!);
    if (t1 > t0) this.stage.setSpan({ t0: first + t0, t1: first + t1 });
    else this.stage.fit();
  }

  private fit(): void {
    if (this.sampled) return this.stalls!.fit();
    this.go({ t0: null, t1: null });
    this.stage.viewport.hideTip();
    this.stage.fit();
  }

  private moved(): void {
    const { span } = this.stage;
    const { first } = wholeSpan(this.picture!);
    const [t0, t1] = [Math.round(span.t0 - first), Math.round(span.t1 - first)];
    this.told = `${t0}/${t1}`;
    this.go({ t0, t1 }, "replace");
  }

  private fetchWindow(): void {
    const { picture } = this;
    const width = this.body.clientWidth - HEAD;
    if (!picture || picture.row !== this.row || this.mode !== "waves" || width < 10) return;
    const lanes = picture.rows.filter((row) => row.lane >= 0).map((row) => row.lane);
    // a margin on both sides, so that panning shows something before the next answer
    const margin = (picture.t1 - picture.t0) * 0.5;
    const t0 = Math.max(0, Math.floor(picture.t0 - margin));
    const t1 = Math.max(t0 + 1, Math.ceil(picture.t1 + margin));
    const query = `t0=${t0}&t1=${t1}&px=${width * 2}&lanes=${lanes.join(",")}`;
    this.windows.need({
      path: `hardware/${this.row}/window?${query}`,
      of: `${this.row}/${lanes.join(",")}`,
      span: { t0: Math.max(0, picture.t0), t1: picture.t1 },
      stretch: { t0, t1 },
      scale: (picture.t1 - picture.t0) / width,
      lanes,
    });
  }

  private arrived(found: LaneEvents[], wanted: WantedLanes): void {
    const { picture } = this;
    if (!picture || picture.row !== this.row || !wanted.of.startsWith(`${picture.row}/`)) return;
    clearLayer(this.body);
    picture.lanes = new Map(found.map((events, i) => [wanted.lanes[i]!, events]));
    this.stage.redraw();
  }

  private failed(error: unknown): void {
    if (this.mode !== "waves") return;
    showLayer(
      this.body,
      errorState(error, () => {
        clearLayer(this.body);
        this.fetchWindow();
      }),
    );
  }

  private drawn(): void {
    if (this.picture!.lanes.size > 0)
      this.page.middle.dataset["shown"] = `waves/${this.row}/${this.focus?.event ?? ""}`;
    const entry = this.entries.find((other) => other.row === this.row);
    if (entry) this.status(entry);
  }

  private async focusEvent(event: number): Promise<void> {
    const { picture } = this;
    if (!picture) return;
    fill(this.trouble);
    if (event < 0) {
      this.focus = null;
      this.stage.setFocus(null, null);
      this.list.select(-1);
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
    this.stage.setFocus(found, null);
    const linked = found.link >= 0 ? await client.once<EventWire>(`${base}/${found.link}`) : null;
    if (this.focus !== found) return;
    this.stage.setFocus(found, linked);
    this.list.select(found.instruction);
    const code = this.stage.instructions;
    const text = found.instruction >= 0 && code ? instructionText(code, found.instruction) : "";
    const cycle = found.start - wholeSpan(picture).first;
    this.said.textContent = `${found.op}, ${picture.trace.lanes[found.lane]!.label}, cycle ${cycle}. ${text}`;
    this.stage.reveal(found.start);
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

  /**
   * The first event of a lane in the window, one of an instruction when it is given: what is here begins before it. -1
   * for none.
   */
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
    const first = this.stage.instructions?.event[instruction] ?? -1;
    if (first >= 0) this.go({ ev: first });
    else this.list.select(instruction);
  }
}
