/** The left pane: contexts, their steps below them, a filter and two chips. */
import { nameNodes, plain } from "../../base/ansi.ts";
import { h } from "../../base/dom.ts";
import { clip, count, counted, duration, location } from "../../base/format.ts";
import { passFigure, type Pass, type Passes } from "../../data/passes.ts";
import { ContextTree, NO_FILTER, type TreeFilter, type TreeRow } from "../../data/tree.ts";
import type { Params } from "../../state/place.ts";
import { bothEnds } from "../common/both_ends.ts";
import { filterBox, type FilterBox } from "../common/filter_box.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";

const ROW = 24;
const SEPARATOR = "~";
/** In the address: a set that is empty although something would be in it. */
const NOTHING = "none";

/** What the address says about the tree: its filter, the chips that are on, open contexts, folded steps. */
export type TreeParams = Record<"q" | "only" | "open" | "shut", string | null>;

export class TreePane {
  private readonly list: VirtualList;
  private readonly box: FilterBox;
  private readonly none = h("div.none", { hidden: true });
  private readonly head = h("span.faint.small");
  private readonly chips: Record<"matches" | "kernels", HTMLElement>;
  private filter: TreeFilter = NO_FILTER;
  private rows: TreeRow[] = [];
  private current: { kind: "context" | "step"; id: number } | null = null;

  constructor(
    host: HTMLElement,
    private tree: ContextTree,
    private readonly onChoose: (kind: "context" | "step", id: number, how: "pointer" | "key") => void,
    /** The user changed what the tree shows; `params` says how it is now. */
    private readonly onChange: () => void,
    private readonly passes: Passes,
  ) {
    this.box = filterBox(
      "Filter contexts and steps",
      (text) => this.change({ ...this.filter, text }),
      () => this.focus(),
    );
    this.chips = {
      matches: this.chip("with matches", () => this.toggleIdle(), "H"),
      kernels: this.chip("kernels", () => this.change({ ...this.filter, kernelsOnly: !this.filter.kernelsOnly })),
    };
    const chips = h("div.bar.chips", this.chips.matches, this.chips.kernels, h("span.grow"), this.head);
    host.append(this.box.element, chips, this.none);
    this.list = new VirtualList(host, {
      rowHeight: ROW,
      role: "tree",
      label: "Contexts and steps",
      render: (index) => this.render(this.rows[index]!),
      onSelect: (index, how) => this.choose(index, how),
      onEnter: (index) => this.toggle(index),
    });
    this.list.element.classList.add("tree");
    this.entitle();
    this.refresh();
  }

  /** The same tree with more in it: a live capture has grown. Nothing moves but what is below. */
  update(tree: ContextTree): void {
    for (const id of this.tree.foldedSteps) tree.foldedSteps.add(id);
    this.tree = tree;
    this.entitle();
    this.refresh();
    this.mark(false);
  }

  /** What the figures count: of a pass with its graph after it, the boxes that differ. */
  private entitle(): void {
    this.head.textContent = this.tree.steps.after.some((node) => node >= 0) ? "changes" : "matches";
  }

  /** How the tree is shown, for the address. What would be so without a word is left out. */
  get params(): TreeParams {
    const { filter, tree } = this;
    const usual = this.current?.kind === "step" ? [this.contextOf(this.current.id)] : [];
    const open = [...tree.openContexts].sort((a, b) => a - b);
    const only = [filter.matchesOnly && "matches", filter.kernelsOnly && "kernels"].filter(Boolean).join(",");
    return {
      q: filter.text || null,
      only: only || null,
      open: open.join() === usual.join() ? null : open.join(SEPARATOR) || NOTHING,
      shut: [...tree.foldedSteps].sort((a, b) => a - b).join(SEPARATOR) || null,
    };
  }

  /** Shows the tree as an address says; one that is silent about open contexts leaves them as they are. */
  apply(params: Params): void {
    const only = (params["only"] ?? "").split(",");
    this.setFilter({
      text: params["q"] ?? "",
      matchesOnly: only.includes("matches"),
      kernelsOnly: only.includes("kernels"),
    });
    const { openContexts, foldedSteps } = this.tree;
    const sets = [
      [openContexts, params["open"]],
      [foldedSteps, params["shut"]],
    ] as const;
    let changed = false;
    for (const [set, text] of sets) {
      if (text === undefined) continue;
      const ids = text
        .split(SEPARATOR)
        .filter((part) => /^\d+$/.test(part))
        .map(Number);
      if (ids.length === set.size && ids.every((id) => set.has(id))) continue;
      set.clear();
      for (const id of ids) set.add(id);
      changed = true;
    }
    if (!changed) return;
    this.refresh();
    this.mark(false);
  }

