/** Messages: what clients, dispatcher and workers said to each other. */
import { fill, h } from "../../base/dom.ts";
import { counted, duration } from "../../base/format.ts";
import { isAbort, sentenceOf } from "../../data/client.ts";
import { StretchSource, type Wanted } from "../../data/stretch_source.ts";
import { shapeIcon } from "../../draw/tape_shapes.ts";
import type { Drawn } from "../../draw/tape_draw.ts";
import type { Span } from "../../layout/span.ts";
import { numberParam, type Params } from "../../state/place.ts";
import {
  readTapeWindow,
  type MessageWire,
  type TapeRangeWire,
  type TapeWindow,
  type TapeWire,
} from "../../wire/tape.ts";
import { filterBox } from "../common/filter_box.ts";
import { clearLayer, emptyState, errorState, showLayer, waitFor } from "../common/states.ts";
import { tip } from "../common/tooltip.ts";
import type { Page, View } from "../registry.ts";
import { MessageList } from "./message_list.ts";
import { MessagePages } from "./message_pages.ts";
import { TapePane } from "./tape_pane.ts";
import { TapeStage } from "./tape_stage.ts";
import { tapeStatus } from "./tape_status.ts";
import { momentWords } from "./words.ts";

const SHOW = ["flows", "signals", "sizes"] as const;
const DEFAULT_SHOW = "flows,signals";
const TYPING_MS = 150;

interface WantedTape extends Wanted {
  /** The times that the list is to show. */
  listed: [number, number];
}

export class TapeView implements View {
  private readonly runs = h("select.btn", { "aria-label": "Run" }) as HTMLSelectElement;
  private readonly toggles = new Map<string, HTMLElement>();
  private readonly legend = h("span.tp-lg.wide");
  private readonly said = h("div.offscreen", { "aria-live": "polite" });
  private readonly box;
  private readonly stage: TapeStage;
  private readonly list: MessageList;
  private readonly pane: TapePane;
  private tape: TapeWire | null = null;
  private pages: MessagePages | null = null;
  /** Those that the list shows: it is told once their number is known. */
  private usedPages: MessagePages | null = null;
  private data: TapeWindow | null = null;
  private message: MessageWire | null = null;
  private drawn: Drawn | null = null;
  private params: Params = {};
  private loaded = "";
  private folded = true;
  private filterText = "";
  private typing = 0;
  private following = true;
  /** The request whose figures of a range are in the pane. */
  private ranged = "";
  private readonly windows: StretchSource<TapeWindow, WantedTape>;
  private readonly leaving = new AbortController();

  constructor(private readonly page: Page) {
    this.box = filterBox(
      "Filter ops and lanes",
      (text) => this.typed(text),
      () => this.list.focus(),
    );
    this.stage = new TapeStage({
      moved: () => this.moved(),
      select: (seq) => this.go({ ev: seq }),
      range: (range) => this.go({ r0: range?.t0 ?? null, r1: range?.t1 ?? null }),
      drawn: (drawn) => this.wasDrawn(drawn),
      theme: (theme) => {
        this.list.refresh(theme.families);
        if (this.tape) this.pane.draw(this.tape, theme.families);
      },
    });
    this.windows = new StretchSource(page.client, {
      decode: readTapeWindow,
      onData: (data, wanted) => this.take(data, wanted),
      onError: (error) =>
        showLayer(
          this.stage.element,
          errorState(error, () => {
            clearLayer(this.stage.element);
            this.fetch();
          }),
        ),
    });
    this.list = new MessageList(
      (seq) => this.go({ ev: seq }, "replace"),
      (event) => this.key(event),
    );
    this.pane = new TapePane(page.right, {
      select: (seq) => this.go({ ev: seq }),
      filter: (text) => this.go({ q: this.params["q"] === text ? null : text }),
      walk: (step) => void this.walk(step),
      zoomIn: () => this.zoomIn(),
      clear: () => this.go({ r0: null, r1: null }),
    });
    for (const name of SHOW) {
      const title = name.charAt(0).toUpperCase() + name.slice(1);
      this.toggles.set(name, h("button.btn", { type: "button", onclick: () => this.toggle(name) }, title));
    }
    this.runs.addEventListener("change", () =>
      this.go({ run: this.runs.value, ev: null, t0: null, t1: null, r0: null, r1: null, q: null }),
    );
    const fit = h("button.btn", { type: "button", onclick: () => this.fit() }, "Fit", h("kbd.wide", "Space"));
    page.middle.append(
      h("div.bar.tp-bar", this.box.element, this.runs, ...this.toggles.values(), h("span.grow"), this.legend, fit),
      this.stage.element,
      this.list.element,
      this.said,
    );
  }

