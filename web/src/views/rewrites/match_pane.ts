/** The right pane of the rewrites: matches, then the rule, its time and the diff; or the node that is selected. */
import { fill, h } from "../../base/dom.ts";
import { clip, count, counted, duration, location, micros, percent } from "../../base/format.ts";
import { codeNodes } from "../../base/highlight.ts";
import { isAbort, type CaptureClient } from "../../data/client.ts";
import { MatchRows } from "../../data/match_rows.ts";
import { notebook } from "../../data/notes.ts";
import { Matches, type MatchRow } from "../../data/matches.ts";
import type { MatchGroupsWire, MatchWire } from "../../wire/capture.ts";
import type { EntryKind, GraphWire } from "../../wire/graph.ts";
import { copyButton } from "../common/copy.ts";
import { locationLink } from "../common/location.ts";
import { failure } from "../common/states.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";

const ROW = 42;
/** While a key is held only the last match gets its rule and diff. */
const SETTLE_MS = 60;

export interface StepFacts {
  id: number;
  name: string;
  matches: number;
  dur: number;
  flags: number;
  file: string;
  line: number;
  /** Whether the graph that came out is known: then `matches` counts what was changed without a rule too. */
  after: boolean;
}

/** What is said where an entry has no rule. */
const UNTOLD: Record<EntryKind, string> = {
  rule: "",
  group: "changed by the pass, rule not recorded",
  rest: "changed by the pass, rule not recorded",
  partition: "the pass split a graph, or joined some",
  metadata: "only where instructions came from differs",
  order: "only the order or the place of instructions differs",
  difference: "",
};

export class MatchPane {
  readonly nodeSection = h("div.sec.node", { hidden: true });
  private readonly errorSection = h("div.sec", { hidden: true, role: "alert" });
  private readonly sinceSection = h("div.sec.difference", { hidden: true });
  private readonly chip = h("span.chip");
  private readonly title = h("b", "Matches");
  private readonly arrows: HTMLButtonElement[];
  private readonly list: VirtualList;
  private readonly stopNotes: () => void;
  private readonly box = h("div.matches");
  private readonly unread = h("div", { hidden: true });
  private readonly details = h("div");
  private matches: Matches | null = null;
  private step: StepFacts | null = null;
  private match = 0;
  private rows = new MatchRows(0, null);
  private grouped = false;
  private readonly groupButton = h(
    "button.chip",
    { type: "button", "aria-pressed": "false", title: "Matches of one rule together (B)" },
    "by rule",
  ) as HTMLButtonElement;
  private timer = 0;
  private asked = new AbortController();
  /** The match whose details are shown or asked for; a camera that comes to rest asks for nothing anew. */
  private told = "";

  constructor(
    host: HTMLElement,
    private readonly client: CaptureClient,
    private readonly onChoose: (match: number) => void,
    onMove: (by: 1 | -1) => void,
    /** A link to the next pass that changed something; null when there is none. */
    private readonly nextPass: (step: number) => Node | null,
    /** The user wants the matches by their rules, or no longer. */
    onGrouped: (grouped: boolean) => void,
  ) {
    this.arrows = (
      [
        ["←", "Previous", -1],
        ["→", "Next", 1],
      ] as const
    ).map(
      ([key, word, by]) =>
        h(
          "button.btn",
          { type: "button", title: `${word} match (${key})`, "aria-label": `${word} match`, onclick: () => onMove(by) },
          key,
        ) as HTMLButtonElement,
    );
    this.groupButton.addEventListener("click", () => onGrouped(!this.grouped));
    host.append(
      h("div.bar", this.title, this.chip, h("span.grow"), this.groupButton, ...this.arrows),
      this.box,
      this.unread,
      h("div.scroll", this.errorSection, this.nodeSection, this.sinceSection, this.details),
    );
    this.list = new VirtualList(this.box, {
      rowHeight: ROW,
      role: "listbox",
      label: "Matches",
      render: (index) => this.renderRow(index),
      onSelect: (index, how) => this.chooseRow(index, how),
      onEnter: (index) => this.toggleRow(index),
    });
    this.stopNotes = notebook.onChange(() => this.list.refresh());
  }

  /** Shows the matches by their rules, or in their order. */
  setGrouped(grouped: boolean): void {
    if (grouped === this.grouped) return;
    this.grouped = grouped;
    this.groupButton.setAttribute("aria-pressed", String(grouped));
    if (this.step) this.makeList(this.step, this.match);
  }

  /** Makes the list anew: its rows are the matches, or their groups with what is open of them. */
  private makeList(step: StepFacts, match: number): void {
    this.rows = new MatchRows(step.matches, null);
    this.setRows(match);
    if (!this.grouped || step.matches < 2) return;
    this.client.once<MatchGroupsWire>(`steps/${step.id}/groups`).then(
      (wire) => {
        if (this.step !== step || !this.grouped) return;
        this.rows = new MatchRows(step.matches, wire);
        this.setRows(this.match);
      },
      (error: unknown) => this.arrived(error),
    );
  }

