/** Problems: graph breaks, recompilations, specialisations, fallbacks, slow phases; one line each, one at the side. */
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import { costText, KINDS, listed, muteKey, report, type Order, type Row } from "../../data/problems.ts";
import type { Params } from "../../state/place.ts";
import { readSetting, writeSetting } from "../../state/settings.ts";
import type { ProblemLinesWire, ProblemsWire, ProblemWire } from "../../wire/problems.ts";
import { filterField } from "../common/filter_box.ts";
import { copyButton } from "../common/copy.ts";
import { clearLayer, emptyState, showLayer, waitFor, words } from "../common/states.ts";
import { VirtualList } from "../common/virtual_list.ts";
import { tip } from "../common/tooltip.ts";
import type { Page, View } from "../registry.ts";
import { attachMenu } from "../shell/menu.ts";
import { problemSections, sideTitle, sourceLines, type SideActions } from "./problem_side.ts";

const ORDERS: Record<Order, string> = { cost: "By cost", time: "By time", place: "By place" };
const MUTED = "problems.muted";
const narrow = window.matchMedia("(max-width: 1150px)");

export class ProblemsView implements View {
  private readonly input: HTMLInputElement;
  private readonly sorts = h("button.btn", { type: "button" }, "By cost ▾");
  private readonly who = h("span.seg", { role: "group", "aria-label": "Whose lines" });
  private readonly host = h("div.stage.problems-list");
  private readonly sideBar = h("div.bar");
  private readonly side = h("div.scroll");
  private list: VirtualList;
  private readonly leaving = new AbortController();
  private siding = new AbortController();
  private params: Params = {};
  private found: ProblemsWire | null = null;
  private rows: Row[] = [];
  private sided = "";
  private muted = new Set<string>(readMuted());

  constructor(private readonly page: Page) {
    const filter = filterField(
      "Filter problems",
      "top-filter",
      (text) => page.nav.set({ q: text }, "replace"),
      () => this.list.focus(),
    );
    this.input = filter.input;
    page.middle.append(
      h(
        "div.bar",
        filter.element,
        this.sorts,
        h("span.grow"),
        this.who,
        copyButton(() => report(this.rows, this.found?.compilations.length ?? 0), "Copy report"),
      ),
      this.host,
    );
    attachMenu(this.sorts, "Order", () =>
      (Object.keys(ORDERS) as Order[]).map((order) => ({
        label: ORDERS[order],
        role: "menuitemradio" as const,
        checked: order === this.order,
        act: () => page.nav.set({ sort: order === "cost" ? null : order }, "replace"),
      })),
    );
    page.right.append(this.sideBar, this.side);
    this.list = this.makeList();
    narrow.addEventListener("change", () => this.resized(), { signal: this.leaving.signal });
  }

  private makeList(): VirtualList {
    return new VirtualList(this.host, {
      rowHeight: narrow.matches ? 44 : 28,
      role: "listbox",
      label: "Problems",
      render: (at) => this.row(this.rows[at]!),
      onSelect: (at, how) => this.chooseRow(at, how),
      onEnter: (at) => this.openPasses(at),
    });
  }

  private resized(): void {
    this.list.dispose();
    this.list = this.makeList();
    if (this.found) this.draw();
  }

  show(params: Params): void {
    this.params = params;
    void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    const problem = this.chosen();
    const { key } = event;
    if (key === "n" || key === "N") return this.step(event.shiftKey ? -1 : 1);
    if (key === "ArrowDown" || key === "ArrowUp") return this.step(key === "ArrowDown" ? 1 : -1);
    if (!problem) return false;
    const to = this.actions(problem);
    const links: Record<string, string | null> = {
      t: to.timeline,
      p: to.passes,
      enter: to.passes,
      c: to.code,
    };
    const href = links[key.toLowerCase()];
    if (!href) return false;
    window.location.hash = href;
    return true;
  }

  filter(): void {
    this.input.focus();
    this.input.select();
  }

  escape(): boolean {
    if (this.params["q"] === undefined && this.params["muted"] === undefined) return false;
    this.page.nav.set({ q: null, muted: null }, "replace");
    return true;
  }

  grown(): void {
    this.found = null;
    this.sided = "";
    void this.arrive();
  }

  dispose(): void {
    this.leaving.abort();
    this.siding.abort();
    this.list.dispose();
  }

  private get order(): Order {
    const sort = this.params["sort"];
    return sort === "time" || sort === "place" ? sort : "cost";
  }

  private async arrive(): Promise<void> {
    if (!this.found) {
      const found = await waitFor(
        this.host,
        { title: "Looking for problems", again: () => this.grown() },
        (stop) => this.page.client.get<ProblemsWire>("problems", stop),
        this.leaving.signal,
      );
      if (!found || this.leaving.signal.aborted) return;
      this.found = found;
    }
    this.draw();
  }

