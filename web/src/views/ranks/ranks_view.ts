/** Ranks: who made everybody wait. A map of ranks by steps, and one step in depth on one clock. */
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration, shellWord } from "../../base/format.ts";
import { isAbort } from "../../data/client.ts";
import { HeatModel, heatTexts, isOver, METRICS, type Metric } from "../../data/ranks.ts";
import { numberParam, type Params } from "../../state/place.ts";
import { readArrays } from "../../wire/arrays.ts";
import type { HeatHead, RankPlaceWire, StepsWire, StepWire } from "../../wire/ranks.ts";
import { clearLayer, emptyState, failure, showLayer, waitFor } from "../common/states.ts";
import type { Page, View } from "../registry.ts";
import { attachMenu, type MenuItem } from "../shell/menu.ts";
import { HeatStage, type Columns } from "./heat_stage.ts";
import { LanesStage, readPart } from "./lanes_stage.ts";
import { drawRangeSide } from "./range_side.ts";
import { drawStepSide } from "./step_side.ts";

const ORDERS: readonly [string, string][] = [
  ["slow", "Slowest first"],
  ["rank", "By rank"],
  ["host", "By host"],
];
const ROWS = 128;
/** ms after which a walk over the cells has come to a rest. */
const RESTS = 120;

export class RanksView implements View {
  private readonly metrics = h("span.seg", { role: "group", "aria-label": "What the map shows" });
  private readonly orders = h("button.btn", { type: "button" }, "Slowest first ▾");
  private readonly legend = h("span.legend.wide");
  private readonly heatHost = h("div.rank-heat");
  private readonly scroll = h("div.rank-scroll", this.heatHost);
  private readonly crumb = h("div.crumb");
  private readonly pathButton = h(
    "button.btn",
    { type: "button", "aria-keyshortcuts": "P" },
    "Critical path ",
    h("kbd", "P"),
  );
  private readonly fitButton = h(
    "button.btn",
    { type: "button", "aria-keyshortcuts": "Space", onclick: () => this.fit() },
    "Fit ",
    h("kbd", "Space"),
  );
  private readonly openButton = h(
    "button.btn",
    { type: "button", "aria-keyshortcuts": "Enter", onclick: () => this.openStep() },
    "Open step ",
    h("kbd", "↵"),
  );
  private readonly addButton = h(
    "button.btn",
    { type: "button", "aria-keyshortcuts": "K", onclick: () => this.addLane(this.chosen.rank) },
    "Keep rank ",
    h("kbd", "K"),
  );
  private readonly timelineButton = h(
    "button.btn",
    { type: "button", "aria-keyshortcuts": "T", onclick: () => this.openRank() },
    "Timeline ",
    h("kbd", "T"),
  );
  private readonly stepHost = h("div.rank-step");
  private readonly stepBar = h(
    "div.bar.rank-bar",
    this.crumb,
    h("span.grow"),
    this.openButton,
    this.addButton,
    this.timelineButton,
    this.pathButton,
    this.fitButton,
  );
  private readonly mapBar = h("div.bar", this.metrics, this.orders, h("span.grow"), this.legend);
  private readonly map: HeatStage;
  private readonly lanes: LanesStage;
  private loading = new AbortController();
  private stepping = new AbortController();
  private ranging = new AbortController();
  private params: Params = {};
  private model: HeatModel | null = null;
  private step: StepWire | null = null;
  private asked = "";
  private askedStep = "";
  private steps: StepsWire | null = null;
  private stepsOf = "";
  private asking = -RESTS;

  constructor(private readonly page: Page) {
    page.middle.append(this.mapBar, this.scroll, this.stepBar, this.stepHost);
    attachMenu(this.orders, "Order of ranks", () => this.orderItems());
    this.pathButton.addEventListener("click", () => this.togglePath());
    this.map = new HeatStage(this.heatHost, this.scroll, {
      chosen: () => this.chosen,
      range: () => this.range,
      choose: (row, column) => this.choose(row, column, null),
      select: (from, to) => this.select(from, to, "push"),
    });
    this.lanes = new LanesStage(this.stepHost, {
      look: () => ({
        path: this.params["path"] !== "0",
        bound: Math.max(this.model?.head.bound ?? 0, 0),
        chosen: this.chosen.rank,
      }),
      moved: (part) => this.page.nav.set({ t: part }, "replace"),
      rank: (rank) => this.page.nav.set({ rank, step: this.chosen.step }, "replace"),
      open: (rank) => this.openRank(rank),
    });
  }