  /** More is known about what passes changed. */
  learned(): void {
    const { steps, changed } = this.tree;
    for (const id of steps.id) {
      const pass = this.passes.of(id);
      if (pass !== undefined) changed.set(id, pass.entries === 0 ? 0 : Math.max(1, pass.boxes));
    }
    this.refresh();
    this.list.refresh();
    this.mark(false);
  }

  /** Hides passes that changed nothing, or shows them again. */
  toggleIdle(): void {
    this.change({ ...this.filter, matchesOnly: !this.filter.matchesOnly });
  }

  get idleHidden(): boolean {
    return this.filter.matchesOnly;
  }

  focusFilter(): void {
    this.box.input.focus();
    this.box.input.select();
  }

  focus(): void {
    this.list.focus();
  }

  /** Marks what the address names, opening what hides it unless the address says that it is shut. */
  show(kind: "context" | "step", id: number, opens: boolean): void {
    const moved = this.current?.kind !== kind || this.current.id !== id;
    this.current = { kind, id };
    if (kind === "step" && moved && opens) this.reveal(id);
    else if (moved) {
      const above = this.tree.above(this.tree.contextAt.get(id) ?? -1);
      if (kind === "context" && opens && above >= 0) this.tree.open(this.tree.contexts.id[above]!);
      this.refresh();
    }
    const index = this.indexOf(kind, id);
    this.list.select(index, false);
    if (index >= 0 && moved) this.list.centre(index);
  }

  /** Goes to the next or previous row. */
  move(by: 1 | -1): void {
    const now = this.list.selected;
    const next = now < 0 ? 0 : now + by;
    if (next < 0 || next >= this.rows.length) return;
    this.list.select(next);
    this.choose(next, "key");
  }

  /** Opens or shuts the current row; of a step without sub-steps, its context. */
  toggleCurrent(): void {
    if (this.list.selected >= 0) this.toggle(this.list.selected);
  }

  private change(filter: TreeFilter): void {
    this.setFilter(filter);
    this.onChange();
  }

  private setFilter(filter: TreeFilter): void {
    const { text, matchesOnly, kernelsOnly } = this.filter;
    if (filter.text === text && filter.matchesOnly === matchesOnly && filter.kernelsOnly === kernelsOnly) return;
    this.filter = filter;
    if (this.box.input.value !== filter.text) this.box.input.value = filter.text;
    this.chips.matches.setAttribute("aria-pressed", String(filter.matchesOnly));
    this.chips.kernels.setAttribute("aria-pressed", String(filter.kernelsOnly));
    this.refresh();
    this.mark(true);
  }

  private mark(reveal: boolean): void {
    if (this.current) this.list.select(this.indexOf(this.current.kind, this.current.id), reveal);
  }

  private contextOf(step: number): number {
    return this.tree.steps.context[this.tree.stepAt.get(step) ?? -1] ?? -1;
  }

  private refresh(): void {
    this.rows = this.tree.rows(this.filter);
    this.list.setCount(this.rows.length);
    this.none.hidden = this.rows.length > 0;
    this.none.textContent = this.rows.length > 0 ? "" : this.emptySentence();
  }

  private emptySentence(): string {
    const { text, matchesOnly, kernelsOnly } = this.filter;
    const chips = [matchesOnly && "with matches", kernelsOnly && "kernels"].filter(Boolean).join(" and ");
    return `No context or step fits ${text === "" ? "" : `“${clip(text, 60)}”`}${text !== "" && chips !== "" ? " with " : ""}${chips === "" ? "" : `the filter ${chips}`}.`;
  }

  private chip(name: string, onclick: () => void, key = ""): HTMLElement {
    const shortcut = { title: `${name}${key === "" ? "" : ` (${key})`}`, "aria-keyshortcuts": key === "" ? null : key };
    return h("button.chip", { type: "button", "aria-pressed": "false", ...shortcut, onclick }, name);
  }

  private choose(index: number, how: "pointer" | "key"): void {
    const row = this.rows[index];
    if (!row) return;
    const id = row.kind === "context" ? this.tree.contexts.id[row.at]! : this.tree.steps.id[row.at]!;
    this.current = { kind: row.kind, id };
    this.onChoose(row.kind, id, how);
  }

  private toggle(index: number): void {
    const row = this.rows[index];
    if (!row) return;
    const offset = this.list.offset(index);
    const { contexts, steps } = this.tree;
    const set = row.kind === "context" ? this.tree.openContexts : this.tree.foldedSteps;
    const id = row.kind === "context" ? contexts.id[row.at]! : steps.id[row.at]!;
    if (row.open === null) {
      if (row.kind === "step") this.toggleContextOf(row);
      return;
    }
    if (set.has(id)) set.delete(id);
    else set.add(id);
    this.refresh();
    const now = this.indexOf(row.kind, id);
    this.list.setOffset(now, offset);
    this.mark(false);
    this.onChange();
  }