  private setRows(match: number): void {
    if (match > 0) this.rows.reveal(match);
    this.box.style.setProperty("--rows", String(Math.max(1, this.rows.count)));
    this.list.setCount(this.rows.count);
    this.list.select(this.rows.indexOf(match), false);
    if (match > 0) this.list.reveal(this.rows.indexOf(match));
  }

  private renderRow(index: number): HTMLElement {
    const { match, group, open } = this.rows.at(index);
    return group === null ? this.noted(match) : groupRow(this.rows.groups!, group, open);
  }

  private chooseRow(index: number, how: "pointer" | "key"): void {
    const { match, group } = this.rows.at(index);
    if (group === null) this.onChoose(match);
    else if (how === "pointer") this.toggleRow(index);
  }

  private toggleRow(index: number): void {
    const { group } = this.rows.at(index);
    if (group === null) return;
    this.rows.toggle(group);
    this.box.style.setProperty("--rows", String(Math.max(1, this.rows.count)));
    this.list.setCount(this.rows.count);
    this.list.select(index, false);
  }

  /**
   * Shows a step's matches, with one of them selected; 0 is the graph that went in. They are asked for after a delay.
   */
  show(step: StepFacts, match: number, delay = 0): void {
    this.head(true);
    this.match = match;
    this.arrows[0]!.disabled = match <= 0;
    this.arrows[1]!.disabled = match >= step.matches;
    if (this.step?.id !== step.id || this.step.matches !== step.matches) {
      this.step = step;
      this.matches?.drop();
      this.unread.hidden = true;
      this.matches = new Matches(this.client, step.id, step.matches, (error) => this.arrived(error), delay);
      this.chip.textContent = count(step.matches);
      this.box.style.setProperty("--digits", `${Math.max(22, 8 + 7 * count(step.matches).length)}px`);
      this.box.hidden = step.matches === 0;
      this.groupButton.hidden = step.matches < 2;
      this.list.element.scrollTop = 0;
      this.makeList(step, match);
    } else if (match > 0 && this.rows.reveal(match)) this.setRows(match);
    const row = this.rows.indexOf(match);
    this.list.select(row, false);
    if (row >= 0) this.list.reveal(row);
    const told = `${step.id}/${match}/${step.matches}/${step.dur}`;
    // the way to the next pass may be known by now
    if (told === this.told && (match > 0 || step.matches > 0)) return;
    this.told = told;
    window.clearTimeout(this.timer);
    this.asked.abort();
    this.asked = new AbortController();
    if (match === 0) this.showStep(step);
    else this.timer = window.setTimeout(() => void this.ask(step, match), SETTLE_MS);
  }

  /** The traceback of a rule that raised, or of a replay that did not end; null hides it. */
  showError(error: string | null): void {
    this.errorSection.hidden = error === null;
    if (error === null) return;
    const last = error.trimEnd().split("\n").at(-1) ?? "";
    fill(
      this.errorSection,
      h(
        "div.h",
        h("span.grow", "This pass ended in an error"),
        copyButton(() => error, "Copy details"),
      ),
      h("p.bad", clip(last, 300)),
      error.trimEnd() !== last && h("pre.trace", error),
    );
  }

  /** What differs from the graph that is held to the one that is shown; nothing for a graph by itself. */
  showDifference(graph: GraphWire): void {
    const { from, diff, shared = 0, added, changed, removed } = graph;
    this.sinceSection.hidden = from === undefined;
    if (from === undefined) return;
    const since = `${from.name} › ${from.match === 0 ? "input" : `match ${count(from.match)}`}`;
    fill(
      this.sinceSection,
      h(
        "div.h",
        h("span.grow", "Difference"),
        h("span.chip.rem", `−${count(removed.length)}`),
        h("span.chip.chg", `~${count(changed.length)}`),
        h("span.chip.add", `+${count(added.length)}`),
      ),
      h("p.dim", `since ${clip(since, 120)}; ${counted(shared, "box", "boxes")} in both`),
      (diff ?? []).length === 0 ? h("p.faint", "The two graphs are equal.") : diffBox(diff ?? []),
    );
  }

  /** No step is selected: the pane keeps its size and shows what it is given. */
  clear(content: HTMLElement | null = null): void {
    window.clearTimeout(this.timer);
    this.asked.abort();
    this.told = "";
    this.step = null;
    this.head(false);
    this.box.hidden = this.unread.hidden = true;
    this.errorSection.hidden = true;
    this.nodeSection.hidden = true;
    this.sinceSection.hidden = true;
    fill(this.details, content);
  }