  show(params: Params): void {
    this.params = params;
    void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    if (!this.tape) return false;
    if (this.stage.viewport.key(event)) return true;
    switch (event.key) {
      case " ":
        this.fit();
        break;
      case "ArrowRight":
        void this.walk(1);
        break;
      case "ArrowLeft":
        void this.walk(-1);
        break;
      case "z":
      case "Z":
        this.zoomIn();
        break;
      case "Enter":
        void this.enter();
        break;
      default:
        return false;
    }
    return true;
  }

  escape(): boolean {
    if (this.range) this.go({ r0: null, r1: null });
    else if (this.params["ev"] !== undefined) this.go({ ev: null });
    else if (this.params["q"] !== undefined) this.go({ q: null });
    else return false;
    return true;
  }

  filter(): void {
    this.box.input.focus();
    this.box.input.select();
  }

  grown(): void {
    this.loaded = "";
    void this.arrive();
  }

  dispose(): void {
    this.leaving.abort();
    window.clearTimeout(this.typing);
    this.pages?.dispose();
    this.windows.dispose();
    this.stage.dispose();
    this.list.dispose();
  }

  private go(change: Record<string, string | number | null>, mode: "push" | "replace" = "push"): void {
    this.page.nav.set(change, mode);
  }

  private get run(): number {
    return numberParam(this.params, "run", 0);
  }

  /** The selected range. */
  private get range(): Span | null {
    const [r0, r1] = [numberParam(this.params, "r0", NaN), numberParam(this.params, "r1", NaN)];
    return r1 > r0 ? { t0: r0, t1: r1 } : null;
  }

  private get query(): string {
    const run = this.run > 0 ? `run=${this.run}&` : "";
    return `${run}q=${encodeURIComponent(this.params["q"] ?? "")}`;
  }

  /** Makes the screen what the address says. */
  private async arrive(): Promise<void> {
    const wanted = `run ${this.run}`;
    const fresh = wanted !== this.loaded;
    if (fresh) {
      this.loaded = wanted;
      const tape = await waitFor(
        this.stage.element,
        { title: "Reading the tape" },
        () => this.page.client.once<TapeWire>(`tape${this.run > 0 ? `?run=${this.run}` : ""}`),
        this.leaving.signal,
      );
      if (!tape) return;
      if (this.loaded !== wanted) return;
      clearLayer(this.stage.element);
      this.tape = tape;
      this.message = null;
      this.windows.forget();
      this.ranged = "";
      this.drawBar();
    }
    const { tape, params } = this;
    if (!tape) return;
    const folded = params["fold"] !== "0";
    if (fresh || folded !== this.folded) this.stage.use(tape, folded);
    this.folded = folded;
    const show = new Set((params["show"] ?? DEFAULT_SHOW).split(","));
    for (const name of SHOW) {
      this.toggles.get(name)!.classList.toggle("on", show.has(name));
      this.toggles.get(name)!.setAttribute("aria-pressed", String(show.has(name)));
    }
    this.stage.setShow(show.has("flows"), show.has("signals"), show.has("sizes"));
    this.takeFilter(fresh);
    this.takeWindow();
    void this.takeRange();
    await this.takeSelection();
  }

  private takeFilter(fresh: boolean): void {
    const text = this.params["q"] ?? "";
    if (document.activeElement !== this.box.input) this.box.input.value = text;
    if (!fresh && text === this.filterText && this.pages) return;
    this.filterText = text;
    this.pages?.dispose();
    this.pages = new MessagePages(this.page.client, this.query, () => this.list.refresh());
    this.message = null;
    this.following = true;
  }

  private takeWindow(): void {
    const [t0, t1] = [numberParam(this.params, "t0", NaN), numberParam(this.params, "t1", NaN)];
    if (t1 > t0) {
      const [a, b] = this.stage.times;
      if (a !== t0 || b !== t1) this.stage.setTimes(t0, t1);
    } else this.stage.fit();
    this.fetch();
  }