  show(params: Params): void {
    this.params = params;
    void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    const { model } = this;
    if (event.key.toLowerCase() === "p") return this.togglePath();
    if (event.key.toLowerCase() === "t") return this.openRank();
    if (event.key === " ") return this.fit();
    if (this.lanes.key(event)) return true;
    if (!model || model.columns === 0) return false;
    const { step, rank } = this.chosen;
    const column = model.column(step);
    const row = Math.max(model.row(rank), 0);
    const to = (at: number): boolean => {
      const next = Math.max(0, Math.min(model.columns - 1, at));
      return event.shiftKey ? this.extend(next) : this.choose(row, next, null);
    };
    if (event.key === "ArrowRight") return to(column + 1);
    if (event.key === "ArrowLeft") return to(column - 1);
    if (event.key === "Home") return to(0);
    if (event.key === "End") return to(model.columns - 1);
    if (event.key === "ArrowDown") return this.choose(Math.min(row + 1, model.rows - 1), column);
    if (event.key === "ArrowUp") return this.choose(Math.max(row - 1, 0), column);
    if (event.key.toLowerCase() === "n") return this.nextSlow(event.shiftKey ? -1 : 1);
    if (event.key === "Enter") return this.openStep();
    if (event.key.toLowerCase() === "k") return this.addLane(rank);
    return false;
  }

  escape(): boolean {
    if (this.map.letGo()) return true;
    const innermost = ["steps", "t", "open", "with"].find((name) => this.params[name] !== undefined);
    if (innermost) this.page.nav.set({ [innermost]: null }, innermost === "t" ? "replace" : "push");
    return innermost !== undefined;
  }

  dispose(): void {
    this.loading.abort();
    this.stepping.abort();
    this.ranging.abort();
    this.map.dispose();
    this.lanes.dispose();
  }

  private get metric(): Metric {
    const wanted = this.params["metric"];
    return METRICS.find(([metric]) => metric === wanted)?.[0] ?? "own";
  }

  /** The step and rank of the address, else the slowest of the first step that has a slow one. */
  private get chosen(): { step: number; rank: number } {
    const { model } = this;
    if (!model || model.columns === 0) return { step: -1, rank: -1 };
    const [first] = model.head.slow;
    const step = numberParam(this.params, "step", first?.[1][0] ?? model.head.steps[0]!);
    return { step, rank: numberParam(this.params, "rank", first?.[0] ?? model.head.ranks[0]!) };
  }

  /** The columns of the steps that are selected. */
  private get range(): Columns | null {
    const found = /^(\d{1,15})-(\d{1,15})$/.exec(this.params["steps"] ?? "");
    return found && this.model ? this.model.columnsOf(Number(found[1]), Number(found[2])) : null;
  }

  private async arrive(): Promise<void> {
    this.controls();
    const order = ORDERS.find(([name]) => name === this.params["order"])?.[0] ?? "slow";
    const query = `metric=${this.metric}&order=${order}&rows=${ROWS}`;
    if (query !== this.asked) {
      this.asked = query;
      this.loading.abort();
      this.loading = new AbortController();
      const { signal } = this.loading;
      const wanted = query === `metric=own&order=slow&rows=${ROWS}` ? "ranks" : `ranks?${query}`;
      const { metric } = this;
      const data = await waitFor(
        this.scroll,
        { title: "Reading the ranks", again: () => this.again() },
        (stop) => this.page.client.bytes(wanted, stop),
        signal,
      );
      if (data === null) return;
      const { head, f32 } = readArrays<HeatHead>(data);
      this.model = new HeatModel(head, f32(head.ranks.length * head.steps.length), metric);
    }
    if (!this.model) return;
    this.status(this.model);
    const none = this.model.columns === 0;
    this.stepBar.hidden = this.stepHost.hidden = none;
    this.scroll.classList.toggle("none", none);
    if (none) {
      this.mapBar.hidden = true;
      this.scroll.hidden = false;
      const sentence = "No slice of these ranks is a training step: ProfilerStep#N, or a span called step N.";
      const commands = ["", " --idle", " --kernels"].map(
        (what) => `peephole ranks${what} ${shellWord(this.page.info.path)}`,
      );
      showLayer(this.scroll, emptyState("No steps", sentence, commands));
      this.page.middle.dataset["shown"] = "none";
      return;
    }
    clearLayer(this.scroll);
    this.map.show(this.model);
    await this.arriveStep();
  }

  private again(): void {
    this.asked = this.askedStep = "";
    void this.arrive();
  }