  dispose(): void {
    this.stopNotes();
    window.clearTimeout(this.timer);
    this.asked.abort();
    this.list.dispose();
  }

  /** A page of matches is here, or could not be read: then its rows have their numbers alone, and it says so. */
  private arrived(error: unknown): void {
    const { unread } = this;
    if (error !== null && unread.hidden) {
      fill(
        unread,
        failure(error, () => {
          unread.hidden = true;
          this.matches?.again();
          this.list.refresh();
        }),
      );
    }
    unread.hidden = error === null;
    if (error === null) this.list.refresh();
  }

  /** Names what the pane shows: the matches of a step, or the context. */
  private head(matches: boolean): void {
    this.title.textContent = matches ? "Matches" : "Context";
    this.chip.hidden = this.groupButton.hidden = !matches;
    for (const arrow of this.arrows) arrow.disabled = !matches;
  }

  /** A row, with a sign when the match has a note. */
  private noted(number: number): HTMLElement {
    const row = this.render(number);
    if (this.step && notebook.onMatch(this.step.id, number)) row.classList.add("noted");
    return row;
  }

  private render(number: number): HTMLElement {
    const row = this.matches?.row(number) ?? null;
    if (row === null) return h("div.m", h("span.i.faint.num", count(number)));
    if (row.kind !== "rule" || row.beforeName !== "" || row.afterName !== "") return this.renderNamed(number, row);
    return tip(
      h(
        "div.m",
        h("span.i.faint.num", count(number)),
        h("span.ell.name", h("b", `${row.op} → ${row.became || "error"}`), " ", h("span.dim", clip(row.handler, 80))),
        h("span.num.dim", micros(row.dur)),
        h("span.about", h("span.ell.mono", row.about), h("span.loc.mono", `${row.file.split("/").at(-1)}:${row.line}`)),
      ),
      () =>
        [
          `match ${count(number)}: ${row.op} → ${row.became || "the rule raised"}`,
          row.about,
          row.source.trim(),
          `${row.file}:${row.line}`,
        ].join("\n"),
    );
  }

  /** An entry of a pass over named instructions. */
  private renderNamed(number: number, row: MatchRow): HTMLElement {
    const before = row.beforeName || row.op;
    const after = row.afterName || row.became;
    const what = before === after || after === "" ? before : before === "" ? after : `${before} → ${after}`;
    const place = row.kind === "rule" ? location(row.file, row.line) : UNTOLD[row.kind];
    const boxes = row.boxes === 0 ? "" : counted(row.boxes, "box", "boxes");
    return tip(
      h(
        "div.m",
        h("span.i.faint.num", count(number)),
        h("span.ell.name", h("b", clip(what || row.kind, 120)), " ", h("span.dim", clip(row.handler, 80))),
        h("span.num.dim", row.kind === "rule" && row.dur >= 0 ? micros(row.dur) : boxes),
        row.kind === "rule" ? placeOf(place) : h("span.loc.ell", place),
      ),
      () =>
        [`match ${count(number)}: ${what}`, boxes, row.source.trim(), place].filter((part) => part !== "").join("\n"),
    );
  }

  private showStep(step: StepFacts): void {
    fill(
      this.details,
      h(
        "div.sec",
        h("div.h", h("span.grow", "Pass")),
        h("div.title.name", clip(step.name)),
        h(
          "dl.kv",
          ...(step.file === "" ? [] : [h("dt", "Called"), h("dd.ell", locationLink(step.file, step.line))]),
          ...(step.dur < 0 ? [] : [h("dt", "Took"), h("dd", duration(step.dur))]),
          ...(step.after ? [] : [h("dt", "Order"), h("dd", orderOf(step.flags))]),
          h("dt", step.after ? "Changes" : "Matches"),
          h("dd", count(step.matches)),
        ),
        step.matches > 0 &&
          h("p.dim.below", "This is the graph that went in. ", h("kbd", "→"), " shows it after the first match."),
        step.matches === 0 &&
          (step.after
            ? h("p.dim.below.unchanged", "This pass changed nothing. ", this.nextPass(step.id))
            : h("p.dim.below", "No rule fired: the graph came out as it went in.")),
      ),
    );
  }

  private async ask(step: StepFacts, match: number): Promise<void> {
    try {
      const wire = await this.client.get<MatchWire>(`steps/${step.id}/matches/${match}`, this.asked.signal);
      fill(this.details, ...this.sections(step, wire));
    } catch (error) {
      if (!isAbort(error))
        fill(
          this.details,
          failure(error, () => void this.ask(step, match)),
        );
    }
  }

