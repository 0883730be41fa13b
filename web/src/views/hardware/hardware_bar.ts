/** The bar above a hardware trace: kernel and run, engine, what to show, what the colours mean. */
import { fill, h } from "../../base/dom.ts";
import { ranges } from "../../layout/hardware_rows.ts";
import type { HardwareEntry } from "../../wire/hardware.ts";

export type Mode = "waves" | "counters" | "flow";
const MODES: [Mode, string][] = [
  ["waves", "Waves"],
  ["counters", "Counters"],
  ["flow", "Control flow"],
];
/** Names of the legend, and their letters together: the rest is rare and told by the tooltip. */
const NAMED = 6;
const LETTERS = 64;
/** Engines that are buttons of their own. */
const MOST = 8;

export class HardwareBar {
  readonly element: HTMLElement;
  private readonly kernels = h("select.btn", { "aria-label": "Kernel and run" }) as HTMLSelectElement;
  private readonly engines = h("span.seg", { role: "group", "aria-label": "Engine" });
  private readonly modes = h("span.seg", { role: "group", "aria-label": "What to show" });
  private readonly others = h("select", { "aria-label": "Engine without instructions" }) as HTMLSelectElement;
  private readonly fit: HTMLElement;
  private readonly legend = h("span.hw-lg.wide");

  constructor(
    private readonly go: (change: Record<string, string | number | null>) => void,
    fit: () => void,
  ) {
    this.kernels.addEventListener("change", () => this.open(Number(this.kernels.value)));
    this.others.addEventListener("change", () => this.open(Number(this.others.value)));
    this.fit = h("button.btn", { type: "button", onclick: fit }, "Fit", h("kbd.wide", "Space"));
    this.element = h(
      "div.bar",
      h("span.pick", this.kernels),
      this.engines,
      this.modes,
      h("span.grow"),
      this.legend,
      this.fit,
    );
  }

  draw(traces: readonly HardwareEntry[], entry: HardwareEntry | undefined, mode: Mode): void {
    const runs = new Map<string, HardwareEntry>();
    for (const other of traces) {
      const key = `${other.kind} ${other.kernel} ${other.run}`;
      // of a run's engines the first with instructions stands for it
      if (!runs.get(key)?.detail && (other.detail || !runs.has(key))) runs.set(key, other);
    }
    const sameRun = (other: HardwareEntry): boolean =>
      entry !== undefined && other.kind === entry.kind && other.kernel === entry.kernel && other.run === entry.run;
    fill(
      this.kernels,
      ...[...runs.values()].map((other) =>
        h("option", { value: other.row, selected: sameRun(other) }, `${other.kernel} · run ${other.run}`),
      ),
    );
    this.kernels.parentElement!.hidden = runs.size === 0;
    const sampled = entry?.kind === "pma";
    this.drawEngines(sampled ? [] : traces.filter(sameRun), entry);
    fill(
      this.modes,
      ...MODES.filter(([own]) => own !== "flow" || !sampled).map(([own, title]) =>
        h(
          `button${own === mode ? ".on" : ""}`,
          {
            type: "button",
            "aria-pressed": String(own === mode),
            onclick: () => this.go({ mode: own === "waves" ? null : own }),
          },
          title,
        ),
      ),
    );
    this.legend.hidden = this.fit.hidden = mode !== "waves";
    // out of use, but the switch beside it must not move away under the pointer
    this.engines.classList.toggle("unseen", mode === "counters");
  }

  /** A few engines are buttons; of many, those without instructions share a list. */
  private drawEngines(engines: readonly HardwareEntry[], entry: HardwareEntry | undefined): void {
    const bare = engines.length > MOST ? engines.filter((other) => !other.detail) : [];
    const buttons = engines
      .filter((other) => !bare.includes(other))
      .slice(0, MOST)
      .map((other) => {
        const on = other.row === entry?.row;
        const title = other.detail ? null : "Wave starts and ends only";
        return h(
          `button${on ? ".on" : ""}${other.detail ? "" : ".faint"}`,
          { type: "button", "aria-pressed": String(on), title, onclick: () => this.open(other.row) },
          other.unit.replace(":", " "),
        );
      });
    const chosen = bare.find((other) => other.row === entry?.row);
    const numbers = ranges(bare.map((other) => Number(other.unit.replace("SE:", ""))));
    fill(
      this.others,
      chosen ? null : h("option", { value: "", selected: true }, `SE ${numbers}`),
      ...bare.map((other) =>
        h("option", { value: other.row, selected: other === chosen }, other.unit.replace(":", " ")),
      ),
    );
    fill(
      this.engines,
      ...buttons,
      bare.length > 0
        ? h(`span.pick${chosen ? ".on" : ".faint"}`, { title: "Wave starts and ends only" }, this.others)
        : null,
    );
  }

  /** Data colours and what they stand for, the most important first. */
  drawLegend(named: readonly (readonly [number, string])[]): void {
    let letters = 0;
    const shown = named.slice(0, NAMED).filter(([, name]) => (letters += name.length) <= LETTERS);
    fill(this.legend, ...shown.map(([colour, name]) => h("span", h(`i.sw.cat-${colour}`), name)));
  }

  private open(row: number): void {
    this.go({ row, t0: null, t1: null, ev: null });
  }
}
