/** Counters of all kernels and runs: a sortable table, and the value of each unit of the chosen counter. */
import { fill, h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import type { CountersWire } from "../../wire/hardware.ts";
import { emptyState } from "../common/states.ts";

type Run = CountersWire["runs"][number];

/** A counter's name that may break behind its underscores. */
function broken(name: string): (string | HTMLElement)[] {
  return name.split(/(?<=_)/).flatMap((part, i) => (i === 0 ? [part] : [h("wbr"), part]));
}

export class CounterTable {
  private sort = "";
  private falling = true;
  private chosen: [number, string] | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly data: CountersWire,
  ) {
    this.draw();
  }

  private columns(): string[] {
    const names = new Set<string>();
    for (const run of this.data.runs) for (const metric of run.metrics) names.add(metric.name);
    for (const run of this.data.runs) for (const counter of run.counters) names.add(counter.name);
    return [...names];
  }

  private value(run: Run, name: string): number | null {
    const metric = run.metrics.find((other) => other.name === name);
    return metric ? metric.value : (run.counters.find((other) => other.name === name)?.total ?? null);
  }

  private text(run: Run, name: string): string {
    const metric = run.metrics.find((other) => other.name === name);
    if (metric) return `${metric.value.toFixed(1)}${metric.unit === "" ? "" : ` ${metric.unit}`}`;
    const value = this.value(run, name);
    return value === null ? "" : count(value);
  }

  private draw(): void {
    if (this.data.runs.length === 0) {
      fill(
        this.host,
        emptyState("No counters", "This capture has no performance counters. Record with VIZ=2 on an AMD GPU."),
      );
      return;
    }
    const columns = this.columns();
    const runs = [...this.data.runs];
    if (this.sort !== "") {
      runs.sort(
        (a, b) => ((this.value(a, this.sort) ?? -1) - (this.value(b, this.sort) ?? -1)) * (this.falling ? -1 : 1),
      );
    }
    const header = h(
      "tr",
      h("th", "Kernel"),
      h("th.num", "Run"),
      ...columns.map((name) =>
        h(
          "th.num",
          { "aria-sort": this.sort === name ? (this.falling ? "descending" : "ascending") : "none" },
          h(
            "button",
            { type: "button", onclick: () => this.order(name) },
            ...broken(name),
            this.sort === name ? (this.falling ? " ↓" : " ↑") : "",
          ),
        ),
      ),
    );
    const body = runs.map((run) =>
      h(
        "tr",
        h("td.mono.name", run.kernel),
        h("td.num", String(run.run)),
        ...columns.map((name) => {
          const chosen = this.chosen?.[0] === run.row && this.chosen[1] === name;
          return h(
            `td.num${chosen ? ".chosen" : ""}`,
            h(
              "button",
              { type: "button", "aria-pressed": String(chosen), onclick: () => this.choose(run.row, name) },
              this.text(run, name),
            ),
          );
        }),
      ),
    );
    fill(this.host, h("div.scroll.hw-table", h("table", h("thead", header), h("tbody", ...body)), this.breakdown()));
  }

  private order(name: string): void {
    this.falling = this.sort === name ? !this.falling : true;
    this.sort = name;
    this.draw();
  }

  private choose(row: number, name: string): void {
    this.chosen = this.chosen?.[0] === row && this.chosen[1] === name ? null : [row, name];
    this.draw();
  }

  private breakdown(): HTMLElement | null {
    if (this.chosen === null) return h("p.none", "Choose a value to see it per unit.");
    const [row, name] = this.chosen;
    const run = this.data.runs.find((other) => other.row === row);
    const counter = run?.counters.find((other) => other.name === name);
    if (!run || !counter) {
      const metric = run?.metrics.find((other) => other.name === name);
      return h("p.none", metric ? `${metric.name}: ${metric.doc}.` : "");
    }
    const width = counter.units.reduce((most, unit) => Math.max(most, unit.values.length), 0);
    const heads = ["XCC", "INST", "SE", "SA", ...Array.from({ length: width }, (_, i) => `WGP:${i}`)];
    return h(
      "div.sec",
      h(
        "div.h",
        h("b", name),
        h(
          "span.faint",
          `${run.kernel}, run ${run.run} · ${counter.block} · sum ${count(counter.total)}, largest ${count(counter.largest)}`,
        ),
      ),
      h(
        "table",
        h("thead", h("tr", ...heads.map((text) => h("th.num", text)))),
        h(
          "tbody",
          ...counter.units.map((unit) =>
            h(
              "tr",
              ...[unit.xcc, unit.instance, unit.engine, unit.array, ...unit.values].map((value) =>
                h("td.num", count(value)),
              ),
            ),
          ),
        ),
      ),
    );
  }
}