  private async arriveStep(): Promise<void> {
    const { step, rank } = this.chosen;
    const lanes = new Set((this.params["with"] ?? "").split(",").filter((word) => word !== ""));
    const extra = [...lanes.add(String(rank))].join(",");
    const part = readPart(this.params["t"]);
    const wanted = part ? `&t=${part.t0}-${part.t1}` : "";
    const query = `ranks/step?step=${step}&with=${extra}${wanted}`;
    this.lanes.setPart(part);
    fill(this.crumb, h("b", `Step ${step}`), h("i.wide", "›"), h("span.ell.wide", "one clock, the ranks that matter"));
    if (query !== this.askedStep) {
      this.askedStep = query;
      this.stepping.abort();
      this.stepping = new AbortController();
      const { signal } = this.stepping;
      const soon = performance.now() - this.asking < RESTS;
      this.asking = performance.now();
      // who walks with a key held down is not asked for at each step of the way
      if (soon) await new Promise((rested) => window.setTimeout(rested, RESTS));
      if (signal.aborted) return;
      try {
        this.step = await this.page.client.get<StepWire>(query, signal);
      } catch (error) {
        if (isAbort(error)) return;
        this.askedStep = "";
        fill(
          this.page.right,
          failure(error, () => void this.arriveStep()),
        );
        return;
      }
    }
    if (!this.step) return;
    this.lanes.show(this.step);
    this.page.middle.dataset["shown"] = String(this.step.step);
    await this.arriveSide(this.step);
  }

  /** The figures of the step, or those of the steps that are selected. */
  private async arriveSide(shown: StepWire): Promise<void> {
    const { model, range } = this;
    const { step, rank } = this.chosen;
    this.ranging.abort();
    const choose = (one: number): void => this.page.nav.set({ rank: one, step });
    if (!range || !model) {
      drawStepSide(this.page.right, shown, rank, { rank: choose, step: (by) => this.moveStep(by) });
      return;
    }
    const wanted = `ranks/steps?first=${model.head.steps[range[0]]}&last=${model.head.lasts[range[1]]}`;
    if (wanted !== this.stepsOf || !this.steps) {
      this.ranging = new AbortController();
      try {
        this.steps = await this.page.client.get<StepsWire>(wanted, this.ranging.signal);
        this.stepsOf = wanted;
      } catch (error) {
        if (isAbort(error)) return;
        fill(
          this.page.right,
          failure(error, () => void this.arriveSide(shown)),
        );
        return;
      }
    }
    drawRangeSide(this.page.right, this.steps, rank, {
      rank: choose,
      step: (one, slowest) => this.page.nav.set({ step: one, rank: slowest, steps: null, t: null }),
      clear: () => this.page.nav.set({ steps: null }),
    });
  }

  /** The capture of a rank, in the timeline, at the part of the step that is shown. */
  private openRank(rank = this.chosen.rank): boolean {
    const { step } = this.chosen;
    if (step < 0) return false;
    const part = this.params["t"] === undefined ? "" : `&t=${this.params["t"]}`;
    this.page.client.get<RankPlaceWire>(`ranks/rank?rank=${rank}&step=${step}${part}`).then(
      ({ id, t0, t1 }) =>
        this.page.nav.go({ capture: id, view: "timeline", params: { t0: String(t0), t1: String(t1) } }),
      (error: unknown) =>
        fill(
          this.page.right,
          failure(error, () => this.openRank(rank)),
        ),
    );
    return true;
  }

  private fit(): boolean {
    this.page.nav.set({ t: null }, "replace");
    return true;
  }

  private controls(): void {
    fill(
      this.metrics,
      ...METRICS.map(([metric, title]) =>
        h(
          "button",
          {
            type: "button",
            class: metric === this.metric ? "on" : "",
            "aria-pressed": String(metric === this.metric),
            onclick: () => this.page.nav.set({ metric: metric === "own" ? null : metric }, "replace"),
          },
          title,
        ),
      ),
    );
    const title = ORDERS.find(([name]) => name === this.params["order"])?.[1] ?? ORDERS[0]![1];
    this.orders.textContent = `${title} ▾`;
    const open = this.params["open"] !== undefined;
    this.mapBar.hidden = this.scroll.hidden = open;
    this.openButton.setAttribute("aria-pressed", String(open));
    this.openButton.classList.toggle("on", open);
    this.pathButton.setAttribute("aria-pressed", String(this.params["path"] !== "0"));
    this.pathButton.classList.toggle("on", this.params["path"] !== "0");
    fill(
      this.legend,
      h("span.faint", isOver(this.metric) ? "over the median of the step" : "share of the step"),
      ...heatTexts(this.metric).map((text, at) => h("span", h(`span.sw.heat-${at}`), text)),
    );
  }