  /** Veil and figures of the selected range; the list shows what is in it. */
  private async takeRange(): Promise<void> {
    const { range, tape } = this;
    const wanted = range ? `tape/range?${this.query}&t0=${range.t0}&t1=${range.t1}` : "";
    this.stage.setRange(range);
    if (wanted === this.ranged) return;
    this.ranged = wanted;
    this.following = true;
    this.fetch();
    if (!range) return this.pane.range(tape!, null);
    try {
      const found = await this.page.client.get<TapeRangeWire>(wanted, this.leaving.signal);
      if (this.ranged === wanted) this.pane.range(tape!, found);
    } catch (error) {
      if (!isAbort(error)) this.said.textContent = sentenceOf(error);
    }
  }

  private zoomIn(): void {
    const { range } = this;
    if (!range) return;
    const margin = (range.t1 - range.t0) * 0.02;
    this.stage.showTimes(range.t0 - margin, range.t1 + margin);
  }

  private async takeSelection(): Promise<void> {
    const seq = numberParam(this.params, "ev", -1);
    if (seq === (this.message?.seq ?? -1)) {
      this.pane.select(this.tape!, this.message);
      this.list.select(this.message?.place ?? -1);
      this.stage.setSelected(this.message);
      return;
    }
    let found: MessageWire | null = null;
    if (seq >= 0) {
      try {
        found = await this.page.client.get<MessageWire>(`tape/messages/${seq}?${this.query}`, this.leaving.signal);
      } catch (error) {
        if (isAbort(error)) return;
        this.said.textContent = sentenceOf(error);
      }
      if (seq !== numberParam(this.params, "ev", -1)) return;
    }
    this.message = found;
    this.pane.select(this.tape!, found);
    this.stage.setSelected(found);
    this.list.select(found?.place ?? -1);
    if (!found) return;
    const { tape } = this;
    const [kind, lane] = [tape!.kinds[found.event]!.name, tape!.lanes[found.lane]!.name];
    this.said.textContent = `#${found.seq} ${kind}, ${lane}, ${tape!.ops[found.op] ?? ""}`;
    if (this.folded && tape!.lead && found.time < tape!.parts[0]![0])
      this.go({ fold: "0", t0: null, t1: null }, "replace");
    else this.stage.reveal(found.time, found.lane);
  }

  /** The user moved the window: the address follows, and what is missing is asked for. */
  private moved(): void {
    if (!this.tape) return;
    const [t0, t1] = this.stage.times;
    const fitted = this.params["t0"] === undefined;
    this.following = true;
    if (!(fitted && this.isFit())) this.go({ t0, t1 }, "replace");
    this.fetch();
  }

  private isFit(): boolean {
    const [a, b] = this.stage.times;
    const axis = this.stage.timeAxis;
    return axis !== null && axis.toU(a) <= 0 && axis.toU(b) >= axis.length;
  }

  private fit(): void {
    this.stage.fit();
    this.following = true;
    this.go({ t0: null, t1: null });
    this.fetch();
  }

  private toggle(name: string): void {
    const show = new Set(
      (this.params["show"] ?? DEFAULT_SHOW).split(",").filter((word) => word !== "" && word !== "none"),
    );
    if (!show.delete(name)) show.add(name);
    const text = SHOW.filter((word) => show.has(word)).join(",") || "none";
    this.go({ show: text === DEFAULT_SHOW ? null : text });
  }

  private typed(text: string): void {
    window.clearTimeout(this.typing);
    this.typing = window.setTimeout(
      () => this.go({ q: text.trim() === "" ? null : text.trim() }, "replace"),
      TYPING_MS,
    );
  }

  private fetch(): void {
    if (!this.tape || this.stage.width < 10) return;
    const [t0, t1] = this.stage.wide;
    const [s0, s1] = this.stage.times;
    const [v0, v1] = this.range ? [this.range.t0, this.range.t1] : [s0, s1];
    const { per } = this.stage;
    this.windows.need({
      path: `tape/window?${this.query}&t0=${t0}&t1=${t1}&v0=${v0}&v1=${v1 + 1}&per=${per}`,
      of: this.query,
      span: { t0: s0, t1: s1 },
      stretch: { t0, t1 },
      scale: per,
      listed: [v0, v1],
    });
  }

