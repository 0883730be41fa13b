/** Code: what a kernel became, as source, op list, assembly and AST; errors with their traceback. */
import { nameNodes, plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { bytes, clip, count, counted, duration } from "../../base/format.ts";
import { languageOf } from "../../base/highlight.ts";
import { abortable, sentenceOf } from "../../data/client.ts";
import { isKnown, lineMarks, sameRule } from "../../data/line_origin.ts";
import { listing } from "../../data/listing.ts";
import { changed, numberParam, type Params } from "../../state/place.ts";
import type { ContextsWire, ContextWire, StepsWire } from "../../wire/capture.ts";
import type { ArtifactWire, CodeWire, LinesWire } from "../../wire/code.ts";
import type { GraphWire } from "../../wire/graph.ts";
import type { CodeFlowWire } from "../../wire/hardware.ts";
import { copyButton } from "../common/copy.ts";
import { FlowGraph } from "../common/flow_graph.ts";
import { clearLayer, emptyState, PATIENCE_MS, showLayer, waitFor } from "../common/states.ts";
import { tip } from "../common/tooltip.ts";
import type { Page, View, ViewDef } from "../registry.ts";
import { CodeBlock } from "./code_block.ts";
import { KernelList } from "./kernel_list.ts";
import { lineSections, lineTitle } from "./line_chain.ts";
import { originSections, runsSection } from "./origin.ts";
import { tabButton, tabsOf, type Tab } from "./tabs.ts";

export const CODE: ViewDef = {
  id: "code",
  title: "Code",
  panes: { left: "Kernels", right: "Where it comes from" },
  keys: [
    ["Find", "Ctrl F"],
    ["Next, previous kernel", "↓ ↑"],
    ["Next, previous line", "⇧↓ ⇧↑"],
    ["Next line of the rule", "N"],
    ["Next register of the line", "R"],
    ["Its match in Rewrites", "Enter"],
  ],
  // what belongs to no context, as the binary of a hardware trace, is no kernel's code
  available: (info) =>
    (info.tables["contexts"] ?? 0) > 0 &&
    ["source", "oplist", "assembly", "error", "binary"].some((kind) => (info.kinds[`artifact:${kind}`] ?? 0) > 0),
  create: (page) => new CodeView(page),
};

class CodeView implements View {
  private readonly tabs = h("span.seg.code-tabs", { role: "group", "aria-label": "What to show" });
  private readonly find = h("input.find", {
    type: "text",
    placeholder: "Find",
    "aria-label": "Find in code",
    spellcheck: "false",
  }) as HTMLInputElement;
  private readonly found = h("span.faint.small");
  private readonly wrap = h("button.btn", { type: "button", "aria-pressed": "false" }, "Wrap");
  private readonly copy = copyButton(() => this.block?.text ?? "");
  private readonly head = h("div.codehead");
  private readonly body = h("div.stage");
  private contexts: ContextsWire | null = null;
  private code: CodeWire | null = null;
  private context: ContextWire | null = null;
  /** Where the lines on the screen came from; null when that is not known (yet). */
  private origin: LinesWire | null = null;
  private kernels: KernelList | null = null;
  private params: Params = {};
  private block: CodeBlock | null = null;
  private shown = "";
  /** The register that is lit in machine code. */
  private lit = "";
  private loading = new AbortController();
  private readonly leaving = new AbortController();

  constructor(private readonly page: Page) {
    this.find.addEventListener("input", () => this.search());
    this.find.addEventListener("keydown", (event) => this.findKey(event));
    this.wrap.addEventListener("click", () => {
      const on = this.body.classList.toggle("wrapped");
      this.wrap.classList.toggle("on", on);
      this.wrap.setAttribute("aria-pressed", String(on));
    });
    page.middle.append(
      h("div.bar.code-bar", this.tabs, h("span.grow"), this.found, this.find, this.wrap, this.copy),
      this.head,
      this.body,
    );
    void this.load();
  }

  show(params: Params): void {
    this.params = params;
    if (this.kernels) void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    const line = numberParam(this.params, "line", 0);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const by = event.key === "ArrowDown" ? 1 : -1;
      if (event.shiftKey) this.chooseLine(line + by);
      else this.kernels?.move(by);
    } else if (event.key === "n" && this.origin) this.nextOfRule();
    else if (event.key === "r" && line > 0) return this.block?.lightNext(line) ?? false;
    else if (event.key === "Enter" && line > 0) this.page.right.querySelector<HTMLElement>(".tomatch")?.click();
    else return false;
    return true;
  }

  focusFind(): boolean {
    this.find.focus();
    this.find.select();
    return true;
  }

  filter(): void {
    this.kernels?.focusFilter();
  }

  escape(): boolean {
    if (this.lit !== "") this.block?.light("");
    else if (this.params["line"] === undefined) return false;
    else this.page.nav.set({ line: null }, "replace");
    return true;
  }

  dispose(): void {
    this.leaving.abort();
    this.loading.abort();
    this.block?.dispose();
  }

  private async load(): Promise<void> {
    const { client } = this.page;
    const loaded = await waitFor(
      this.page.left,
      { title: "Reading kernels" },
      () => Promise.all([client.once<ContextsWire>("contexts"), client.once<CodeWire>("code")]),
      this.leaving.signal,
    );
    if (!loaded || this.leaving.signal.aborted) return;
    [this.contexts, this.code] = loaded;
    this.kernels = new KernelList(
      this.page.left,
      ...loaded,
      (context) => this.page.nav.go({ ...this.page.nav.place, params: this.kept({ context: String(context) }) }),
      (sort) => this.page.nav.set({ sort }, "replace"),
      (text) => this.page.nav.set({ q: text }, "replace"),
    );
    await this.arrive();
  }

  private kept(params: Record<string, string>): Params {
    const { as = null, q = null, sort = null } = this.params;
    return changed(params, { as, q, sort });
  }

  private async arrive(): Promise<void> {
    this.kernels!.filter(this.params["q"] ?? "", this.params["sort"]);
    const id = numberParam(this.params, "context", -1);
    if (id < 0 || !this.contexts!.id.includes(id)) {
      const first = this.kernels!.first;
      if (first >= 0) this.page.nav.set({ context: first }, "replace");
      else showLayer(this.body, emptyState("No code", "No context of this capture left code behind."));
      return;
    }
    this.kernels!.show(id);
    const key = `${id}/${this.params["as"] ?? ""}`;
    if (key === this.shown) {
      this.drawLine("near");
      return;
    }
    this.loading.abort();
    this.loading = new AbortController();
    const { signal } = this.loading;
    const context = await waitFor(
      this.body,
      { title: "Reading the kernel" },
      () => this.page.client.once<ContextWire>(`contexts/${id}`),
      signal,
    );
    if (!context || signal.aborted) return;
    this.shown = key;
    this.context = context;
    this.origin = null;
    const at = this.code!.context.indexOf(id);
    const tabs = tabsOf(context, this.code!.machine[at] === 1);
    const tab = tabs.find((one) => one.id === this.params["as"]) ?? tabs.find((one) => one.id === "error") ?? tabs[0];
    fill(
      this.tabs,
      ...tabs.map((one) =>
        tabButton(one, one === tab, one.id === "oplist" ? (this.code!.ops[at] ?? null) : null, () =>
          this.page.nav.set({ as: one.id, line: null }),
        ),
      ),
    );
    if (!tab) {
      showLayer(this.body, emptyState("No code", `${plain(context.name)} left no code behind.`));
      this.drawRight(context);
      return;
    }
    await this.drawCode(context, tab, signal);
  }

  private async drawFlow(context: ContextWire, tab: Tab, signal: AbortSignal): Promise<void> {
    const wire = await waitFor(
      this.body,
      { title: "Reading the control flow", again: () => void this.drawFlow(context, tab, signal) },
      (stop) => this.page.client.get<CodeFlowWire>(`artifacts/${tab.artifact!.row}/flow`, stop),
      signal,
    );
    if (!wire || signal.aborted) return;
    this.leaveBlock();
    const host = h("div.hw-page");
    fill(this.body, host);
    new FlowGraph(host, wire, { ...wire, hits: wire.pc.map(() => 0) }, wire.resources);
    this.drawHead(tab, null);
    this.drawLine(false);
    this.page.middle.dataset["shown"] = `${context.id}/${tab.id}`;
  }

  private async drawCode(context: ContextWire, tab: Tab, signal: AbortSignal): Promise<void> {
    for (const ofText of [this.find, this.found, this.wrap, this.copy]) ofText.hidden = tab.flow ?? false;
    if (tab.flow) return this.drawFlow(context, tab, signal);
    const text = await waitFor(
      this.body,
      { title: `Reading ${tab.title}`, again: () => void this.drawCode(context, tab, signal) },
      (stop) => this.textOf(context, tab, stop),
      signal,
    );
    if (text === null || signal.aborted) return;
    this.leaveBlock();
    const language = tab.artifact === null ? "ops" : languageOf(tab.artifact.language, tab.artifact.kind);
    const traced = tab.artifact?.kind === "source" && context.kind === "kernel";
    this.block = new CodeBlock(
      text,
      language,
      traced,
      (line) => this.chooseLine(line),
      (register) => {
        this.lit = register;
        this.drawStatus();
      },
    );
    fill(this.body, this.block.element);
    this.drawHead(tab, traced ? "" : null);
    this.drawLine("centre");
    // what a traceback ends with is what happened
    if (tab.artifact?.kind === "error" && this.params["line"] === undefined)
      this.body.querySelector(".ln:last-child")?.scrollIntoView({ block: "end" });
    if (this.find.value !== "") this.search();
    this.page.middle.dataset["shown"] = `${context.id}/${tab.id}`;
    if (traced) await this.trace(context, tab, signal);
  }

  private leaveBlock(): void {
    this.block?.dispose();
    this.block = null;
    this.lit = "";
    clearLayer(this.body);
  }

  /** Asks where the lines came from. The code can be read meanwhile; what it says has its place already. */
  private async trace(context: ContextWire, tab: Tab, signal: AbortSignal): Promise<void> {
    const patience = window.setTimeout(() => signal.aborted || this.drawHead(tab, "tracing…"), PATIENCE_MS);
    try {
      const origin = await abortable(this.page.client.once<LinesWire>(`contexts/${context.id}/lines`), signal);
      if (signal.aborted || origin.artifact !== tab.artifact!.row) return;
      this.origin = origin;
      const told = origin.lines.some((line) => line.kind !== "none");
      if (told) this.block!.decorate(lineMarks(origin));
      else this.block!.bare();
      this.drawHead(tab, told ? (origin.note ?? "") : null);
      this.drawLine(false);
      this.body.dataset["traced"] = String(context.id);
    } catch (error) {
      if (!signal.aborted) this.drawHead(tab, sentenceOf(error), () => void this.trace(context, tab, signal));
    } finally {
      window.clearTimeout(patience);
    }
  }

  /** Names the columns; `note` says what is missing in those of the origin, null that there are none. */
  private drawHead(tab: Tab, note: string | null, again?: () => void): void {
    const title = h(
      "span.ell",
      h("span.mono.name", ...nameNodes(this.context!.name)),
      " ",
      h("span.faint", tab.artifact === null ? "graph" : tab.artifact.language),
    );
    this.head.classList.toggle("marked", note !== null);
    fill(
      this.head,
      h("span"),
      title,
      note !== null &&
        h(
          "span.pv",
          h("span", "Op"),
          h("span.ell", "Made by pass, rule"),
          note !== "" && tip(h("span.ell.faint", `· ${note}`), () => note),
          again && h("button.link", { type: "button", onclick: again }, "Try again"),
        ),
    );
  }

  private async textOf(context: ContextWire, tab: Tab, signal: AbortSignal): Promise<string> {
    if (tab.artifact) {
      const wire = await this.page.client.get<ArtifactWire>(`artifacts/${tab.artifact.row}`, signal);
      return wire.cut ? `${wire.text}\n… cut here: ${bytes(wire.bytes)} in all` : wire.text;
    }
    const steps = await this.page.client.once<StepsWire>("steps");
    const own = steps.context.flatMap((of, at) => (of === context.id && steps.root[at]! >= 0 ? [at] : []));
    const at = own.find((step) => (steps.flags[step]! & 16) !== 0) ?? own[0];
    if (at === undefined) return "No pass of this context kept a graph.";
    const graph = await this.page.client.get<GraphWire>(`steps/${steps.id[at]!}/graph?match=0`, signal);
    return listing(graph)
      .map((line) => line.text)
      .join("\n");
  }

  private chooseLine(line: number): void {
    if (this.block && line >= 1 && line <= this.block.length) this.page.nav.set({ line }, "replace");
  }

  private nextOfRule(): void {
    const line = numberParam(this.params, "line", 0);
    const lines = sameRule(this.origin!, line);
    const next = lines.find((one) => one > line) ?? lines[0];
    if (next !== undefined) this.chooseLine(next);
  }

  /** Marks the line of the address, tints those of its rule and says where it came from. */
  private drawLine(reveal: "centre" | "near" | false): void {
    const line = numberParam(this.params, "line", 0);
    this.block?.select(line, this.origin ? sameRule(this.origin, line) : [], reveal);
    if (this.context) this.drawRight(this.context);
    this.drawStatus();
  }

  private drawRight(context: ContextWire): void {
    const at = this.contexts!.id.indexOf(context.id);
    const matches = this.contexts!.matches[at] ?? 0;
    const took = duration(context.dur);
    const rewrites = this.page.nav.address("rewrites", { context: String(context.id) });
    const number = numberParam(this.params, "line", 0);
    const line = this.origin?.lines[number - 1];
    const compiled = h(
      "dd",
      this.page.has("rewrites")
        ? h("a", { href: rewrites }, counted(this.contexts!.steps[at] ?? 0, "pass", "passes"))
        : counted(this.contexts!.steps[at] ?? 0, "pass", "passes"),
      // without any its passes may still have changed much: most compilers tell of no rules
      matches > 0 && `, ${counted(matches, "match", "matches")}`,
      took !== "" && ", ",
      took !== "" && h("span.num", took),
    );
    const facts = runsSection(this.page, context, [h("dt", "Compiled"), compiled]);
    const top = this.page.right.querySelector(".scroll")?.scrollTop ?? 0;
    fill(
      this.page.right,
      h("div.bar", { "aria-live": "polite" }, h("b.ell", lineTitle(context, line ? number : 0))),
      h(
        "div.scroll",
        ...(line
          ? [
              ...lineSections(this.page, {
                context,
                wire: this.origin!,
                line,
                text: this.block!.line(number),
                next: () => this.nextOfRule(),
              }),
              facts,
            ]
          : [facts, originSections(this.page, context)]),
      ),
    );
    if (line) this.page.right.querySelector(".scroll")!.scrollTop = top;
  }

  private drawStatus(): void {
    const line = numberParam(this.params, "line", 0);
    const at = this.code!.context.indexOf(this.context?.id ?? -1);
    const known = this.origin?.lines.filter(isKnown).length ?? 0;
    const ops = this.code!.ops[at] ?? 0;
    this.page.status(
      [
        h("span", h("b.name", clip(plain(this.context?.name ?? ""), 60))),
        ...(this.block ? [h("span", h("b", count(this.block.length)), " lines")] : []),
        // a compiler that lists no ops has none to count, and no origin of its lines
        ...(ops > 0 ? [h("span", h("b", count(ops)), ` op${ops === 1 ? "" : "s"}`)] : []),
        ...(this.origin && known > 0
          ? [h("span.wide", `${count(known)} of ${count(this.origin.lines.length)} lines have a known origin`)]
          : []),
      ],
      line > 0 && line <= (this.block?.length ?? 0)
        ? [`line ${count(line)}`, ...(this.lit === "" ? [] : [`${this.lit} lit`])]
        : [],
    );
  }

  private search(): void {
    const text = this.find.value;
    const number = this.block?.find(text) ?? 0;
    this.found.textContent = text === "" ? "" : number === 0 ? "none" : counted(number, "line");
    if (number > 0) this.block?.next(1);
  }

  private findKey(event: KeyboardEvent): void {
    if (event.key === "Enter") {
      const at = this.block?.next(event.shiftKey ? -1 : 1);
      if (at) this.found.textContent = `${count(at[1])} · line ${count(at[0])}`;
    } else if (event.key === "Escape") {
      this.find.value = "";
      this.search();
      this.find.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