  private draw(): void {
    const found = this.found!;
    const { params } = this;
    const q = params["q"] ?? "";
    if (document.activeElement !== this.input) this.input.value = q;
    const who = params["who"] === "own" || params["who"] === "library" ? params["who"] : "";
    const { rows, hidden } = listed(found.problems, {
      q,
      order: this.order,
      who,
      muted: this.muted,
      all: params["muted"] !== undefined,
    });
    this.rows = rows;
    this.sorts.textContent = `${ORDERS[this.order]} ▾`;
    this.drawWho(who);
    clearLayer(this.host);
    if (rows.length === 0) showLayer(this.host, this.nothing(found, q, who, hidden));
    this.list.setCount(rows.length);
    const wanted = rows.findIndex(
      (row) => "problem" in row && row.problem.kind === params["kind"] && row.problem.id === params["id"],
    );
    const at = wanted >= 0 ? wanted : rows.findIndex((row) => "problem" in row);
    this.list.select(at, params["id"] !== undefined);
    void this.drawSide(this.chosen());
    this.drawStatus(found, rows, hidden);
    this.page.middle.dataset["shown"] = `problems/${rows.filter((row) => "problem" in row).length}`;
  }

  private drawWho(who: string): void {
    const all = this.found!.problems;
    const own = all.filter((one) => one.own).length;
    const choices: [string, string, number][] = [
      ["", "All", all.length],
      ["own", "My code", own],
      ["library", "Libraries", all.length - own],
    ];
    fill(
      this.who,
      ...choices.map(([value, label, number]) =>
        h(
          `button${value === who ? ".on" : ""}`,
          {
            type: "button",
            "aria-pressed": String(value === who),
            onclick: () => this.page.nav.set({ who: value }, "replace"),
          },
          label,
          h("span.faint", count(number)),
        ),
      ),
    );
  }

  private nothing(found: ProblemsWire, q: string, who: string, hidden: number): HTMLElement {
    const number = counted(found.compilations.length, "compilation");
    if (found.problems.length === 0)
      return emptyState(
        `No problems in ${number}`,
        found.compiling > 0
          ? `Compiling took ${duration(found.compiling)}; no graph broke, nothing was compiled again, no phase took longer than 0.5 s.`
          : "No graph broke, nothing was compiled again.",
      );
    if (hidden > 0 && q === "")
      return emptyState(
        "All of them are muted",
        `${counted(hidden, "problem")} of this capture, muted in this browser.`,
      );
    return emptyState(
      q === "" ? "None of them is here" : `Nothing is about ${q}`,
      `The ${q === "" ? "choice" : "filter"} hides all ${counted(found.problems.length, "problem")}${who === "" ? "" : " but those of other lines"}. Escape clears the filter.`,
    );
  }

  private drawStatus(found: ProblemsWire, rows: readonly Row[], hidden: number): void {
    const shown = rows.flatMap((row) => ("problem" in row ? [row.problem] : []));
    const again = found.problems
      .filter((one) => one.kind === "recompile")
      .reduce((sum, one) => sum + Math.max(one.cost, 0), 0);
    const all = this.params["muted"] !== undefined;
    const muted = found.problems.filter((one) => this.muted.has(muteKey(one))).length;
    this.page.status(
      [
        h("span", h("b", count(shown.length)), shown.length === 1 ? " problem" : " problems"),
        h("span", h("b", count(found.compilations.length)), " compilations"),
        ...(found.compiling > 0
          ? [
              h(
                "span.wide",
                h("b", duration(again)),
                ` of ${duration(found.compiling)} of compiling went into recompilations`,
              ),
            ]
          : []),
      ],
      [
        ...(muted > 0 && (hidden > 0 || all)
          ? [
              h(
                "button.link",
                { type: "button", onclick: () => this.page.nav.set({ muted: all ? null : "shown" }, "replace") },
                all ? `hide ${count(muted)} muted` : `${count(hidden)} muted`,
              ),
            ]
          : []),
      ],
    );
  }

  private row(row: Row): HTMLElement {
    if ("head" in row) {
      const [title, , meaning] = KINDS[row.head] ?? [row.head, row.head, ""];
      return h("div.pr-head", title, h("span.chip", count(row.count)), h("span.faint.ell", meaning));
    }
    const { problem } = row;
    const muted = this.muted.has(muteKey(problem));
    return h(
      `div.pr${muted ? ".muted" : ""}`,
      { "data-id": problem.id, "data-kind": problem.kind },
      h(
        "span.what",
        h("span.ell", ...words(problem.kind === "recompile" ? problem.function || "frame" : problem.title)),
        h("span.faint.mono.id", [problem.group, problem.contextName].filter(Boolean).join(" ")),
      ),
      problem.file === "" ? h("span.faint", "unknown") : h("span.ell.at", shortPlace(problem)),
      h("span.ell.why", ...words(problem.reason)),
      h("span.num.cost", costText(problem) || h("span.faint", "not timed")),
    );
  }

