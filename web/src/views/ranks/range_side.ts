/** Selected steps at the side: what they are together, in which most was lost, and by which ranks. */
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import type { StepsWire } from "../../wire/ranks.ts";
import { figure, meter } from "./step_side.ts";

const LISTED = 10;

export interface RangeActions {
  rank: (rank: number) => void;
  step: (step: number, rank: number) => void;
  clear: () => void;
}

export function drawRangeSide(host: HTMLElement, range: StepsWire, chosen: number, act: RangeActions): void {
  const [slowest] = range.ranks;
  const most = Math.max(slowest?.over_ns ?? 0, 1);
  const lost = range.worst.filter((one) => one.lost_ns > 0);
  fill(
    host,
    h(
      "div.bar",
      h("b", `Steps ${range.first}–${range.last}`),
      h("span.faint", counted(range.steps, "step")),
      h("span.grow"),
      h("button.btn", { type: "button", "aria-keyshortcuts": "Escape", onclick: act.clear }, "Clear ", h("kbd", "Esc")),
    ),
    h(
      "div.scroll",
      h(
        "div.sec",
        h(
          "div.big",
          figure(duration(range.dur_ns), range.lost_ns > 0 ? `${duration(range.lost_ns)} lost` : "together"),
          figure(duration(range.median_own_ns), "own, median"),
          figure(duration(range.mean_wait_ns), "wait, mean"),
          figure(
            `rank ${slowest?.rank ?? ""}`,
            slowest && slowest.slow > 0 ? `slow in ${count(slowest.slow)} of ${count(range.steps)}` : "slowest",
          ),
        ),
      ),
      h(
        "div.sec.rank-list",
        h("div.h", h("span.grow", "Slowest ranks"), h("span.faint", "own over median, waits")),
        ...range.ranks
          .slice(0, LISTED)
          .map((row, at) =>
            h(
              "button.srow",
              { type: "button", "aria-pressed": String(row.rank === chosen), onclick: () => act.rank(row.rank) },
              h("span.faint.num", String(at + 1)),
              h(row.slow > 0 ? "b" : "span", String(row.rank)),
              h("span.num", `${row.over_ns >= 0 ? "+" : "−"}${duration(Math.abs(row.over_ns))}`),
              meter(row.over_ns / most),
              h("span.num.dim", row.wait_ns > 0 ? duration(row.wait_ns) : "none"),
            ),
          ),
        range.of > LISTED && h("div.faint.rank-more", `${count(range.of - LISTED)} more ranks`),
      ),
      h(
        "div.sec.rank-list",
        h("div.h", h("span.grow", "Slowest steps"), h("span.faint", "lost by the slowest rank")),
        ...lost
          .slice(0, LISTED)
          .map((one) =>
            h(
              "button.srow.of-steps",
              { type: "button", onclick: () => act.step(one.step, one.slowest) },
              h("span.num", `step ${one.step}`),
              h("span.num", `+${duration(one.lost_ns)}`),
              meter(one.lost_ns / lost[0]!.lost_ns),
              h("span.num.dim", `rank ${one.slowest}`),
            ),
          ),
        lost.length === 0 && h("div.faint.rank-more", "No rank was slow in these steps"),
      ),
    ),
  );
}
