/** Compare: what a change altered between two captures; the verdict first, then what it is made of. */
import { fill, h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import { isAbort, getJson } from "../../data/client.ts";
import { withoutFound } from "../../data/both_calls.ts";
import { formatPaths, parsePaths } from "../../data/calls.ts";
import { bothNames, differs } from "../../data/compare.ts";
import type { Params } from "../../state/place.ts";
import type { CaptureRow } from "../../wire/capture.ts";
import type {
  BothWindowsWire,
  BothCallsWire,
  CompareWire,
  CurvesWire,
  KernelPairWire,
  KernelWire,
} from "../../wire/compare.ts";
import { filterBox } from "../common/filter_box.ts";
import { clearLayer, emptyState, failure, showLayer, waitFor } from "../common/states.ts";
import type { Page, View } from "../registry.ts";
import { CallPair } from "./call_pair.ts";
import { codePair } from "./code_pair.ts";
import { memoryPage, memoryPair } from "./memory_pair.ts";
import { otherCaptures } from "./other_captures.ts";
import { GraphStage } from "./graph_stage.ts";
import { formatPairs, HandPairs, pairQuery, parsePairs } from "./hand_pairs.ts";
import { graphHead, graphNotes, type PartActions, partSide, shownGraphs } from "./part_side.ts";
import { SortTable, type SortColumn } from "./sort_table.ts";
import { kernelColumns, passColumns, ruleColumns, timeColumns } from "./tables.ts";
import { atPair, parseWindow, TimelinePair } from "./timeline_pair.ts";
import { drawVerdict, statusParts } from "./verdict.ts";

const TABS: readonly (readonly [string, string])[] = [
  ["kernels", "Kernels"],
  ["graphs", "Graphs"],
  ["host", "Host"],
  ["rules", "Rules"],
  ["passes", "Passes"],
  ["timeline", "Timeline"],
  ["calls", "Calls"],
  ["memory", "Memory"],
];

/** What another pair does not keep of the address. */
const AT_ITS_PARTING = { pass: null, match: null, cam: null };

export class CompareView implements View {
  private params: Params = {};
  private found: CompareWire | null = null;
  private pair: KernelPairWire | null = null;
  private table: SortTable<KernelWire> | null = null;
  private timelines: TimelinePair | null = null;
  private graphs: GraphStage | null = null;
  private calls: CallPair | null = null;
  private asked = "";
  private askedPair = "";
  private drawn = "";
  private loading = new AbortController();
  private siding = new AbortController();
  private readonly verdict = h("div.cmp-verdict", { role: "status" });
  private readonly box = filterBox(
    "Filter",
    (text) => this.page.nav.set({ q: text, shut: formatPaths(withoutFound(this.shut)) }, "replace"),
    () => undefined,
  );
  private readonly tabs = h("span.seg", { role: "group", "aria-label": "What is compared" });
  private readonly only = h("span.seg", { role: "group", "aria-label": "Which kernels" });
  private readonly stage = h("div.stage.cmp-stage");
  private readonly side = h("div.scroll");
  private readonly hand = new HandPairs((pairs) => this.page.nav.set({ pair: formatPairs(pairs) || null }));

  constructor(private readonly page: Page) {
    const filter = this.box.element.querySelector("label")!;
    filter.className = "search cmp-filter";
    page.middle.append(
      this.verdict,
      h(
        "div.bar",
        filter,
        this.tabs,
        this.only,
        h("span.grow"),
        h("button.btn.cmp-by-hand", { type: "button", onclick: () => this.hand.toggle() }, "Pair by hand"),
        h(
          "button.btn.cmp-swap",
          { type: "button", onclick: () => this.swap(), "aria-keyshortcuts": "X" },
          "Swap ",
          h("kbd", "X"),
        ),
      ),
      this.hand.element,
      this.stage,
    );
    const step = (by: number, label: string, text: string): HTMLElement =>
      h("button.btn", { type: "button", "aria-label": label, onclick: () => this.next(by) }, text);
    page.right.append(
      h(
        "div.bar",
        h("b", "Where they part"),
        h("span.grow"),
        step(-1, "Previous difference (⇧N)", "←"),
        step(1, "Next difference (N)", "→"),
      ),
      this.side,
    );
  }

  show(params: Params): void {
    this.params = params;
    void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === "n" || event.key === "N") this.next(event.shiftKey ? -1 : 1);
    else if (event.key === "x" || event.key === "X") this.swap();
    else return this.graphs?.key(event) ?? false;
    return true;
  }

  filter(): void {
    this.box.input.focus();
    this.box.input.select();
  }

  escape(): boolean {
    if (this.params["q"] === undefined) return false;
    this.page.nav.set({ q: null, shut: formatPaths(withoutFound(this.shut)) }, "replace");
    return true;
  }

  grown(): void {
    this.asked = this.askedPair = this.drawn = "";
    void this.arrive();
  }

  dispose(): void {
    this.loading.abort();
    this.siding.abort();
    this.timelines?.dispose();
    this.graphs?.dispose();
  }

  private get other(): string {
    return this.params["b"] ?? this.page.partner();
  }

  private get below(): string {
    return `compare/${encodeURIComponent(this.other)}`;
  }

  private get pairs(): string {
    return pairQuery(parsePairs(this.params["pair"]));
  }

  private async arrive(): Promise<void> {
    if (this.other === "") return this.choose();
    if (this.params["a"] !== this.page.info.id || this.params["b"] === undefined) {
      this.page.nav.set({ a: this.page.info.id, b: this.other }, "replace");
      return;
    }
    this.hand.show(this.found, parsePairs(this.params["pair"]), ""); // so that one that cannot be made can be taken out
    const query = `${this.below}?${this.pairs}`;
    if (query !== this.asked) {
      this.asked = query;
      this.drawn = this.askedPair = "";
      this.loading.abort();
      this.loading = new AbortController();
      const found = await waitFor(
        this.stage,
        { title: "Comparing", note: `${this.page.info.name} and ${this.other}`, again: () => this.grown() },
        (stop) => this.page.client.get<CompareWire>(query, stop),
        this.loading.signal,
      );
      if (!found) return;
      this.found = found;
    }
    if (this.found) this.draw(this.found);
  }

  /** Without a second capture: those that there are. */
  private async choose(): Promise<void> {
    const { captures } = await getJson<{ captures: CaptureRow[] }>("captures");
    fill(this.verdict, h("div.say", h("div.title", `Compare ${this.page.info.name} with …`)));
    fill(this.stage, otherCaptures(this.page, captures));
  }

  private swap(): void {
    const { kernel, tab, only, q, pass, match } = this.params;
    const row = this.found?.kernels.find((one) => one.name === kernel || one.b === kernel);
    const pair = formatPairs(parsePairs(this.params["pair"]).map(([a, b]) => [b, a] as const)) || undefined;
    const kept = { tab, only, q, pass, match, pair, kernel: row ? row.b || row.a : kernel };
    const params: Record<string, string> = { a: this.other, b: this.page.info.id };
    for (const [key, value] of Object.entries(kept)) if (value !== undefined) params[key] = value;
    this.page.nav.go({ capture: this.other, view: "compare", params });
  }

  private next(by: number): void {
    const { found } = this;
    if (!found) return;
    const rows = (this.table?.shown ?? found.kernels).filter(differs).map((row) => row.name);
    const names = rows.length > 0 ? rows : found.divergence.map((one) => one.a || one.b);
    if (names.length === 0) return;
    const at = names.indexOf(this.chosen(found));
    const to = names[(at < 0 ? (by > 0 ? 0 : names.length - 1) : at + by + names.length) % names.length]!;
    this.page.nav.set({ kernel: to, ...AT_ITS_PARTING });
  }

  /** The pair that the side and the code are about: the address's, else the first kernel that changed, else where they part. */
  private chosen(found: CompareWire): string {
    const named = this.params["kernel"];
    if (named !== undefined) return named;
    const changed = found.kernels.find((row) => row.state === "changed");
    if (changed) return changed.name;
    const first = found.divergence.find((one) => one.isKernel && one.follows.length === 0) ?? found.divergence[0];
    return first ? first.a || first.b : (found.kernels[0]?.name ?? "");
  }

  private draw(found: CompareWire): void {
    const tab = TABS.some(([id]) => id === this.params["tab"]) ? this.params["tab"]! : "kernels";
    if (document.activeElement !== this.box.input) this.box.input.value = this.params["q"] ?? "";
    drawVerdict(this.verdict, found);
    this.drawBar(found, tab);
    this.hand.show(found, parsePairs(this.params["pair"]), this.chosen(found));
    this.drawStage(found, tab);
    this.side.classList.toggle("without-graphs", tab === "graphs"); // they have the middle
    this.page.status(...statusParts(found));
    void this.drawPair(found, tab);
    this.page.middle.dataset["shown"] = `${tab}/${found.kernels.length}/${found.same ? "same" : "different"}`;
  }

  private drawBar(found: CompareWire, tab: string): void {
    const counts: Record<string, number> = { rules: found.rules.length };
    const button = (on: boolean, label: string, act: () => void): HTMLElement =>
      h(`button${on ? ".on" : ""}`, { type: "button", "aria-pressed": String(on), onclick: act }, label);
    fill(
      this.tabs,
      ...TABS.filter(([id]) => this.has(found, id)).map(([id, title]) =>
        button(id === tab, counts[id] ? `${title} ${count(counts[id])}` : title, () =>
          this.page.nav.set({ tab: id === "kernels" ? null : id, sort: null, down: null }),
        ),
      ),
    );
    const only = this.params["only"] ?? "all";
    const differ = found.kernels.filter(differs).length;
    const slower = found.kernels.filter((row) => row.time?.verdict === "slower").length;
    const kinds: [string, string][] = [
      ["all", "All"],
      ["differ", `Differ ${count(differ)}`],
      ["slower", `Slower ${count(slower)}`],
    ];
    fill(
      this.only,
      ...(tab === "kernels"
        ? kinds.map(([id, label]) =>
            button(id === only, label, () => this.page.nav.set({ only: id === "all" ? null : id })),
          )
        : []),
    );
  }

  private has(found: CompareWire, tab: string): boolean {
    if (tab === "host") return found.times.length > 0;
    if (tab === "graphs") return found.divergence.length > 0;
    if (tab === "rules") return found.rules.length > 0;
    if (tab === "passes") return found.passes.length > 0;
    if (tab === "memory") return found.memory.length > 0;
    if (tab === "timeline" || tab === "calls") return found.times.length > 0 || found.kernels.some((row) => row.time);
    return true;
  }

  private drawStage(found: CompareWire, tab: string): void {
    const kind = `${this.asked} ${tab}`;
    const changed = kind !== this.drawn;
    this.drawn = kind;
    if (tab !== "graphs") {
      this.graphs?.dispose();
      this.graphs = null;
    }
    clearLayer(this.stage);
    if (tab === "timeline") {
      if (changed || !this.timelines) {
        this.timelines?.dispose();
        this.timelines = this.timeline(found);
        fill(this.stage, this.timelines.element);
        this.timelines.show();
      }
      return;
    }
    this.timelines?.dispose();
    this.timelines = null;
    if (tab === "graphs") this.drawGraphs();
    else if (tab === "kernels") this.drawKernels(found);
    else if (tab === "host")
      this.drawTable("Host phases", timeColumns(), found.times, (row) => bothNames(row.name, row.nameB));
    else if (tab === "rules")
      this.drawTable("Rules", ruleColumns(), found.rules, (row) => `${row.rule} ${row.text_a} ${row.text_b}`);
    else if (tab === "passes") this.drawTable("Passes", passColumns(), found.passes, (row) => row.name);
    else if (changed) void this.drawLater(found, tab);
    else if (tab === "calls" && this.calls) this.drawCalls(this.calls);
  }

  private async drawLater(found: CompareWire, tab: string): Promise<void> {
    fill(this.stage);
    this.calls = null;
    const signal = this.loading.signal;
    if (tab === "memory") {
      const curves = await waitFor(
        this.stage,
        { title: "Reading buffers" },
        (stop) => this.page.client.get<CurvesWire>(`${this.below}/memory`, stop),
        signal,
      );
      if (curves && this.params["tab"] === tab) fill(this.stage, memoryPage(curves, found.memory));
      return;
    }
    const calls = await waitFor(
      this.stage,
      { title: "Summing up calls" },
      () => this.page.client.once<BothCallsWire>(`${this.below}/calls?${this.pairs}`),
      signal,
    );
    if (!calls || this.params["tab"] !== tab) return;
    this.calls = new CallPair(
      calls,
      (sort, down) => this.sort(sort, down),
      (shut) => this.page.nav.set({ shut: formatPaths(shut) }, "replace"),
    );
    fill(this.stage, this.calls.element);
    this.drawCalls(this.calls);
  }

  private drawCalls(calls: CallPair): void {
    calls.show(this.params["q"] ?? "", this.params["sort"] ?? "total", this.params["down"] !== "0", this.shut);
  }

  /** Branches of the call trees that were closed. */
  private get shut(): Set<string> {
    return parsePaths(this.params["shut"]);
  }

  private drawTable<Row>(
    label: string,
    columns: SortColumn<Row>[],
    rows: readonly Row[],
    text: (row: Row) => string,
  ): void {
    const words = (this.params["q"] ?? "").toLowerCase();
    const table = new SortTable<Row>(label, columns, { sort: (sort, down) => this.sort(sort, down) });
    table.show(
      rows.filter((row) => text(row).toLowerCase().includes(words)),
      this.params["sort"] ?? "total",
      this.params["down"] !== "0",
      () => false,
    );
    fill(this.stage, table.element);
  }

  private sort(sort: string, down: boolean): void {
    this.page.nav.set({ sort, down: down ? null : "0" }, "replace");
  }

  private drawKernels(found: CompareWire): void {
    const only = this.params["only"] ?? "all";
    const words = (this.params["q"] ?? "").toLowerCase();
    const rows = found.kernels.filter(
      (row) =>
        (only === "all" || (only === "slower" ? row.time?.verdict === "slower" : differs(row))) &&
        bothNames(row.a, row.b).toLowerCase().includes(words),
    );
    this.table = new SortTable<KernelWire>("Kernels of both", kernelColumns(found.kernels), {
      sort: (sort, down) => this.sort(sort, down),
      choose: (row) => this.page.nav.set({ kernel: row.name, ...AT_ITS_PARTING }),
    });
    const chosen = this.chosen(found);
    this.table.show(rows, this.params["sort"] ?? "", this.params["down"] !== "0", (row) => row.name === chosen);
    const code = h("div.low.col", { id: "cmp-code" });
    fill(this.stage, this.table.element, code);
    if (rows.length === 0)
      showLayer(
        this.table.element,
        words !== "" || only !== "all"
          ? emptyState(
              "No kernel is left",
              `The filter hides all ${count(found.kernels.length)} kernels. Escape clears it.`,
            )
          : emptyState("No kernels", "Neither side has kernels; the other tabs show what there is."),
      );
    if (this.pair) this.drawCode(this.pair);
    this.table.element.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  /** Both graphs where the chosen pair parts, in the whole middle; moved only when they are there already. */
  private drawGraphs(): void {
    const { pair } = this;
    const graphs = pair && shownGraphs(pair);
    if (this.graphs && this.graphs.graphs === graphs) return this.graphs.settle();
    this.graphs?.dispose();
    this.graphs = null;
    if (!pair || !graphs) {
      const none = emptyState("No graphs to show", "This pair is equal, or one side has no graph where they part.");
      return fill(this.stage, h("div.layer", none));
    }
    this.graphs = new GraphStage(graphs, graphNotes(pair), graphHead(pair, graphs, this.actions), {
      camera: () => this.params["cam"] ?? "",
      setCamera: (cam) => this.page.nav.set({ cam }, "replace"),
    });
    fill(this.stage, this.graphs.element);
  }

  private drawCode(pair: KernelPairWire): void {
    const low = this.stage.querySelector("#cmp-code");
    if (!low) return;
    fill(
      low,
      h(
        "div.bar",
        h("b.mono.ell", bothNames(pair.a, pair.b)),
        pair.removed > 0 && h("span.chip.rem", `−${count(pair.removed)}`),
        pair.added > 0 && h("span.chip.add", `+${count(pair.added)}`),
        h("span.grow"),
        h("button.btn", { type: "button", onclick: () => this.next(1) }, "Next ", h("kbd", "N")),
      ),
      codePair(pair),
    );
  }

  private async drawPair(found: CompareWire, tab: string): Promise<void> {
    const name = this.chosen(found);
    if (name === "") {
      fill(this.side, h("p.none", "There is nothing to look at more closely."));
      return;
    }
    const { pass = "", match = "0" } = this.params;
    const place = pass === "" ? "" : `&pass=${encodeURIComponent(pass)}&match=${encodeURIComponent(match)}`;
    const query = `${this.below}/kernel?name=${encodeURIComponent(name)}${place}&${this.pairs}`;
    if (query === this.askedPair && this.pair) return;
    this.askedPair = query;
    this.siding.abort();
    this.siding = new AbortController();
    const { signal } = this.siding;
    try {
      const pair = await this.page.client.get<KernelPairWire>(query, signal);
      if (signal.aborted) return;
      this.pair = pair;
      fill(this.side, ...partSide(pair, this.actions));
      if (tab === "kernels") this.drawCode(pair);
      else if (tab === "graphs") this.drawGraphs();
      this.side.dataset["pair"] = name;
      this.side.dataset["place"] = `${pair.chosen}/${pair.match}`;
      if (found.memory.length > 0) void this.drawMemory(found, signal);
    } catch (error) {
      if (!isAbort(error))
        fill(
          this.side,
          failure(error, () => void this.drawPair(found, tab)),
        );
    }
  }

  private async drawMemory(found: CompareWire, signal: AbortSignal): Promise<void> {
    const curves = await this.page.client.once<CurvesWire>(`${this.below}/memory`);
    if (!signal.aborted && this.side.isConnected) this.side.append(memoryPair(curves, found.memory, 96));
  }

  private readonly actions: PartActions = {
    rewrites: (side, step, match) => this.rewrites(side, step, match),
    pair: (other) => {
      const { pass: _pass, match: _match, cam: _cam, ...rest } = this.params;
      return this.page.nav.address("compare", { ...rest, kernel: other });
    },
    place: (pass, match) => {
      const { pass: _pass, match: _match, cam: _cam, ...rest } = this.params;
      const kernel = this.pair?.name ?? rest["kernel"] ?? "";
      const at = pass === "" ? {} : { pass, ...(match > 0 ? { match: String(match) } : {}) };
      return this.page.nav.address("compare", { ...rest, kernel, ...at });
    },
    larger: () => this.page.nav.address("compare", { ...this.params, kernel: this.pair?.name ?? "", tab: "graphs" }),
  };

  private rewrites(side: "a" | "b", step: number, match: number): string {
    const params = { step: String(step), ...(match > 0 ? { match: String(match) } : {}) };
    return this.page.nav.addressIn(side === "a" ? this.page.info.id : this.other, "rewrites", params);
  }

  private timeline(found: CompareWire): TimelinePair {
    return new TimelinePair({
      ...atPair(found, this.chosen(found)),
      window: (query, signal) => this.page.client.get<BothWindowsWire>(`${this.below}/${query}`, signal),
      align: () => this.params["align"] ?? "begin",
      setAlign: (align) => {
        this.drawn = "";
        this.page.nav.set({ align, t: null });
      },
      view: () => parseWindow(this.params["t"]),
      setView: (from, length) => this.page.nav.set({ t: `${from},${length}` }, "replace"),
    });
  }
}
