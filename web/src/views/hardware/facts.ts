/** What is said beside a hardware trace: its counters below, its counts and losses in the status bar. */
import { h } from "../../base/dom.ts";
import { count, counted } from "../../base/format.ts";
import type { HardwarePicture } from "../../draw/hardware_draw.ts";
import type { CountersWire } from "../../wire/hardware.ts";
import type { StatusPart } from "../registry.ts";

/** A run's counters and derived figures, one cell each. */
export function counterStrip(run: CountersWire["runs"][number]): HTMLElement[] {
  const cell = (name: string, value: string): HTMLElement => h("div", h("span.ell", { title: name }, name), h("b", value));
  return [
    ...run.counters.map((counter) => cell(counter.name, count(counter.total))),
    ...run.metrics.map((metric) => cell(metric.name, `${metric.value.toFixed(1)}${metric.unit}`)),
  ];
}

export function statusParts(kernel: string, picture: HardwarePicture): { left: StatusPart[]; right: StatusPart[] } {
  const { trace, t0, t1 } = picture;
  const engines = picture.occupancy?.engines ?? [];
  const waves = engines.reduce((sum, engine) => sum + engine.waves, 0);
  const bare = engines.filter((engine) => !engine.detail).map((engine) => engine.unit.replace("SE:", ""));
  const lost = Object.entries(trace.losses).map(([reason, number]) => `${reason}: ${count(number)}`);
  return {
    left: [
      h("b", kernel),
      counted(waves, "wave"),
      `${count(trace.packets)} packets`,
      ...(bare.length > 0 ? [`SE ${bare.join(", ")}: wave starts and ends only`] : []),
      ...(lost.length > 0 ? lost : ["no loss marked"]),
    ],
    right: [
      ...trace.notes.map((note) => h("span.ell", { title: note }, note)),
      `${count(Math.round(t1 - t0))} of ${count(trace.last - trace.first)} cycles`,
      picture.cycle > 0 ? `${(1 / picture.cycle).toFixed(2)} GHz` : "",
      trace.arch,
    ],
  };
}
