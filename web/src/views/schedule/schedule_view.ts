/** Schedule: the kernels that a program was split into, the buffers between them, and why two of them are two. */
import { nameNodes, plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { clip, count, counted } from "../../base/format.ts";
import { fits, parseQuery } from "../../data/grammar.ts";
import { serials } from "../../data/serials.ts";
import { changed, numberParam, type Params } from "../../state/place.ts";
import { onTheme, theme } from "../../state/settings.ts";
import type { ContextsWire } from "../../wire/capture.ts";
import type { GraphWire } from "../../wire/graph.ts";
import type { SchedulesWire, ScheduleWire, WhyWire } from "../../wire/schedule.ts";
import { kernelName } from "../common/both_ends.ts";
import { filterBox, type FilterBox } from "../common/filter_box.ts";
import { clearLayer, emptyState, failure, showLayer, waitFor } from "../common/states.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";
import { GraphView } from "../graph/graph_view.ts";
import type { Page, View, ViewDef } from "../registry.ts";
import { kernelGraph } from "./kernel_graph.ts";
import { kernelSections, whySections } from "./why_pane.ts";

export const SCHEDULE: ViewDef = {
  id: "schedule",
  title: "Schedule",
  panes: { left: "Schedules and kernels", right: "Kernel" },
  keys: [
    ["Next, previous kernel", "↓ ↑"],
    ["Second kernel", "⇧ ↓ ↑ ⇧ click"],
    ["Fit", "Space"],
  ],
  available: (info) => (info.kinds["schedule"] ?? 0) > 0,
  create: (page) => new ScheduleView(page),
};

/** Two kernels that are too far apart to be read together are not shown together. */
const LEAST_ZOOM = 0.4;
const MAP = 150;

interface Row {
  context: number;
  /** Kernel of the open schedule, -1 for the schedule itself. */
  kernel: number;
}

class ScheduleView implements View {
  private readonly list: VirtualList;
  private readonly box: FilterBox;
  private readonly crumbs = h("span.ell.crumbs");
  private readonly body = h("div.stage");
  private readonly graphHost = h("div.graph");
  private readonly zoom = h("span.num.dim.zoom");
  private readonly details = h("div.scroll");
  private readonly stopTheme: () => void;
  private contexts: ContextsWire | null = null;
  /** What tells contexts of one name apart, as in the other views. */
  private serials: string[] = [];
  private counts = new Map<number, number>();
  /** What the kernels of each are called, for the filter. */
  private names = new Map<number, readonly string[]>();
  private schedule: ScheduleWire | null = null;
  /** Ids of the contexts that are schedules. */
  private all: number[] = [];
  private graph: GraphWire | null = null;
  private view: GraphView | null = null;
  private rows: Row[] = [];
  private params: Params = {};
  private shift = false;
  private asked = "";
  private loading = new AbortController();
  private readonly leaving = new AbortController();

  constructor(private readonly page: Page) {
    this.box = filterBox(
      "Filter schedules and kernels",
      (text) => page.nav.set({ q: text }, "replace"),
      () => this.list.focus(),
    );
    page.left.append(
      this.box.element,
      h("div.bar.chips", h("span.dim", "Schedule"), h("span.grow"), h("span.faint.small", "kernels")),
    );
    this.list = new VirtualList(page.left, {
      rowHeight: 24,
      role: "tree",
      label: "Schedules and kernels",
      render: (index) => this.renderRow(this.rows[index]!),
      onSelect: (index) => this.chooseRow(index),
    });
    this.list.element.classList.add("tree");
    const held = (event: PointerEvent): boolean => (this.shift = event.shiftKey || event.ctrlKey || event.metaKey);
    page.left.addEventListener("pointerdown", held, true);
    this.body.addEventListener("pointerdown", held, true);
    // the list's own arrows move the first kernel; with Shift they choose the second
    this.list.element.addEventListener(
      "keydown",
      (event) => {
        this.shift = false;
        if (!event.shiftKey || !this.key(event)) return;
        event.preventDefault();
        event.stopPropagation();
      },
      true,
    );
    this.body.append(this.graphHost);
    page.middle.append(
      h(
        "div.bar",
        this.crumbs,
        h("span.grow"),
        h("span.dim.wide", h("kbd", "⇧"), " click a second kernel: why are they two?"),
      ),
      this.body,
      h(
        "div.bar.low",
        h("span.grow"),
        h("button.btn", { type: "button", onclick: () => this.view?.fit() }, "Fit ", h("kbd", "Space")),
        this.zoom,
      ),
    );
    page.right.append(h("div.bar", h("b", "Kernel")), this.details);
    this.stopTheme = onTheme(() => {
      if (this.graph) void this.view?.show(this.graph, "step");
    });
    void this.load();
  }

  show(params: Params): void {
    this.params = params;
    if (this.contexts) void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === " ") this.view?.fit();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.shift = event.shiftKey;
      const by = event.key === "ArrowDown" ? 1 : -1;
      const [a, b] = [numberParam(this.params, "a", -1), numberParam(this.params, "b", -1)];
      // with Shift from the second kernel on, over the first
      const from = this.shift && b >= 0 ? this.rows.findIndex(({ kernel }) => kernel === b) : this.list.selected;
      const next = from + (this.shift && this.rows[from + by]?.kernel === a ? 2 * by : by);
      const row = this.rows[next];
      if (row && (!this.shift || row.kernel >= 0)) this.chooseRow(next);
    } else return false;
    return true;
  }

  filter(): void {
    this.box.input.focus();
    this.box.input.select();
  }

  escape(): boolean {
    for (const name of ["b", "a"]) {
      if (this.params[name] === undefined) continue;
      this.page.nav.set({ [name]: null });
      return true;
    }
    return false;
  }

  dispose(): void {
    this.leaving.abort();
    this.loading.abort();
    this.stopTheme();
    this.list.dispose();
    this.view?.dispose();
  }

  private async load(): Promise<void> {
    const contexts = await waitFor(
      this.page.left,
      { title: "Reading schedules" },
      () => this.page.client.once<ContextsWire>("contexts"),
      this.leaving.signal,
    );
    if (!contexts || this.leaving.signal.aborted) return;
    this.contexts = contexts;
    this.serials = serials(contexts.name);
    this.all = contexts.id.filter((_, at) => contexts.kind[at] === "schedule");
    // other compilers' schedules are contexts of another kind: the server knows them
    if (this.all.length > 0) await this.arrive();
    const counts = await this.page.client.once<SchedulesWire>("schedules").catch(() => null);
    if (!counts || this.leaving.signal.aborted) return;
    this.counts = new Map(counts.context.map((id, at) => [id, counts.kernels[at]!]));
    this.names = new Map(counts.context.map((id, at) => [id, counts.names[at]!.map(plain)]));
    if (this.all.length > 0) this.drawRows();
    else {
      this.all = counts.context.filter((_, at) => counts.kernels[at]! > 0);
      await this.arrive();
    }
  }

  private serialOf(context: number): string {
    return this.serials[this.contexts!.id.indexOf(context)] ?? "";
  }

  /** How many kernels a schedule has, as far as that is known: the name of one that was cached does not say. */
  private kernelsOf(context: number): number | null {
    if (context === this.schedule?.context) return this.schedule.kernels.length;
    const said = /(\d+) Kernel/.exec(plain(this.nameOf(context)))?.[1];
    return this.counts.get(context) ?? (said === undefined || said === "0" ? null : Number(said));
  }

  private nameOf(context: number): string {
    return this.contexts!.name[this.contexts!.id.indexOf(context)] ?? "";
  }

  private async arrive(): Promise<void> {
    const { all } = this;
    let context = numberParam(this.params, "context", -1);
    if (!all.includes(context)) {
      // the schedule with most to see
      const kernels = (id: number): number => this.kernelsOf(id) ?? 0;
      context = [...all].sort((a, b) => kernels(b) - kernels(a))[0] ?? -1;
      if (context >= 0) this.page.nav.set({ context, a: null, b: null }, "replace");
      return;
    }
    if (this.schedule?.context !== context) {
      this.loading.abort();
      this.loading = new AbortController();
      const { signal } = this.loading;
      this.schedule = null;
      this.drawRows();
      fill(this.crumbs, h("b.name", ...nameNodes(this.nameOf(context))));
      const schedule = await waitFor(
        this.body,
        { title: `Reading ${plain(this.nameOf(context))}`, again: () => void this.arrive() },
        (stop) => this.page.client.get<ScheduleWire>(`contexts/${context}/schedule`, stop),
        signal,
      );
      if (!schedule || signal.aborted) return;
      this.schedule = schedule;
      await this.draw();
      if (signal.aborted) return; // another one was chosen while this was laid out
    }
    this.drawRows();
    this.drawSelection();
  }

  private async draw(): Promise<void> {
    const schedule = this.schedule!;
    clearLayer(this.body);
    if (schedule.kernels.length === 0) {
      showLayer(this.body, emptyState("No kernels", schedule.note || "This schedule ran no kernel."));
      return;
    }
    this.graph = kernelGraph(schedule);
    this.view ??= new GraphView(this.graphHost, {
      onSelect: (identity) => this.chooseNode(identity),
      onOpenCall: (node) => {
        const kernel = this.schedule?.kernels.find((one) => one.node === node);
        if (kernel && kernel.context >= 0)
          window.location.hash = this.page.nav.address("rewrites", { context: String(kernel.context) });
      },
      onCamera: (camera) => (this.zoom.textContent = `${Math.round(camera.zoom * 100)}%`),
      onCounts: () => undefined,
      theme,
      atFullest: true,
    });
    // what a kernel reads is no body of a call here
    if (!this.view.switches.calls) this.view.toggle("calls");
    // for tests: where the boxes are
    Object.assign(this.graphHost, { graphView: this.view });
    await this.view.show(this.graph, "fresh");
    if (this.schedule !== schedule) return;
    this.page.middle.dataset["shown"] = `schedule/${schedule.context}`;
  }

  private chooseNode(identity: number | null): void {
    const kernels = this.schedule?.kernels.length ?? 0;
    if (identity === null) this.page.nav.set({ a: null, b: null }, "replace");
    else if (identity < kernels) this.choose(identity);
  }

  /** The first kernel, or with Shift the second. */
  private choose(kernel: number): void {
    const a = this.params["a"];
    if (this.shift && a !== undefined && a !== String(kernel)) this.page.nav.set({ b: kernel });
    else this.page.nav.set({ a: kernel, b: null });
  }

  private chooseRow(index: number): void {
    const row = this.rows[index];
    if (!row) return;
    if (row.kernel >= 0) this.choose(row.kernel);
    else
      this.page.nav.go({
        ...this.page.nav.place,
        params: changed({ context: String(row.context) }, { q: this.params["q"] ?? null }),
      });
  }

  private drawRows(): void {
    const text = this.params["q"] ?? "";
    if (this.box.input.value !== text) this.box.input.value = text;
    const query = parseQuery(text);
    const open = this.schedule?.context ?? numberParam(this.params, "context", -1);
    this.rows = this.all.flatMap((context): Row[] => {
      const kernels = (context === this.schedule?.context ? this.schedule.kernels : []).filter((kernel) =>
        fits(query, plain(kernel.name), { kind: "kernel" }),
      );
      const inside = this.names.get(context)?.some((name) => fits(query, name, { kind: "kernel" })) ?? false;
      if (!fits(query, plain(this.nameOf(context)), { kind: "schedule" }) && !inside && context !== open) return [];
      return [{ context, kernel: -1 }, ...kernels.map((kernel) => ({ context, kernel: kernel.at }))];
    });
    this.list.setCount(this.rows.length);
    const a = numberParam(this.params, "a", -1);
    const at = this.rows.findIndex((row) => row.context === open && row.kernel === a);
    this.list.select(at, false);
    if (at >= 0) this.list.centre(at);
  }

  private renderRow(row: Row): HTMLElement {
    if (row.kernel < 0) {
      const open = row.context === this.schedule?.context;
      const kernels = this.kernelsOf(row.context);
      const element = h(
        "div.row.ctx",
        { "aria-level": 1, "aria-expanded": String(open) },
        h("span.tw", open ? "▾" : "▸"),
        h("span.ell.name", ...nameNodes(this.nameOf(row.context))),
        h("span.n", kernels === null ? "" : count(kernels)),
      );
      return tip(element, () => plain(this.nameOf(row.context)));
    }
    const kernel = this.schedule!.kernels[row.kernel]!;
    const second = String(row.kernel) === this.params["b"];
    const serial = this.serialOf(kernel.context);
    const element = h(
      `div.row${second ? ".second" : ""}`,
      { "aria-level": 2 },
      h("span.tw"),
      kernelName(kernel.name),
      serial !== "" && h("span.faint", serial),
      second && h("span.chip", "second"),
      h("span.n", `#${kernel.at}`),
    );
    element.style.setProperty("--d", "1");
    return tip(
      element,
      () =>
        plain(kernel.name) +
        serial +
        `\nkernel #${kernel.at} of ${this.schedule!.kernels.length}, reads ${kernel.reads.length}, writes ${kernel.writes.length}`,
    );
  }

  /** Brings the chosen kernels into the picture; where they are in sight nothing moves. */
  private reveal(kernels: number[]): void {
    const boxes = this.view?.boxes.filter((one) => kernels.includes(one.key)) ?? [];
    const last = boxes.find((one) => one.key === kernels.at(-1));
    if (!last || !this.view) return;
    const { x, y, zoom } = this.view.camera;
    const { clientWidth, clientHeight } = this.graphHost;
    const inside = (at: number, size: number, length: number): boolean =>
      Math.abs(at) * zoom + (size * zoom) / 2 <= length / 2;
    if (boxes.every((box) => inside(box.x - x, box.width, clientWidth) && inside(box.y - y, box.height, clientHeight)))
      return;
    const span = (of: (box: { x: number; y: number }) => number): [number, number] => [
      Math.min(...boxes.map(of)),
      Math.max(...boxes.map(of)),
    ];
    const [left, right] = span((box) => box.x);
    const [top, bottom] = span((box) => box.y);
    // beside the map in the corner, not below it
    const fits = Math.min(zoom, (clientWidth - MAP) / (right - left + 260), clientHeight / (bottom - top + 120));
    this.view.camera =
      fits >= LEAST_ZOOM
        ? { x: (left + right) / 2 + MAP / 2 / fits, y: (top + bottom) / 2, zoom: fits }
        : { x: last.x, y: last.y, zoom };
  }

  private drawSelection(): void {
    const schedule = this.schedule!;
    const a = schedule.kernels[numberParam(this.params, "a", -1)];
    const b = schedule.kernels[numberParam(this.params, "b", -1)];
    this.view?.select(b ? b.at : a ? a.at : null, a && b ? a.at : null);
    if (a) this.reveal([a.at, ...(b ? [b.at] : [])]);
    const link = (context: number, view: string): string | null =>
      context >= 0 && this.page.has(view) ? this.page.nav.address(view, { context: String(context) }) : null;
    const key = `${schedule.context}/${a?.at}/${b?.at}`;
    if (key === this.asked) return;
    this.asked = key;
    if (a && b) {
      fill(
        this.details,
        h("div.sec", h("p.dim", `Reading why ${plain(a.name)} and ${plain(b.name)} are two kernels.`)),
      );
      this.page.client.once<WhyWire>(`contexts/${schedule.context}/why?a=${a.at}&b=${b.at}`).then(
        (why) =>
          this.asked === key &&
          fill(this.details, ...whySections(why, schedule, this.page, (at) => this.page.nav.set({ a: at, b: null }))),
        (error: unknown) =>
          this.asked === key &&
          fill(
            this.details,
            failure(error, () => {
              this.asked = "";
              this.drawSelection();
            }),
          ),
      );
    } else if (a)
      fill(
        this.details,
        ...kernelSections(
          schedule,
          a,
          link,
          this.page,
          this.serialOf(a.context),
          (at) => this.page.nav.set({ a: at, b: null }),
          (at) => this.page.nav.set({ b: at }),
        ),
      );
    else {
      fill(
        this.details,
        h(
          "div.sec",
          h("div.title.name", ...nameNodes(schedule.name)),
          h("p.dim", `${counted(schedule.kernels.length, "kernel")}, ${counted(schedule.buffers.length, "buffer")}.`),
          schedule.note !== "" && h("p.warnt", clip(schedule.note, 400)),
          h(
            "p.dim",
            "Click a kernel for what it reads and writes; ",
            h("kbd", "⇧"),
            " click a second one to read why they did not fuse.",
          ),
        ),
      );
    }
    this.page.status(
      [
        h("span", h("b", count(schedule.kernels.length)), " kernels"),
        h("span", h("b", count(schedule.buffers.length)), " buffers"),
      ],
      [],
    );
  }
}