  private orderItems(): MenuItem[] {
    const now = this.params["order"] ?? "slow";
    return ORDERS.map(([name, title]) => ({
      label: title,
      role: "menuitemradio" as const,
      checked: name === now,
      act: () => this.page.nav.set({ order: name === "slow" ? null : name }, "replace"),
    }));
  }

  private status({ head }: HeatModel): void {
    const clock =
      head.collectives === 0
        ? `no collective is shared${new Set(Object.values(head.hosts)).size > 1 ? ": clocks are not aligned" : ""}`
        : head.unbounded > 0
          ? `${counted(head.unbounded, "clock")} not aligned`
          : head.bound === 0
            ? "one host, one clock"
            : `clocks aligned on ${counted(head.collectives, "collective")}, ± ${duration(head.bound)}`;
    this.page.status(
      [counted(head.all, "rank"), counted(head.all_steps, "step"), counted(head.collectives, "collective")],
      [clock, ...head.problems.slice(0, 2).map(problemWords)],
    );
  }

  private togglePath(): boolean {
    this.page.nav.set({ path: this.params["path"] === "0" ? null : "0" }, "replace");
    return true;
  }

  /** The step in all of the middle, or the map above it again. */
  private openStep(): boolean {
    this.page.nav.set({ open: this.params["open"] === undefined ? 1 : null, steps: null });
    return true;
  }

  /** Chooses a cell; selected steps stay unless they are null. */
  private choose(row: number, column: number, steps?: null): boolean {
    const { model } = this;
    if (!model) return false;
    const change = { rank: model.head.ranks[row]!, ...this.toColumn(model, column) };
    this.page.nav.set(steps === null ? { ...change, steps } : change, "replace");
    return true;
  }

  /** What the address says of a column's step: the part of another one is not kept. */
  private toColumn(model: HeatModel, column: number): { step: number; t?: null } {
    const { step } = this.chosen;
    return column === model.column(step) ? { step } : { step: model.head.steps[column]!, t: null };
  }

  /** Selects the steps from a column to another, which is the chosen one then; a single step is no range. */
  private select(from: number, to: number, mode: "push" | "replace"): void {
    const { model } = this;
    if (!model) return;
    const first = model.head.steps[Math.min(from, to)]!;
    const last = model.head.lasts[Math.max(from, to)]!;
    const steps = first === last ? null : `${first}-${last}`;
    this.page.nav.set({ rank: this.chosen.rank, ...this.toColumn(model, to), steps, open: null }, mode);
  }

  /** Moves the end of the selected steps that the chosen one is at. */
  private extend(to: number): boolean {
    const { model, range } = this;
    if (!model) return false;
    const column = model.column(this.chosen.step);
    const other = range?.[0] === column ? range[1] : range?.[1] === column ? range[0] : column;
    this.select(Math.max(other, 0), to, "replace");
    return true;
  }

  private moveStep(by: number): void {
    const { model } = this;
    if (!model) return;
    const column = Math.max(0, Math.min(model.columns - 1, model.column(this.chosen.step) + by));
    this.page.nav.set({ step: model.head.steps[column]!, t: null, steps: null });
  }

  /** The next step, in this direction, in which a rank was slow. */
  private nextSlow(by: number): boolean {
    const { model } = this;
    if (!model) return false;
    const all = model.head.slow.flatMap(([rank, steps]) => steps.map((step) => [step, rank] as const));
    all.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    if (all.length === 0) return true;
    const { step, rank } = this.chosen;
    const here = all.findIndex(([s, r]) => s > step || (s === step && r >= rank));
    const on = here >= 0 && all[here]![0] === step && all[here]![1] === rank;
    const from = here < 0 ? all.length : here;
    const next = by > 0 ? (on ? from + 1 : from) : from - 1;
    const [toStep, toRank] = all[(next + all.length) % all.length]!;
    this.page.nav.set({ step: toStep, rank: toRank, t: null, steps: null });
    return true;
  }

  private addLane(rank: number): boolean {
    const now = (this.params["with"] ?? "").split(",").filter((word) => word !== "");
    const next = now.includes(String(rank)) ? now.filter((word) => word !== String(rank)) : [...now, String(rank)];
    this.page.nav.set({ with: next.slice(-8).join(",") || null });
    return true;
  }
}

/** One is said without its number: the words are those of several. */
const problemWords = (problem: HeatHead["problems"][number]): string =>
  [`${problem.count > 1 ? `${count(problem.count)} ` : ""}${problem.reason}`, problem.example]
    .filter(Boolean)
    .join(": ");
