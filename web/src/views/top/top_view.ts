/** Top: kernels, copies or host ranges by the time they took; sortable, filterable, per device and for a range. */
import { plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import { isAbort } from "../../data/client.ts";
import { runsParams, runsQuery } from "../../state/runs.ts";
import { serial } from "../../data/serials.ts";
import { orderRows, SORTS, toCsv, type SortKey } from "../../data/top.ts";
import { numberParam, type Params } from "../../state/place.ts";
import type { ContextWire } from "../../wire/capture.ts";
import type { RunsWire, TopWire } from "../../wire/top.ts";
import { kernelName } from "../common/both_ends.ts";
import { filterField } from "../common/filter_box.ts";
import { copyButton } from "../common/copy.ts";
import { clearLayer, emptyState, failure, showLayer, waitFor } from "../common/states.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";
import type { Page, View, ViewDef } from "../registry.ts";
import { attachMenu, type MenuItem } from "../shell/menu.ts";
import { histogram } from "./histogram.ts";
import { colourOf, drawSide, runsOf } from "./top_side.ts";

export const TOP: ViewDef = {
  id: "top",
  title: "Top",
  panes: { left: null, right: "Kernel" },
  keys: [
    ["Next, previous row", "↓ ↑"],
    ["Filter", "F"],
    ["Its slices", "Enter"],
  ],
  available: (info) => (info.tables["slices"] ?? 0) > 0,
  create: (page) => new TopView(page),
};

/** Of each group: its button, what one of its names is called, and several. */
const TITLES: Record<string, [string, string, string]> = {
  kernels: ["Kernels", "Kernel", "kernels"],
  copies: ["Copies", "Copy", "copies"],
  host: ["Host", "Range", "ranges"],
  messages: ["Messages", "Message", "messages"],
};
const COLUMNS: readonly [SortKey | "", string, string][] = [
  ["", "#", "num"],
  ["name", "Kernel", ""],
  ["total", "Total", "num"],
  ["", "Share", ""],
  ["self", "Self", "num own"],
  ["runs", "Runs", "num"],
  ["mean", "Mean", "num"],
  ["p95", "p95", "num"],
  ["max", "Max", "num"],
  ["", "Durations", "bins"],
  ["flops", "GFLOPS", "num rate"],
  ["bytes", "GB/s", "num rate"],
];

class TopView implements View {
  private readonly input: HTMLInputElement;
  private readonly groups = h("span.seg", { role: "group", "aria-label": "What to sum up" });
  private readonly devices = h("button.btn", { type: "button" }, "All devices ▾");
  private readonly times = h("button.btn", { type: "button" }, "Whole trace ▾");
  private readonly head = h("div.trow.thead");
  private readonly host = h("div.stage.top-list");
  private readonly list: VirtualList;
  private readonly leaving = new AbortController();
  private loading = new AbortController();
  private siding = new AbortController();
  private params: Params = {};
  private top: TopWire | null = null;
  private asked = "";
  private sided = "";
  private rows: number[] = [];
  private range: [string, string] | null = null;

  constructor(private readonly page: Page) {
    const filter = filterField(
      "Filter kernels",
      "top-filter",
      (text) => page.nav.set({ q: text }, "replace"),
      () => this.list.focus(),
    );
    this.input = filter.input;
    const csv = copyButton(() => (this.top ? toCsv(this.top, this.rows) : ""), "Copy as CSV");
    page.middle.append(
      h("div.bar", filter.element, this.groups, this.devices, this.times, h("span.grow"), csv),
      this.head,
      this.host,
    );
    attachMenu(this.devices, "Devices", () => this.deviceItems());
    attachMenu(this.times, "Range", () => this.rangeItems());
    this.list = new VirtualList(this.host, {
      rowHeight: 24,
      role: "listbox",
      label: "Names by time",
      render: (at) => this.row(at),
      onSelect: (at) => this.choose(at),
      onEnter: (at) => this.openSlices(at),
    });
  }

  show(params: Params): void {
    this.params = params;
    void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === "Enter") {
      this.openSlices(this.list.selected);
      return true;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return false;
    this.choose(Math.max(0, Math.min(this.rows.length - 1, this.list.selected + (event.key === "ArrowDown" ? 1 : -1))));
    this.list.focus();
    return true;
  }

  filter(): void {
    this.input.focus();
    this.input.select();
  }

  escape(): boolean {
    if (this.params["q"] === undefined) return false;
    this.page.nav.set({ q: null }, "replace");
    return true;
  }

  grown(): void {
    this.asked = this.sided = "";
    void this.arrive();
  }

  dispose(): void {
    this.leaving.abort();
    this.loading.abort();
    this.siding.abort();
    this.list.dispose();
  }

  private get times_(): string {
    const { params } = this;
    return params["r0"] !== undefined && params["r1"] !== undefined
      ? `&t0=${numberParam(params, "r0", 0)}&t1=${numberParam(params, "r1", 0)}`
      : "";
  }

  private async arrive(): Promise<void> {
    const { params } = this;
    if (params["r0"] !== undefined && params["r1"] !== undefined) this.range = [params["r0"], params["r1"]];
    const group = params["group"] ?? "";
    const grouped = group === "" ? "" : `group=${encodeURIComponent(group)}`;
    const tracks = params["tracks"] === undefined ? "" : `&tracks=${encodeURIComponent(params["tracks"])}`;
    const query = `top?${grouped}${tracks}${this.times_}`;
    if (query !== this.asked) {
      this.asked = query;
      this.loading.abort();
      this.loading = new AbortController();
      const { signal } = this.loading;
      const top = await waitFor(
        this.host,
        {
          title: "Summing up",
          note: counted(this.page.info.tables["slices"] ?? 0, "slice"),
          again: () => this.grown(),
        },
        (stop) => this.page.client.get<TopWire>(query, stop),
        signal,
      );
      if (!top || signal.aborted) return;
      if (top.name.length === 0 && group === "" && top.groups.length > 0 && !top.groups.includes("kernels")) {
        // nothing ran on a device: what there is instead
        this.page.nav.set({ group: top.groups.includes("messages") ? "messages" : "host" }, "replace");
        return;
      }
      this.top = top;
      this.sided = "";
    }
    if (this.top) this.draw();
  }

  private draw(): void {
    const top = this.top!;
    const { params } = this;
    const sort = (params["sort"] !== undefined && params["sort"] in SORTS ? params["sort"] : "total") as SortKey;
    const down = params["down"] !== "0";
    if (document.activeElement !== this.input) this.input.value = params["q"] ?? "";
    this.rows = orderRows(top, sort, down, params["q"] ?? "");
    this.drawBar(top);
    this.drawHead(sort, down);
    clearLayer(this.host);
    if (this.rows.length === 0) {
      showLayer(
        this.host,
        params["q"] === undefined
          ? emptyState("Nothing ran here", "No slice of this kind is in the range.")
          : emptyState(
              `Nothing is named ${params["q"]}`,
              `The filter hides all ${count(top.name.length)} names. Escape clears it.`,
            ),
      );
    }
    this.host.classList.toggle(
      "rates",
      top.flops.some((value) => value >= 0) || top.bytesPerS.some((value) => value >= 0),
    );
    // a column of its own where slices nest
    this.host.classList.toggle(
      "nests",
      top.self.some((value, at) => value !== top.sum[at]),
    );
    for (const name of ["rates", "nests"]) this.head.classList.toggle(name, this.host.classList.contains(name));
    this.list.setCount(this.rows.length);
    const wanted = numberParam(params, "name", top.number[this.rows[0] ?? 0] ?? -1);
    const context = numberParam(params, "context", -1);
    const named = this.rows.findIndex((row) => top.number[row] === wanted);
    const own = this.rows.findIndex((row) => top.number[row] === wanted && top.context[row] === context);
    const at = own >= 0 && params["context"] !== undefined ? own : named;
    this.list.select(at, params["name"] !== undefined);
    void this.drawChosen(at >= 0 ? this.rows[at]! : (this.rows[0] ?? -1));
    const words = TITLES[top.group] ?? TITLES["kernels"]!;
    const shownTracks = params["tracks"] === undefined ? top.tracks.id.length : params["tracks"].split(",").length;
    const all = top.name.length;
    this.page.status(
      [
        h(
          "span",
          h("b", count(this.rows.length)),
          ` ${this.rows.length === all ? "" : `of ${count(all)} `}${all === 1 ? words[1].toLowerCase() : words[2]}`,
        ),
        h("span", h("b", count(top.count)), " slices"),
        h("span.wide", { "data-ns": top.total }, `${duration(top.total)} on ${counted(shownTracks, "track")}`),
      ],
      [
        ...(this.times_ === "" ? [] : ["a slice over an edge of the range counts with its part inside"]),
        ...(top.names > top.name.length ? [`${count(top.names - top.name.length)} smaller names not listed`] : []),
        ...(top.group === "kernels" ? top.sampled : []),
        ...(top.exact ? [] : ["p95 to within 0.2% of a row's spread"]),
        `sorted by ${sort}`,
      ],
    );
    this.page.middle.dataset["shown"] = `${top.group}/${this.rows.length}`;
  }

  private drawBar(top: TopWire): void {
    const label = `Filter ${(TITLES[top.group] ?? TITLES["kernels"]!)[2]}`;
    this.input.placeholder = label;
    this.input.setAttribute("aria-label", label);
    fill(
      this.groups,
      ...top.groups.map((group) =>
        h(
          `button${group === top.group ? ".on" : ""}`,
          {
            type: "button",
            "aria-pressed": String(group === top.group),
            onclick: () =>
              this.page.nav.set({
                group: group === "kernels" ? null : group,
                tracks: null,
                name: null,
                context: null,
                q: null,
              }),
          },
          TITLES[group]?.[0] ?? group,
        ),
      ),
    );
    const chosen = this.params["tracks"]?.split(",").map(Number);
    const names = chosen?.map((id) => top.tracks.name[top.tracks.id.indexOf(id)] ?? String(id));
    const all = top.group === "host" ? "All threads" : "All devices";
    const some = names && (names.length === 1 ? names[0]! : counted(names.length, "track"));
    this.devices.textContent = `${some ?? all} ▾`;
    const ranged = this.times_ !== "";
    const length = numberParam(this.params, "r1", 0) - numberParam(this.params, "r0", 0);
    this.times.textContent = `${ranged ? `Range ${duration(length)}` : "Whole trace"} ▾`;
  }

  private deviceItems(): MenuItem[] {
    const { top, params } = this;
    if (!top) return [];
    const items: MenuItem[] = [
      {
        label: "All",
        role: "menuitemradio",
        checked: params["tracks"] === undefined,
        act: () => this.page.nav.set({ tracks: null }),
      },
    ];
    top.tracks.id.slice(0, 200).forEach((id, at) => {
      items.push({
        label: top.tracks.name[at]!,
        role: "menuitemradio",
        checked: params["tracks"] === String(id),
        act: () => this.page.nav.set({ tracks: id }),
      });
    });
    return items;
  }

  private rangeItems(): MenuItem[] {
    const items: MenuItem[] = [
      {
        label: "Whole trace",
        role: "menuitemradio",
        checked: this.times_ === "",
        act: () => this.page.nav.set({ r0: null, r1: null }),
      },
    ];
    const last = this.range;
    if (last) {
      items.push({
        label: `Selected range, ${duration(Number(last[1]) - Number(last[0]))}`,
        role: "menuitemradio",
        checked: this.times_ !== "",
        act: () => this.page.nav.set({ r0: last[0], r1: last[1] }),
      });
    }
    return items;
  }

  private drawHead(sort: SortKey, down: boolean): void {
    const word = (TITLES[this.top!.group] ?? TITLES["kernels"]!)[1];
    fill(
      this.head,
      ...COLUMNS.map(([key, title, classes]) => {
        const text = title === "Kernel" ? word : title;
        const on = key !== "" && key === sort;
        const cell = h(
          `div${classes
            .split(" ")
            .filter(Boolean)
            .map((name) => `.${name}`)
            .join("")}`,
        );
        if (key === "") cell.textContent = text;
        else {
          cell.append(
            h(
              `button${on ? ".on" : ""}`,
              {
                type: "button",
                "aria-label": `Sort by ${text}${on ? (down ? ", largest first" : ", smallest first") : ""}`,
                onclick: () =>
                  this.page.nav.set(
                    { sort: key === "total" ? null : key, down: (on ? !down : key !== "name") ? null : 0 },
                    "replace",
                  ),
              },
              on ? `${text} ${down ? "↓" : "↑"}` : text,
            ),
          );
        }
        return cell;
      }),
    );
  }

  private row(at: number): HTMLElement {
    const top = this.top!;
    const row = this.rows[at]!;
    const colour = colourOf(top, row);
    const swatch = h("span.sw");
    swatch.style.background = colour;
    const bar = h("i");
    const largest = Math.max(1, top.sum[0]!);
    bar.style.width = `${Math.max(0.6, (100 * top.sum[row]!) / largest)}%`;
    bar.style.background = colour;
    const name = tip(kernelName(top.name[row]! || "no name"), () => plain(top.name[row]!) + serial(top.serial[row]!));
    const rate = (value: number, size: number, digits: number): string =>
      value < 0
        ? ""
        : (value / size).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return h(
      "div.trow",
      {
        "data-name": plain(top.name[row]!) + serial(top.serial[row]!),
        "data-total": top.sum[row]!,
        "data-runs": top.runs[row]!,
      },
      h("div.num.faint", count(at + 1)),
      h("div.tname", swatch, name, top.serial[row]! > 1 && h("span.faint.serial", serial(top.serial[row]!))),
      h("div.num", duration(top.sum[row]!)),
      h(
        "div.share",
        h("span.meter", bar),
        h("span.num.dim", `${((100 * top.sum[row]!) / Math.max(1, top.total)).toFixed(1)}%`),
      ),
      h("div.num.own", duration(top.self[row]!)),
      h("div.num", count(top.runs[row]!)),
      h("div.num", duration(top.mean[row]!)),
      h("div.num", duration(top.p95[row]!)),
      h("div.num", duration(top.longest[row]!)),
      h("div.bins", histogram(top.histogram.slice(row * top.bins, (row + 1) * top.bins), 80, 16, "var(--fg-3)")),
      h("div.num.dim.rate", rate(top.flops[row]!, 1e9, 2)),
      h("div.num.dim.rate", rate(top.bytesPerS[row]!, 1e9, 2)),
    );
  }

  private choose(at: number): void {
    const row = this.rows[at];
    if (row === undefined) return;
    const context = this.top!.group === "kernels" ? this.top!.context[row]! : -1;
    this.page.nav.set({ name: this.top!.number[row]!, context: context >= 0 ? context : null }, "replace");
  }

  private openSlices(at: number): void {
    const row = this.rows[at];
    if (row !== undefined && this.page.has("timeline"))
      this.page.nav.go({ ...this.page.nav.place, view: "timeline", params: runsParams(runsOf(this.top!, row)) });
  }

  private async drawChosen(row: number): Promise<void> {
    const top = this.top!;
    const key = `${row}/${this.asked}`;
    if (key === this.sided) return;
    this.sided = key;
    this.siding.abort();
    this.siding = new AbortController();
    const { signal } = this.siding;
    const title = (TITLES[top.group] ?? TITLES["kernels"]!)[1];
    if (row < 0 || top.number[row]! < 0) {
      fill(
        this.page.right,
        h("div.bar", h("b", title)),
        h("p.none", "Choose a row for its durations and slowest runs."),
      );
      return;
    }
    const chosen = { top, row, rank: row + 1, title };
    drawSide(this.page.right, this.page, chosen, null, null);
    try {
      const context = top.context[row]!;
      const [runs, from] = await Promise.all([
        this.page.client.get<RunsWire>(
          `top/runs?${runsQuery(runsParams(runsOf(top, row))).slice(1)}${this.times_}`,
          signal,
        ),
        context >= 0 ? this.page.client.once<ContextWire>(`contexts/${context}`).catch(() => null) : null,
      ]);
      if (signal.aborted) return;
      drawSide(this.page.right, this.page, chosen, runs, from);
      this.page.right.dataset["name"] = plain(top.name[row]!);
    } catch (error) {
      if (isAbort(error)) return;
      this.page.right.querySelector(".scroll")!.append(
        failure(error, () => {
          this.sided = "";
          void this.drawChosen(row);
        }),
      );
    }
  }
}
