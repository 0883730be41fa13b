/** Calls: who called what on a thread: a flame graph over the tree, upright or inverted, and one function at the side. */
import { plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import {
  CallModel,
  formatPath,
  formatPaths,
  paletteOf,
  parsePath,
  parsePaths,
  type Palette,
} from "../../data/calls.ts";
import { isAbort } from "../../data/client.ts";
import { fits, nothingFits, parseQuery } from "../../data/grammar.ts";
import type { Params } from "../../state/place.ts";
import type { CallSlicesWire, CallsWire } from "../../wire/calls.ts";
import type { ContextWire } from "../../wire/capture.ts";
import { trackName } from "../common/both_ends.ts";
import { filterField } from "../common/filter_box.ts";
import { clearLayer, emptyState, failure, showLayer, waitFor } from "../common/states.ts";
import { VirtualList } from "../common/virtual_list.ts";
import type { Page, View, ViewDef } from "../registry.ts";
import { attachMenu } from "../shell/menu.ts";
import { mergeItems, OTHER_TREE, rangeItems, threadItems } from "./call_menus.ts";
import { callRow, drawCallHead } from "./call_rows.ts";
import { drawCallSide } from "./call_side.ts";
import { FlameStage } from "./flame_stage.ts";

export const CALLS: ViewDef = {
  id: "calls",
  title: "Calls",
  panes: { left: null, right: "Function" },
  keys: [
    ["Next and previous call", "↓ ↑"],
    ["Open and close a branch", "→ ←"],
    ["Focus the subtree, undo it", "Enter Esc"],
    ["Invert: functions, then callers", "I"],
    ["Slices in the timeline, code", "T C"],
  ],
  first: ["calls"],
  available: (info) => (info.tables["slices"] ?? 0) > 0,
  create: (page) => new CallsView(page),
};

class CallsView implements View {
  private readonly input: HTMLInputElement;
  private readonly threads = h("button.btn.call-thread", { type: "button" }, "Thread ▾");
  private readonly times = h("button.btn", { type: "button" }, "Whole trace ▾");
  private readonly modes = h("span.seg", { role: "group", "aria-label": "Order of the tree" });
  private readonly merge = h("button.btn", { type: "button" }, "By name ▾");
  private readonly legend = h("span.legend.wide");
  private readonly crumbs = h("div.crumbs.call-crumbs");
  private readonly head = h("div.crow.thead");
  private readonly host = h("div.stage.call-list");
  private readonly body = h("div.call-body");
  private readonly flame: FlameStage;
  private readonly list: VirtualList;
  private loading = new AbortController();
  private siding = new AbortController();
  private params: Params = {};
  private model: CallModel | null = null;
  private palette: Palette = { colour: [], legend: [] };
  private rows: number[] = [];
  private asked = "";
  private sided = "";
  private range: string | null = null;

  constructor(private readonly page: Page) {
    const filter = filterField(
      "Filter functions",
      "call-filter",
      (text) => page.nav.set(text === "" ? { q: null } : { q: text, sel: null }, "replace"),
      () => this.list.focus(),
    );
    this.input = filter.input;
    page.middle.append(
      h("div.bar", this.threads, this.times, this.modes, this.merge, filter.element, h("span.grow"), this.legend),
      this.crumbs,
      this.body,
    );
    attachMenu(this.threads, "Threads", () => threadItems(this.page, this.model));
    attachMenu(this.times, "Range", () => rangeItems(this.page, this.params, this.range));
    attachMenu(this.merge, "Merge calls", () => mergeItems(this.page, this.params));
    this.flame = new FlameStage(this.body, {
      onSelect: (node) => this.choose(node),
      onFocus: (node) => this.focusOn(node),
    });
    this.body.append(this.head, this.host);
    this.list = new VirtualList(this.host, {
      rowHeight: 24,
      role: "tree",
      label: "Calls",
      render: (at) => this.row(this.rows[at]!),
      onSelect: (at) => this.choose(this.rows[at]!),
      onEnter: (at) => this.focusOn(this.rows[at]!),
      onKey: (event, at) => this.treeKey(event, this.rows[at] ?? -1),
    });
    this.host.addEventListener("dblclick", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("[data-node]");
      if (row) this.focusOn(Number(row.dataset["node"]));
    });
  }

  show(params: Params): void {
    this.params = params;
    void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    const letter = event.key.toLowerCase();
    if (letter === "i" && !event.ctrlKey && !event.metaKey) {
      this.setMode(this.params["mode"] === "inverted" ? "tree" : "inverted");
      return true;
    }
    const node = this.selected;
    if (letter === "t" && this.timelineAddress(node) !== null) {
      window.location.hash = this.timelineAddress(node)!;
      return true;
    }
    if (letter === "c" && this.codeAddress(node) !== null) {
      window.location.hash = this.codeAddress(node)!;
      return true;
    }
    if (!["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Enter"].includes(event.key)) return false;
    const at = this.list.selected;
    if (event.key === "Enter") this.focusOn(node);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.treeKey(event, node);
    else {
      const next = Math.max(0, Math.min(this.rows.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
      if (this.rows[next] !== undefined) this.choose(this.rows[next]);
    }
    this.list.focus();
    return true;
  }

  filter(): void {
    this.input.focus();
    this.input.select();
  }

  escape(): boolean {
    if (this.params["focus"] !== undefined) this.unfocus();
    else if (this.params["q"] !== undefined) this.page.nav.set({ q: null }, "replace");
    else if (this.params["range"] !== undefined) this.page.nav.set({ range: null });
    else return false;
    return true;
  }

  grown(): void {
    this.asked = this.sided = "";
    void this.arrive();
  }

  dispose(): void {
    this.loading.abort();
    this.siding.abort();
    this.flame.dispose();
    this.list.dispose();
  }

  /** What both requests of this view have in common: the thread and the range. */
  private get where(): string {
    const { params } = this;
    const found = /^(\d+)-(\d+)$/.exec(params["range"] ?? "");
    return [
      params["thread"] === undefined ? "" : `&thread=${encodeURIComponent(params["thread"])}`,
      found ? `&t0=${found[1]}&t1=${found[2]}` : "",
    ].join("");
  }

  private async arrive(): Promise<void> {
    const { params } = this;
    if (params["range"] !== undefined) this.range = params["range"];
    const parts = [
      params["mode"] === "inverted" ? "&mode=inverted" : "",
      params["merge"] === "place" ? "&place=1" : "",
      params["q"] === undefined ? "" : `&q=${encodeURIComponent(params["q"])}`,
      params["focus"] === undefined ? "" : `&focus=${encodeURIComponent(params["focus"])}`,
    ];
    const rest = `${this.where}${parts.join("")}`.slice(1);
    const query = rest === "" ? "calls" : `calls?${rest}`;
    if (query !== this.asked) {
      this.asked = query;
      this.loading.abort();
      this.loading = new AbortController();
      const { signal } = this.loading;
      const wire = await waitFor(
        this.body,
        {
          title: "Reading calls",
          note: counted(this.page.info.tables["slices"] ?? 0, "slice"),
          again: () => this.grown(),
        },
        (stop) => this.page.client.get<CallsWire>(query, stop),
        signal,
      );
      if (!wire || signal.aborted) return;
      this.model = new CallModel(wire);
      this.palette = paletteOf(wire);
      this.sided = "";
    }
    if (this.model) this.draw(this.model);
  }

  private get selected(): number {
    const { model, params } = this;
    if (!model) return -1;
    const node = params["sel"] === undefined ? -1 : model.find(parsePath(params["sel"]));
    return node >= 0 ? node : (this.rows[0] ?? -1);
  }

  private draw(model: CallModel): void {
    const { wire } = model;
    const { params } = this;
    if (document.activeElement !== this.input) this.input.value = params["q"] ?? "";
    const wanted = params["sel"] === undefined ? -1 : model.find(parsePath(params["sel"]));
    this.rows = model.rows(parsePaths(params["open"]), parsePaths(params["shut"]), wanted);
    this.drawBars(model);
    drawCallHead(this.head, this.host, model);
    clearLayer(this.body);
    if (this.rows.length === 0) showLayer(this.body, this.nothing(model));
    const query = parseQuery(params["q"] ?? "");
    // what matches, and what it calls, stands out; what calls it gives way
    const hits = wire.functions.name.map((name) => fits(query, plain(name)));
    const lit = new Uint8Array(model.size);
    for (let node = 0; node < model.size; node++) {
      const own = hits[wire.function[node]!] ?? false;
      lit[node] = own || (model.inverted ? false : lit[model.parent[node]!] === 1) ? 1 : 0;
    }
    this.flame.show(model, this.palette, (node) => query.terms.length === 0 || lit[node] === 1);
    this.list.setCount(this.rows.length);
    const node = this.selected;
    this.list.select(this.rows.indexOf(node), wanted >= 0);
    this.flame.select(node);
    void this.drawChosen(model, node);
    this.drawStatus(model);
    this.page.middle.dataset["shown"] = `${wire.mode}/${wire.thread}/${this.rows.length}`;
  }

  private nothing(model: CallModel): HTMLElement {
    const { params } = this;
    if (params["q"] !== undefined && model.wire.busy === 0)
      return emptyState(nothingFits(parseQuery(params["q"]), params["q"], "function"), "Escape clears the filter.");
    const found = /^(\d+)-(\d+)$/.exec(params["range"] ?? "");
    if (!found) return emptyState("No slices on this thread", "Choose another thread at the top left.");
    const state = emptyState(
      `No slices on this thread between ${duration(Number(found[1]))} and ${duration(Number(found[2]))}`,
      "They are counted from the beginning of the trace.",
    );
    state.append(h("button.btn", { type: "button", onclick: () => this.page.nav.set({ range: null }) }, "Whole trace"));
    return state;
  }

  private drawBars(model: CallModel): void {
    const { wire } = model;
    fill(this.threads, trackName("span", wire.title || "No thread", ""), h("span", " ▾"));
    const found = /^(\d+)-(\d+)$/.exec(this.params["range"] ?? "");
    this.times.textContent = `${found ? `Range ${duration(Number(found[2]) - Number(found[1]))}` : "Whole trace"} ▾`;
    this.merge.textContent = this.params["merge"] === "place" ? "By place ▾" : "By name ▾";
    const mode = (id: string, ...label: (string | HTMLElement)[]): HTMLElement =>
      h(
        `button${wire.mode === id ? ".on" : ""}`,
        { type: "button", "aria-pressed": String(wire.mode === id), onclick: () => this.setMode(id) },
        ...label,
      );
    fill(this.modes, mode("tree", "Tree"), mode("inverted", "Inverted ", h("kbd", "I")));
    fill(
      this.legend,
      ...this.palette.legend.map(({ name, colour }) => {
        const swatch = h("span.sw");
        swatch.style.background = `var(--cat-${colour})`;
        return h("span", swatch, name);
      }),
    );
    this.drawCrumbs(model);
  }

  private drawCrumbs(model: CallModel): void {
    const { wire } = model;
    const parts: HTMLElement[] = [];
    model.top.slice(0, -1).forEach((name, at) => {
      parts.push(
        h(
          "button.crumb.mono.ell",
          { type: "button", onclick: () => this.goTo(model.top.slice(0, at + 1)) },
          name || "no name",
        ),
        h("i", "›"),
      );
    });
    const focused = model.top.length > 0;
    if (focused)
      parts.unshift(h("button.crumb", { type: "button", onclick: () => this.unfocus() }, wire.title), h("i", "›"));
    const of = focused
      ? `${duration(model.weight(0))} of ${duration(wire.busy)}, per cent below are of this`
      : `${duration(wire.busy)} ${this.params["q"] === undefined ? "in which anything ran" : "in calls that match"}`;
    fill(
      this.crumbs,
      ...parts,
      h(`b${focused ? ".mono" : ""}.ell`, model.size > 0 ? model.name(0) : wire.title),
      h("span.faint", of),
      h("span.grow"),
      focused && h("button.btn.wide", { type: "button", onclick: () => this.unfocus() }, "Unfocus ", h("kbd", "Esc")),
    );
  }

  private row(node: number): HTMLElement {
    const model = this.model!;
    const open = model.isOpen(node, parsePaths(this.params["open"]), parsePaths(this.params["shut"]));
    return callRow(model, this.palette, node, open, () => this.toggle(node, !open));
  }

  private treeKey(event: KeyboardEvent, node: number): boolean {
    const { model } = this;
    if (!model || node < 0 || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return false;
    const open = model.isOpen(node, parsePaths(this.params["open"]), parsePaths(this.params["shut"]));
    if (event.key === "ArrowRight") {
      if (model.hasChildren(node) && !open) this.toggle(node, true);
      else if (model.hasChildren(node)) this.choose(node + 1);
    } else if (model.hasChildren(node) && open) this.toggle(node, false);
    else if (this.rows.includes(model.parent[node]!)) this.choose(model.parent[node]!);
    return true;
  }

  private toggle(node: number, open: boolean): void {
    const model = this.model!;
    const key = formatPath(model.path(node));
    const [opened, shut] = [parsePaths(this.params["open"]), parsePaths(this.params["shut"])];
    opened.delete(key);
    shut.delete(key);
    if (open !== model.opensItself(node)) (open ? opened : shut).add(key);
    this.page.nav.set(
      { open: formatPaths(opened), shut: formatPaths(shut), sel: formatPath(model.path(node)) },
      "replace",
    );
  }

  private choose(node: number): void {
    const { model } = this;
    if (!model || node < 0 || wireless(model, node)) return;
    this.page.nav.set({ sel: formatPath(model.path(node)) }, "replace");
  }

  private focusOn(node: number): void {
    const { model } = this;
    if (!model || node <= 0) return;
    this.goTo(model.path(node));
  }

  private goTo(path: readonly string[]): void {
    const text = formatPath(path);
    this.page.nav.set({ focus: text, sel: text });
  }

  private unfocus(): void {
    this.page.nav.set({ focus: null });
  }

  private setMode(mode: string): void {
    this.page.nav.set({ mode: mode === "tree" ? null : mode, ...OTHER_TREE });
  }

  private timelineAddress(node: number): string | null {
    const { model, page } = this;
    if (!model || node < 0 || wireless(model, node) || !page.has("timeline")) return null;
    return page.nav.address("timeline", { find: model.name(node) });
  }

  private codeAddress(node: number): string | null {
    const context = this.model?.wire.context[node] ?? -1;
    if (context < 0 || !this.page.has("code")) return null;
    return this.page.nav.address("code", { context: String(context) });
  }

  private async drawChosen(model: CallModel, node: number): Promise<void> {
    const key = `${node}/${this.asked}`;
    if (key === this.sided) return;
    this.sided = key;
    this.siding.abort();
    this.siding = new AbortController();
    const { signal } = this.siding;
    const host = this.page.right;
    if (node < 0) {
      fill(host, h("div.bar", h("b", "Function")), h("p.none", "Choose a call for what it is made of."));
      return;
    }
    const chosen = {
      model,
      palette: this.palette,
      node,
      go: (other: number) => this.choose(other),
      timeline: this.timelineAddress(node),
      code: this.codeAddress(node),
    };
    drawCallSide(host, this.page, chosen, null, null);
    const number = model.wire.functions.number[model.wire.function[node]!] ?? -1;
    const context = model.wire.context[node]!;
    try {
      const [slices, from] = await Promise.all([
        number < 0 ? null : this.page.client.get<CallSlicesWire>(`calls/slices?name=${number}${this.where}`, signal),
        context < 0 ? null : this.page.client.once<ContextWire>(`contexts/${context}`).catch(() => null),
      ]);
      if (signal.aborted) return;
      drawCallSide(host, this.page, chosen, slices, from);
      host.dataset["name"] = model.name(node);
    } catch (error) {
      if (isAbort(error)) return;
      host.querySelector(".scroll")?.append(
        failure(error, () => {
          this.sided = "";
          void this.drawChosen(model, node);
        }),
      );
    }
  }

  private drawStatus(model: CallModel): void {
    const { wire } = model;
    const folded = model.foldedAll;
    this.page.status(
      [
        h("span", h("b", count(wire.slices)), ` slices on ${wire.thread === "*" ? "all threads" : "this thread"}`),
        h("span.wide", h("b", count(wire.known)), wire.known === 1 ? " function" : " functions"),
      ],
      [
        ...(wire.found ? [] : ["what the address focuses is not here: the whole tree is shown"]),
        ...(wire.unfinished > 0 ? [`${counted(wire.unfinished, "slice")} without end, to the end of the trace`] : []),
        ...(folded > 0 ? [`${counted(folded, "small call")} folded: focus a branch to see them`] : []),
        ...(wire.depthCut > 0 ? [`cut at depth ${count(wire.depthCut)}: ${cutAway(wire)}`] : []),
        h("span.wide", this.page.info.sampled.join("; ") || "traced, not sampled: self is what no inner slice covers"),
      ],
    );
  }
}

/** What became of calls and callers that are deeper than the tree. */
function cutAway(wire: CallsWire): string {
  return wire.leftOut > 0 ? "what calls those is left out" : "deeper calls stand at that depth";
}

function wireless(model: CallModel, node: number): boolean {
  return model.wire.function[node]! < 0;
}
