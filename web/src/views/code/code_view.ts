/** Code: what a kernel became, as source, op list, assembly and AST; errors with their traceback. */
import { nameNodes, plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { bytes, count, counted, duration } from "../../base/format.ts";
import { languageOf } from "../../base/highlight.ts";
import { listing } from "../../data/listing.ts";
import { numberParam, type Params } from "../../state/place.ts";
import type { ArtifactRow, ContextsWire, ContextWire, StepsWire } from "../../wire/capture.ts";
import type { ArtifactWire, CodeWire } from "../../wire/code.ts";
import type { GraphWire } from "../../wire/graph.ts";
import { copyButton } from "../common/copy.ts";
import { clearLayer, emptyState, showLayer, waitFor } from "../common/states.ts";
import type { Page, View, ViewDef } from "../registry.ts";
import { CodeBlock } from "./code_block.ts";
import { KernelList } from "./kernel_list.ts";
import { originSections, runsSection } from "./origin.ts";

const TITLES: Record<string, string> = {
  source: "Source", oplist: "Ops", assembly: "Assembly", error: "Error", binary: "Assembly", table: "Table", ast: "AST",
};
const ORDER = ["error", "source", "oplist", "assembly", "ast", "table", "binary"];

export const CODE: ViewDef = {
  id: "code",
  title: "Code",
  panes: { left: "Kernels", right: "Where it comes from" },
  keys: [["Find", "Ctrl F"], ["Next, previous kernel", "↓ ↑"]],
  available: (info) => ["source", "oplist", "assembly", "error", "binary"].some((kind) => (info.kinds[`artifact:${kind}`] ?? 0) > 0),
  create: (page) => new CodeView(page),
};

interface Tab {
  id: string;
  title: string;
  artifact: ArtifactRow | null;
}

class CodeView implements View {
  private readonly tabs = h("span.seg", { role: "group", "aria-label": "What to show" });
  private readonly find = h("input.find", { type: "text", placeholder: "Find", "aria-label": "Find in code", spellcheck: "false" }) as HTMLInputElement;
  private readonly found = h("span.faint.small");
  private readonly wrap = h("button.btn", { type: "button", "aria-pressed": "false" }, "Wrap");
  private readonly head = h("div.codehead");
  private readonly body = h("div.stage");
  private contexts: ContextsWire | null = null;
  private kernels: KernelList | null = null;
  private params: Params = {};
  private block: CodeBlock | null = null;
  private shown = "";
  private loading = new AbortController();
  private readonly leaving = new AbortController();

  constructor(private readonly page: Page) {
    const copy = copyButton(() => this.block?.text ?? "");
    this.find.addEventListener("input", () => this.search());
    this.find.addEventListener("keydown", (event) => this.findKey(event));
    this.wrap.addEventListener("click", () => {
      const on = this.body.classList.toggle("wrapped");
      this.wrap.classList.toggle("on", on);
      this.wrap.setAttribute("aria-pressed", String(on));
    });
    page.middle.append(h("div.bar", this.tabs, h("span.grow"), this.found, this.find, this.wrap, copy), this.head, this.body);
    void this.load();
  }

  show(params: Params): void {
    this.params = params;
    if (this.kernels) void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") this.kernels?.move(event.key === "ArrowDown" ? 1 : -1);
    else return false;
    return true;
  }

  filter(): void {
    this.kernels?.focusFilter();
  }

  escape(): boolean {
    if (this.params["line"] === undefined) return false;
    this.page.nav.set({ line: null }, "replace");
    return true;
  }

  dispose(): void {
    this.leaving.abort();
    this.loading.abort();
    this.block?.dispose();
  }

  private async load(): Promise<void> {
    const { client } = this.page;
    const loaded = await waitFor(this.page.left, { title: "Reading kernels" }, () =>
      Promise.all([client.once<ContextsWire>("contexts"), client.once<CodeWire>("code")]), this.leaving.signal);
    if (!loaded || this.leaving.signal.aborted) return;
    this.contexts = loaded[0];
    this.kernels = new KernelList(this.page.left, ...loaded, (context) => this.page.nav.go({ ...this.page.nav.place, params: this.kept({ context: String(context) }) }));
    await this.arrive();
  }

  private kept(params: Record<string, string>): Params {
    return this.params["as"] === undefined ? params : { ...params, as: this.params["as"] };
  }

  private async arrive(): Promise<void> {
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
      this.block?.select(numberParam(this.params, "line", 0), false);
      this.drawStatus(id);
      return;
    }
    this.loading.abort();
    this.loading = new AbortController();
    const { signal } = this.loading;
    const context = await waitFor(this.body, { title: "Reading the kernel" }, () => this.page.client.once<ContextWire>(`contexts/${id}`), signal);
    if (!context || signal.aborted) return;
    this.shown = key;
    const tabs = this.tabsOf(context);
    const tab = tabs.find((one) => one.id === this.params["as"]) ?? tabs.find((one) => one.id === "error") ?? tabs[0];
    this.drawTabs(tabs, tab);
    this.drawRight(context);
    if (!tab) {
      showLayer(this.body, emptyState("No code", `${plain(context.name)} left no code behind.`));
      return;
    }
    await this.drawCode(context, tab, signal);
  }

  private tabsOf(context: ContextWire): Tab[] {
    const counts = new Map<string, number>();
    const tabs: Tab[] = context.artifacts
      .filter((artifact) => artifact.kind !== "file" && artifact.kind !== "data")
      .map((artifact) => {
        const serial = (counts.get(artifact.kind) ?? 0) + 1;
        counts.set(artifact.kind, serial);
        const title = TITLES[artifact.kind] ?? artifact.kind;
        return { id: serial === 1 ? artifact.kind : `${artifact.kind}-${serial}`, title: serial === 1 ? title : `${title} ${serial}`, artifact };
      });
    tabs.push({ id: "ast", title: "AST", artifact: null });
    const place = (tab: Tab): number => ORDER.indexOf(tab.artifact?.kind ?? "ast");
    return tabs.sort((a, b) => place(a) - place(b)).slice(0, 12);
  }

  private drawTabs(tabs: Tab[], current: Tab | undefined): void {
    fill(this.tabs, ...tabs.map((tab) =>
      h(`button${tab === current ? ".on" : ""}`, { type: "button", "aria-pressed": String(tab === current), onclick: () => this.page.nav.set({ as: tab.id, line: null }) }, tab.title),
    ));
  }

  private async drawCode(context: ContextWire, tab: Tab, signal: AbortSignal): Promise<void> {
    const text = await waitFor(this.body, { title: `Reading ${tab.title}` }, (stop) => this.textOf(context, tab, stop), signal);
    if (text === null || signal.aborted) return;
    this.block?.dispose();
    clearLayer(this.body);
    const language = tab.artifact === null ? "text" : languageOf(tab.artifact.language, tab.artifact.kind);
    this.block = new CodeBlock(text, language, (line) => this.page.nav.set({ line }, "replace"));
    fill(this.head, h("span.ell.mono.name", ...nameNodes(context.name)), h("span.faint", tab.artifact?.language ?? "graph"));
    fill(this.body, this.block.element);
    this.block.select(numberParam(this.params, "line", 0), true);
    if (this.find.value !== "") this.search();
    this.page.middle.dataset["shown"] = `${context.id}/${tab.id}`;
    this.drawStatus(context.id);
  }

  private async textOf(context: ContextWire, tab: Tab, signal: AbortSignal): Promise<string> {
    if (tab.artifact) {
      const wire = await this.page.client.get<ArtifactWire>(`artifacts/${tab.artifact.row}`, signal);
      return wire.cut ? `${wire.text}\n… cut here: ${bytes(wire.bytes)} in all` : wire.text;
    }
    const steps = await this.page.client.once<StepsWire>("steps");
    const own = steps.context.flatMap((of, at) => (of === context.id && steps.root[at]! >= 0 ? [at] : []));
    const at = own.find((step) => /base ast/i.test(steps.names[steps.name[step]!] ?? "")) ?? own[0];
    if (at === undefined) return "No pass of this context kept a graph.";
    const graph = await this.page.client.get<GraphWire>(`steps/${steps.id[at]!}/graph?match=0`, signal);
    return listing(graph).map((line) => line.text).join("\n");
  }

  private drawRight(context: ContextWire): void {
    const at = this.contexts!.id.indexOf(context.id);
    const took = duration(context.dur);
    const rewrites = this.page.nav.address("rewrites", { context: String(context.id) });
    fill(this.page.right, h("div.bar", h("b", "Where it comes from")), h("div.scroll",
      h("div.sec",
        h("div.title.mono.name", ...nameNodes(context.name)),
        h("dl.kv",
          h("dt", "Kind"), h("dd", context.kind),
          h("dt", "Compiled"), h("dd", counted(this.contexts!.steps[at] ?? 0, "pass", "passes"), ", ", counted(this.contexts!.matches[at] ?? 0, "match", "matches"), took !== "" && `, ${took}`),
        ),
        h("div.buttons.below", this.page.has("rewrites") && h("a.btn", { href: rewrites }, "Show in Rewrites")),
      ),
      runsSection(this.page, context),
      originSections(this.page, context),
    ));
  }

  private drawStatus(context: number): void {
    const at = this.contexts!.id.indexOf(context);
    const line = numberParam(this.params, "line", 0);
    this.page.status(
      [h("span", h("b.name", plain(this.contexts!.name[at] ?? ""))), h("span", h("b", count(this.block?.length ?? 0)), " lines")],
      line > 0 ? [`line ${count(line)}`] : [],
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