  /** Enter on a step without sub-steps shuts its context and stands on it, as VIZ does. */
  private toggleContextOf(row: TreeRow): void {
    const id = this.tree.steps.context[row.at]!;
    this.tree.openContexts.delete(id);
    this.refresh();
    const index = this.indexOf("context", id);
    this.list.select(index);
    this.choose(index, "key");
  }

  private reveal(stepId: number): void {
    const at = this.tree.stepAt.get(stepId);
    if (at === undefined) return;
    const { steps } = this.tree;
    const context = steps.context[at]!;
    let changed = this.tree.open(context);
    let depth = steps.depth[at]!;
    for (let above = at - 1; above >= 0 && steps.context[above] === context && depth > 0; above--) {
      if (steps.depth[above]! < depth) {
        depth = steps.depth[above]!;
        changed = this.tree.foldedSteps.delete(steps.id[above]!) || changed;
      }
    }
    if (changed) this.refresh();
  }

  private indexOf(kind: "context" | "step", id: number): number {
    const at = kind === "context" ? this.tree.contextAt.get(id) : this.tree.stepAt.get(id);
    return this.rows.findIndex((row) => row.kind === kind && row.at === at);
  }

  private render(row: TreeRow): HTMLElement {
    const { contexts, steps } = this.tree;
    const isContext = row.kind === "context";
    const pass = isContext ? undefined : this.passOf(row.at);
    const matches = isContext ? contexts.matches[row.at]! : steps.matches[row.at]!;
    const idle = pass === undefined ? matches === 0 : pass === null || pass.entries === 0;
    const [first, end] = isContext ? this.tree.span(contexts.id[row.at]!) : [0, 0];
    // what its passes changed does not add up to anything; how long they took does
    const own = first < end && steps.after[first]! >= 0 ? duration(contexts.dur[row.at]!) : count(matches);
    const figure = pass === undefined ? own : pass === null ? "" : passFigure(pass);
    const failed = !isContext && (steps.flags[row.at]! & 8) !== 0;
    const name = isContext ? contexts.name[row.at]! : this.tree.stepName(row.at);
    const element = h(
      `div.row${idle ? ".zero" : ""}${isContext ? ".ctx" : ""}`,
      {
        "aria-level": row.level + 1,
        "aria-expanded": row.open === null ? null : String(row.open),
      },
      h("span.tw", { "aria-hidden": "true" }, row.open === null ? "" : row.open ? "▾" : "▸"),
      isContext && plain(name) === name
        ? bothEnds("span", name)
        : h("span.ell.name", ...(isContext ? nameNodes(name) : [clip(name)])),
      isContext && this.tree.serials[row.at] !== "" && h("span.faint", this.tree.serials[row.at]),
      failed && h("span.bad", { title: "This pass ended in an error" }, "!"),
      h("span.n", figure),
    );
    element.style.setProperty("--d", String(row.level));
    return tip(element, () => this.tipOf(row));
  }

  /** What a pass with a graph after it changed; null while that is on its way, undefined for any other step. */
  private passOf(at: number): Pass | null | undefined {
    const { steps } = this.tree;
    if ((steps.after[at] ?? -1) < 0) return undefined;
    const known = this.passes.of(steps.id[at]!);
    if (known === undefined) void this.passes.read(steps.context[at]!);
    return known ?? null;
  }

  private tipOf(row: TreeRow): string {
    const { contexts, steps } = this.tree;
    if (row.kind === "context") {
      const took = duration(contexts.dur[row.at]!);
      return [
        `${plain(contexts.name[row.at]!)} ${this.tree.serials[row.at]}`.trimEnd(),
        `${contexts.kind[row.at]} · ${counted(contexts.steps[row.at]!, "step")}, ${counted(contexts.matches[row.at]!, "match", "matches")}${took === "" ? "" : ` · ${took}`}`,
      ].join("\n");
    }
    const place = location(steps.files[steps.file[row.at]!] ?? null, steps.line[row.at]!);
    const took = duration(steps.dur[row.at]!);
    const pass = this.passes.of(steps.id[row.at]!);
    const boxes = pass === undefined ? "" : `${counted(pass.boxes, "box", "boxes")} changed`;
    return [
      this.tree.stepName(row.at),
      [boxes, counted(steps.matches[row.at]!, "match", "matches"), took, place]
        .filter((part) => part !== "")
        .join(" · "),
    ].join("\n");
  }
}
