/** What is said beside a hardware trace: its counters below, its counts and losses in the status bar. */
import { h } from "../../base/dom.ts";
import { count, counted } from "../../base/format.ts";
import { wholeSpan, type HardwarePicture } from "../../draw/hardware_draw.ts";
import { ranges } from "../../layout/hardware_rows.ts";
import type { CountersWire, OccupancyWire } from "../../wire/hardware.ts";
import type { Page, StatusPart } from "../registry.ts";

/** A run's counters and derived figures, one cell each. */
export function counterStrip(run: CountersWire["runs"][number]): HTMLElement[] {
  const cell = (name: string, value: string): HTMLElement =>
    h("div", h("span.ell", { title: name }, name), h("b", value));
  return [
    ...run.counters.map((counter) => cell(counter.name, count(counter.total))),
    ...run.metrics.map((metric) => cell(metric.name, `${metric.value.toFixed(1)}${metric.unit}`)),
  ];
}

export function statusParts(kernel: string, picture: HardwarePicture): { left: StatusPart[]; right: StatusPart[] } {
  const { trace, t0, t1 } = picture;
  const { first, last } = wholeSpan(picture);
  const engines = picture.occupancy?.engines ?? [];
  const waves = engines.reduce((sum, engine) => sum + engine.waves, 0);
  const bare = ranges(
    engines.filter((engine) => !engine.detail).map((engine) => Number(engine.unit.replace("SE:", ""))),
  );
  const stalled = trace.stalls.reduce((sum, [from, to]) => sum + to - from, 0);
  const lost = Object.entries(trace.losses)
    .filter(([reason]) => reason !== "the trace went on")
    .map(
      ([reason, number]) =>
        `${count(number)} × ${reason}${reason === "the trace stalled" ? `, ${count(stalled)} cycles` : ""}`,
    );
  return {
    left: [
      h("b", kernel),
      counted(waves, "wave"),
      `${count(trace.packets)} packets`,
      ...(bare !== "" ? [`SE ${bare}: wave starts and ends only`] : []),
      ...(lost.length > 0 ? lost : ["0 packets lost"]),
    ],
    right: [
      ...trace.notes.map((note) => h("span.ell", { title: note }, note)),
      `${count(Math.round(Math.min(t1, last) - Math.max(t0, first)))} of ${count(last - first)} cycles`,
      ...(picture.cycle > 0 ? [`${(1 / picture.cycle).toFixed(2)} GHz`] : []),
      trace.arch,
    ],
  };
}

/**
 * The engine to begin with when none was asked for and the given one stood idle: one with instructions if there is any.
 */
export function busiest(occupancy: OccupancyWire, row: number): number | undefined {
  const { engines } = occupancy;
  if (engines.some((engine) => engine.row === row && engine.waves > 0)) return undefined;
  const busy = engines.filter((engine) => engine.waves > 0);
  return (busy.find((engine) => engine.detail) ?? busy[0])?.row;
}

/** What is said of an engine without waves, and where there are some. */
export function noWaves(picture: HardwarePicture): string {
  const busy = picture.occupancy?.engines.filter((engine) => engine.waves > 0) ?? [];
  const elsewhere = busy
    .map((engine) => `${engine.unit.replace(":", " ")} has ${counted(engine.waves, "wave")}`)
    .join(", ");
  const why = picture.trace.notes.join(" ") || "No wave ran on this engine while it was traced.";
  return elsewhere === "" ? why : `${why} ${elsewhere}.`;
}

/** The address of a kernel's code, at a line if there is one; null when the capture has no such view. */
export function codeAddress(page: Page, context: number, line: number): string | null {
  if (!page.has("code")) return null;
  return page.nav.address("code", { context: String(context), ...(line > 0 ? { line: String(line) } : {}) });
}