  private sections(step: StepFacts, wire: MatchWire): (HTMLElement | null)[] {
    const removed = wire.diff.filter(([kind]) => kind === "-").length;
    const added = wire.diff.filter(([kind]) => kind === "+").length;
    const share = percent(wire.dur, step.dur);
    if (wire.kind !== "rule")
      return [
        h("div.sec", h("div.h", h("span.grow", "Change")), h("p.dim.untold", UNTOLD[wire.kind])),
        diffSection(wire, removed, added, "What differs"),
      ];
    return [
      h(
        "div.sec",
        h("div.h", h("span.grow", "Rule"), locationLink(wire.file ?? "", wire.line)),
        wire.lines.length > 0
          ? ruleBox(wire)
          : wire.source !== null &&
              h("div.rule", h("pre", h("span.l", ...codeNodes(clip(wire.source.trim(), 500), "python")))),
        h(
          "dl.kv",
          ...(wire.handler === null ? [] : [h("dt", "Handler"), h("dd.ell.mono", clip(wire.handler, 200))]),
          h("dt", "Took"),
          h(
            "dd",
            micros(wire.dur) || "unknown",
            share !== "" &&
              wire.dur >= 0 &&
              h("span.faint", ` · ${share} of the step's ${step.dur < 1e7 ? micros(step.dur) : duration(step.dur)}`),
          ),
          ...(step.after ? [] : [h("dt", "Pass"), h("dd", orderOf(step.flags))]),
        ),
      ),
      diffSection(wire, removed, added, "Diff of the matched subgraph"),
    ];
  }
}

/** A place whose folders give way where there is no room: file and line are never cut. */
function placeOf(place: string): HTMLElement {
  const file = place.lastIndexOf("/") + 1;
  return h("span.loc.mono.place", h("span.ell", place.slice(0, file)), h("span", place.slice(file)));
}

/** A rule and how often it made one op of another. */
function groupRow(groups: MatchGroupsWire, at: number, open: boolean): HTMLElement {
  const [before, after] = [groups.beforeOp[at]!, groups.afterOp[at]!];
  const rule = groups.kind[at] === "rule";
  const place = rule ? location(groups.file[at] ?? "", groups.line[at]!) : UNTOLD[groups.kind[at]!];
  return tip(
    h(
      "div.m.group",
      { "aria-expanded": String(open) },
      h("span.i.faint", { "aria-hidden": "true" }, open ? "▾" : "▸"),
      h(
        "span.ell.name",
        h("b", before === after ? before : `${before || "nothing"} → ${after || "nothing"}`),
        " ",
        h("span.dim", clip(groups.handler[at]!, 80)),
      ),
      h("span.num.dim", groups.dur[at]! > 0 ? micros(groups.dur[at]!) : ""),
      h(
        "span.about",
        h("span.num", counted(groups.count[at]!, "match", "matches")),
        h("span.loc.mono", place.split("/").at(-1)),
      ),
    ),
    () => `${before} → ${after}\n${counted(groups.count[at]!, "match", "matches")}\n${place}`,
  );
}

function diffSection(wire: MatchWire, removed: number, added: number, title: string): HTMLElement | null {
  if (wire.diff.length === 0) return null;
  return h(
    "div.sec",
    h(
      "div.h",
      h("span.grow", title),
      removed + added > 0 && h("span.chip.rem", `−${count(removed)}`),
      removed + added > 0 && h("span.chip.add", `+${count(added)}`),
    ),
    diffBox(wire.diff),
  );
}

function orderOf(flags: number): string {
  return [flags & 1 ? "bottom-up" : "top-down", flags & 2 && "one walk", flags & 4 && "enters calls"]
    .filter(Boolean)
    .join(", ");
}

/** A line that is broken goes on below where its text begins, not below its number. */
function hanging(line: HTMLElement, text: string): HTMLElement {
  line.style.setProperty("--in", String(Math.min(24, text.length - text.trimStart().length + 2)));
  return line;
}

function ruleBox(wire: MatchWire): HTMLElement {
  const rows = wire.lines.map((line) =>
    hanging(
      h(`span.l${line.hit ? ".hit" : ""}`, h("span.ln", line.number), ...codeNodes(line.text, "python")),
      line.text,
    ),
  );
  return h("div.rule", { tabindex: 0, "aria-label": "Rule source" }, h("pre", ...rows));
}

const MOST_DIFF = 2000;

function diffBox(diff: [string, string][]): HTMLElement {
  const rows = diff
    .slice(0, MOST_DIFF)
    .map(([kind, text]) => h(kind === "+" ? "div.a" : kind === "-" ? "div.d" : "div", clip(text, 2000)));
  if (diff.length > MOST_DIFF) rows.push(h("div.faint", `${count(diff.length - MOST_DIFF)} more lines`));
  return h("div.diff", { tabindex: 0, "aria-label": "Diff" }, ...rows);
}
