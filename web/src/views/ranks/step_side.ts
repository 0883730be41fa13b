/** The chosen step at the side: its figures, who was slow, how far apart ranks came to each collective. */
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import type { StepCollectiveWire, StepWire } from "../../wire/ranks.ts";

const STRAGGLERS = 10;
/** Arrivals of a collective that are drawn, and the last. */
const TICKS = 96;

export interface SideActions {
  rank: (rank: number) => void;
  step: (by: number) => void;
}

export function drawStepSide(host: HTMLElement, step: StepWire, chosen: number, act: SideActions): void {
  const slowest = step.ranks[0];
  const most = Math.max((slowest?.own_ns ?? 0) - step.median_own_ns, 1);
  const apart = step.collectives.filter((one) => one.arrivals.length > 0);
  const widest = Math.max(...step.collectives.map((one) => one.skew_ns), 1);
  fill(
    host,
    h(
      "div.bar",
      h("b", `Step ${step.step}`),
      h("span.grow"),
      h("button.btn", { type: "button", "aria-label": "Previous step", onclick: () => act.step(-1) }, "←"),
      h("button.btn", { type: "button", "aria-label": "Next step", onclick: () => act.step(1) }, "→"),
    ),
    h(
      "div.scroll",
      h(
        "div.sec",
        h(
          "div.big",
          figure(
            duration(step.dur_ns),
            slowest?.slow && step.lost_ns > 0 ? `step, ${duration(step.lost_ns)} lost` : "step",
          ),
          figure(duration(step.median_own_ns), "own, median"),
          figure(duration(step.mean_wait_ns), "wait, mean"),
          figure(
            `rank ${slowest?.rank ?? ""}`,
            step.held && slowest?.slow ? `holds ${counted(step.held, "other")}` : "slowest",
          ),
        ),
      ),
      h(
        "div.sec.rank-list",
        h("div.h", h("span.grow", "Slowest ranks"), h("span.faint", "own over median, waits")),
        ...step.ranks.slice(0, STRAGGLERS).map((row, at) => {
          const over = row.own_ns - step.median_own_ns;
          return h(
            "button.srow",
            {
              type: "button",
              "aria-pressed": String(row.rank === chosen),
              onclick: () => act.rank(row.rank),
            },
            h("span.faint.num", String(at + 1)),
            h(row.slow ? "b" : "span", String(row.rank)),
            h("span.num", `${over >= 0 ? "+" : "−"}${duration(Math.abs(over))}`),
            meter(over / most),
            h("span.num.dim", row.wait_ns > 0 ? duration(row.wait_ns) : "none"),
          );
        }),
        step.of > STRAGGLERS && h("div.faint.rank-more", `${count(step.of - STRAGGLERS)} more ranks`),
        ...step.hosts.map(({ host: name, ranks, over_ns }) =>
          h(
            "div.dim.rank-more",
            `Host ${name} (${counted(ranks, "rank")}) is ${duration(over_ns)} over, in most steps`,
          ),
        ),
      ),
      apart.length > 0 &&
        h(
          "div.sec",
          h("div.h", h("span.grow", "Arrival at the collectives"), h("span.faint", "first to last")),
          ...apart.map((one) => strip(one, widest, chosen)),
          step.of_collectives > apart.length &&
            h("div.faint", `${counted(step.of_collectives - apart.length, "collective")} less far apart`),
        ),
      slowest?.slow === true && why(step),
    ),
  );
}

/** What speaks for or against the slowest rank's own work as the cause. */
function why({ why: found }: StepWire): HTMLElement {
  const times = (share: number): string => `${share.toFixed(2)} × the median`;
  const same = Math.abs(found.runs - 1) < 0.005;
  return h(
    "div.sec",
    h("div.h", h("span.grow", `Why rank ${found.rank} is late`)),
    h(
      "dl.rank-why",
      ...found.over.flatMap(([name, ns], at) => [
        h("dt", at === 0 ? "Took longer" : ""),
        h("dd", h("span.mono", name), ` +${duration(ns)}`, at === 0 ? ` over rank ${found.median}` : ""),
      ]),
      h("dt", same ? "Same kernels" : "Kernels"),
      h("dd", `together ${times(found.work)}${same ? "" : `, ${times(found.runs)} as many`}, over the run`),
      found.first_slow_step >= 0 && h("dt", "First late"),
      found.first_slow_step >= 0 &&
        h("dd", `step ${found.first_slow_step}, ${counted(found.slow_steps, "slow step")} in all`),
    ),
  );
}

export function meter(share: number): HTMLElement {
  const bar = h("i");
  bar.style.width = `${(Math.max(share, 0) * 100).toFixed(1)}%`;
  return h("span.meter", bar);
}

export function figure(value: string, what: string): HTMLElement {
  return h("div", h("b", value), h("span", what));
}

/** Each rank's arrival as a tick on one scale; the last one thick. */
function strip(one: StepCollectiveWire, widest: number, chosen: number): HTMLElement {
  const last = Math.max(...one.arrivals.map(([, late]) => late));
  const every = Math.ceil(one.arrivals.length / TICKS);
  const shown = one.arrivals.filter(([rank, late], at) => at % every === 0 || late === last || rank === chosen);
  const line = h("div.arrival-line", { "aria-hidden": "true" });
  for (const [rank, late] of shown) {
    const tick = h(rank === chosen ? "i.chosen" : late === last ? "i.last" : "i");
    tick.style.left = `${((late / widest) * 100).toFixed(2)}%`;
    line.append(tick);
  }
  return h(
    "div.arrival",
    h(
      "div.arrival-head",
      h("span.mono.ell", one.name),
      h("span.grow"),
      one.last_rank >= 0 && h("span.faint", `rank ${one.last_rank} last`),
      h("span.num", duration(one.skew_ns)),
    ),
    line,
  );
}