  private chosen(): ProblemWire | null {
    const row = this.rows[this.list.selected];
    return row && "problem" in row ? row.problem : null;
  }

  /** The next problem above or below the chosen one; true when there is one. */
  private step(by: number): boolean {
    for (let at = this.list.selected + by; at >= 0 && at < this.rows.length; at += by) {
      if ("problem" in this.rows[at]!) {
        this.choose(at);
        return true;
      }
    }
    return true;
  }

  private chooseRow(at: number, how: "pointer" | "key"): void {
    if ("problem" in this.rows[at]!) this.choose(at);
    else if (how === "key") {
      // a head is passed over, in the direction that one came from
      const before = this.rows.findIndex(
        (row) => "problem" in row && row.problem.id === this.params["id"] && row.problem.kind === this.params["kind"],
      );
      const to = at + (before > at && at > 0 ? -1 : 1);
      if (this.rows[to]) this.choose(to);
    }
  }

  private choose(at: number): void {
    const row = this.rows[at];
    if (!row || !("problem" in row)) return;
    this.list.select(at);
    this.page.nav.set({ kind: row.problem.kind, id: row.problem.id }, "replace");
    this.list.focus();
  }

  private openPasses(at: number): void {
    const row = this.rows[at];
    const href = row && "problem" in row ? this.actions(row.problem).passes : null;
    if (href !== null) window.location.hash = href;
  }

  private actions(problem: ProblemWire): SideActions {
    const { page } = this;
    const context = { context: String(problem.context) };
    const around = Math.max(problem.cost, 20_000_000) * 0.2;
    const end = problem.time + Math.max(problem.cost, 0);
    return {
      muted: this.muted.has(muteKey(problem)),
      mute: () => this.mute(problem),
      timeline:
        problem.time >= 0 && page.has("timeline")
          ? page.nav.address("timeline", {
              t0: String(Math.max(0, Math.round(problem.time - around))),
              t1: String(Math.round(end + around)),
            })
          : null,
      passes: page.has("rewrites") ? page.nav.address("rewrites", context) : null,
      code: page.has("code") ? page.nav.address("code", context) : null,
    };
  }

  private mute(problem: ProblemWire): void {
    const key = muteKey(problem);
    if (!this.muted.delete(key)) this.muted.add(key);
    writeSetting(MUTED, JSON.stringify([...this.muted].slice(-500)));
    this.sided = "";
    this.draw();
  }

  private async drawSide(problem: ProblemWire | null): Promise<void> {
    const key = problem ? `${problem.kind}/${problem.id}` : "none";
    if (key === this.sided) return;
    this.sided = key;
    this.siding.abort();
    this.siding = new AbortController();
    if (!problem) {
      fill(this.sideBar);
      fill(this.side);
      return;
    }
    const step = (by: number, label: string, text: string): HTMLElement =>
      h("button.btn", { type: "button", "aria-label": label, onclick: () => this.step(by) }, text);
    fill(
      this.sideBar,
      h("b.ell", sideTitle(problem)),
      h("span.grow"),
      step(-1, "Previous problem", "←"),
      step(1, "Next problem", "→"),
    );
    const lines = h("div");
    fill(this.side, ...problemSections(problem, this.found!, this.page, this.actions(problem), lines));
    this.side.scrollTop = 0;
    if (problem.file === "") return;
    const { signal } = this.siding;
    const query = `problems/lines?kind=${encodeURIComponent(problem.kind)}&id=${encodeURIComponent(problem.id)}`;
    try {
      const wire = await this.page.client.get<ProblemLinesWire>(query, signal);
      if (!signal.aborted)
        fill(lines, ...(wire.lines.length > 0 ? sourceLines(wire.lines) : this.recordedLine(problem)));
    } catch {
      // the line is in sight as a place; the server's absence is told by the status bar
      if (!signal.aborted) fill(lines, ...this.recordedLine(problem));
    }
  }

  /** The line as the stack has it, where its file is not at hand. */
  private recordedLine(problem: ProblemWire): HTMLElement[] {
    const frame = problem.stack.find((one) => one.line === problem.line && one.source !== "");
    return frame
      ? sourceLines([{ number: frame.line, text: frame.source, hit: true }])
      : [h("span.faint", "The file is not on this machine.")];
  }
}

/** File and line without its folder, which the tooltip has: a line's number is never cut. */
function shortPlace({ file, line }: ProblemWire): HTMLElement {
  const name = file.split(/[\\/]/).pop() ?? file;
  // no link: the row is what is chosen, and the side has the way to the editor
  return tip(h("span.mono", line >= 0 ? `${name}:${line}` : name), () => (line >= 0 ? `${file}:${line}` : file));
}

function readMuted(): string[] {
  try {
    const found: unknown = JSON.parse(readSetting(MUTED, "[]"));
    return Array.isArray(found) ? found.filter((one): one is string => typeof one === "string") : [];
  } catch {
    return [];
  }
}