  private take(data: TapeWindow, wanted: WantedTape): void {
    const { tape } = this;
    if (!tape || wanted.of !== this.query) return;
    const [t0, t1] = wanted.listed;
    const other = this.data?.kept !== data.kept || this.usedPages !== this.pages;
    this.data = data;
    this.stage.setData(data);
    if (other && this.pages) {
      this.usedPages = this.pages;
      this.list.use(tape, this.pages, data.kept);
      this.list.select(this.message?.place ?? -1);
    }
    this.list.window(t0, t1);
    const chosen = this.message?.place ?? -1;
    const inSight = this.message !== null && this.message.time >= t0 && this.message.time <= t1 && chosen >= 0;
    if (this.following && !inSight && data.first >= 0) this.list.scrollTo(data.first);
    this.following = false;
    clearLayer(this.stage.element);
    if (data.kept === 0) {
      const text = this.filterText;
      const some = tape.families.slice(0, 8).map(({ name }) => name);
      showLayer(
        this.stage.element,
        text === ""
          ? emptyState("No events", tape.diagnoses[0]?.words ?? "This run holds no events.")
          : emptyState(
              `Nothing is named ${text}`,
              `The filter was tried on operations, commands, events and lanes of ${counted(tape.events, "message")}. ` +
                `There are: ${some.join(", ")}.`,
            ),
      );
    }
    this.status();
  }

  private async walk(step: number): Promise<void> {
    const { pages, data } = this;
    if (!pages || !data) return;
    const place = this.message && this.message.place >= 0 ? this.message.place + step : Math.max(0, data.first);
    const row = await pages.get(Math.max(0, Math.min(data.kept - 1, place)));
    if (row && pages === this.pages) this.go({ ev: row.seq }, "replace");
  }

  /** Enter: the first message in sight when none is selected, else the selected one comes near. */
  private async enter(): Promise<void> {
    if (!this.message) return this.walk(0);
    const [t0, t1] = this.stage.times;
    const inColumns = !this.data?.marks.seq.includes(this.message.seq);
    const half = ((t1 - t0) / 2) * (inColumns ? 0.2 : 1);
    this.stage.showTimes(this.message.time - half, this.message.time + half);
  }

  private drawBar(): void {
    const tape = this.tape!;
    fill(
      this.runs,
      ...tape.runs.map((run, i) =>
        h(
          "option",
          { value: i + 1, selected: i + 1 === tape.run },
          `${run.name || `Run ${i + 1}`} · ${counted(run.events, "event")}`,
        ),
      ),
    );
    this.runs.hidden = tape.runs.length < 2;
    const words = momentWords(tape.resolution);
    fill(
      this.legend,
      ...tape.kinds
        .filter((kind) => kind.events > 0)
        .slice(0, 9)
        .map((kind) => h("span", shapeIcon(kind.shape), kind.name.replaceAll("_", " ").toLowerCase())),
      h("span.faint", tape.resolution >= 1e6 ? "stacked: one ms, in order" : "stacked: in order"),
    );
    tip(
      this.legend,
      () =>
        `Shape is the event, colour the operation, area the size of the data. ${words} Arrows of one moment, pair and ` +
        "direction are one; wider means more. Columns stand for many events: height is how many.",
    );
    this.toggles.get("signals")!.hidden = tape.signals.length === 0;
  }

  private wasDrawn(drawn: Drawn): void {
    this.drawn = drawn;
    if (!this.data || !this.tape) return;
    const { middle } = this.page;
    middle.dataset["shown"] =
      `${this.tape.run}/${this.message?.seq ?? ""}/${drawn.marks.length}/${drawn.inColumns}/${this.filterText}`;
    this.status();
  }

  private status(): void {
    const { tape, data, drawn, folded, stage } = this;
    if (!tape || !data) return;
    const { left, right } = tapeStatus({ tape, data, drawn, folded, idle: stage.timeAxis?.folded ?? 0 }, (change) =>
      this.go(change),
    );
    this.page.status(left, [...right, `window ${duration(stage.per * stage.width)}`]);
  }
}
