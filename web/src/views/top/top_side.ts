/** The chosen row of the Top page: its durations large, its devices, its slowest runs. */
import { nameNodes } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration, isOwnFile } from "../../base/format.ts";
import { runsParams, type Runs } from "../../state/runs.ts";
import { serial } from "../../data/serials.ts";
import type { ContextWire } from "../../wire/capture.ts";
import type { RunsWire, TopWire } from "../../wire/top.ts";
import { locationLink } from "../common/location.ts";
import type { Page } from "../registry.ts";
import { histogram } from "./histogram.ts";

export interface Chosen {
  top: TopWire;
  row: number;
  /** Its place by total time, from 1. */
  rank: number;
  title: string;
}

export function drawSide(
  host: HTMLElement,
  page: Page,
  chosen: Chosen,
  runs: RunsWire | null,
  context: ContextWire | null,
): void {
  const { top, row } = chosen;
  const context_ = top.context[row]!;
  const counts = top.histogram.slice(row * top.bins, (row + 1) * top.bins);
  const own = context?.stack.find((frame) => isOwnFile(frame.file)) ?? context?.stack[0];
  const find = page.nav.address("timeline", runsParams(runsOf(top, row)));
  fill(
    host,
    h(
      "div.bar",
      h("b", chosen.title),
      h("span.grow"),
      context_ >= 0 &&
        page.has("code") &&
        h("a.btn", { href: page.nav.address("code", { context: String(context_) }) }, "Code"),
      context_ >= 0 &&
        page.has("rewrites") &&
        h("a.btn", { href: page.nav.address("rewrites", { context: String(context_) }) }, "Rewrites"),
    ),
    h(
      "div.scroll",
      h(
        "div.sec",
        h("div.title.mono.name.top-title", ...nameNodes(top.name[row]! || "no name", 400), serial(top.serial[row]!)),
        h(
          "dl.kv",
          h("dt", "Total"),
          h(
            "dd",
            { "data-ns": top.sum[row]! },
            duration(top.sum[row]!),
            h("span.faint", ` · ${share(top, row)} of all, rank ${count(chosen.rank)}`),
          ),
          top.self[row] !== top.sum[row] && h("dt", "Self"),
          top.self[row] !== top.sum[row] && h("dd", { "data-self": top.self[row]! }, duration(top.self[row]!)),
          h("dt", "Runs"),
          h("dd", count(top.runs[row]!), runs && h("span.faint", spread(runs, top.group === "host"))),
          own && h("dt", "From"),
          own && h("dd.ell", locationLink(own.file, own.line), h("span.faint", ` ${own.source}`)),
        ),
      ),
      h(
        "div.sec",
        h("div.h", h("span.grow", "Durations"), h("span.faint.plainw", counted(top.runs[row]!, "run"))),
        histogram(counts, 346, 96, colourOf(top, row)),
        h(
          "div.top-axis.faint",
          h("span", duration(top.shortest[row]!)),
          h("span", `${top.exact ? "" : "≈ "}median ${duration(top.median[row]!)}`),
          h("span", duration(top.longest[row]!)),
        ),
      ),
      runs && h("div.sec", h("div.h", top.group === "host" ? "Per thread, mean" : "Per device, mean"), means(runs)),
      runs &&
        runs.slowest.length > 0 &&
        h(
          "div.sec",
          h(
            "div.h",
            h("span.grow", "Slowest runs"),
            page.has("timeline") && h("a.plainw", { href: find }, `all ${count(top.runs[row]!)}`),
          ),
          h(
            "table.top-runs",
            h(
              "tbody",
              ...runs.slowest.map((run) =>
                h(
                  "tr",
                  h(
                    "td",
                    h("a", { href: page.nav.address("timeline", { slice: String(run.row) }) }, duration(run.dur)),
                  ),
                  h("td.dim.name", runs.tracks.find((track) => track.track === run.track)?.name ?? ""),
                  h("td.dim.ell.name", run.marker),
                ),
              ),
            ),
          ),
        ),
    ),
  );
}

/** The slices that a row stands for. */
export function runsOf(top: TopWire, row: number): Runs {
  const own = { text: top.name[row]!, group: top.group, name: top.number[row]! };
  return top.group === "kernels" ? { ...own, context: top.context[row]! } : own;
}

/** The colour of a row, as the timeline draws it: copies are sky; beside devices, colours are those of kernels. */
export function colourOf(top: TopWire, row: number): string {
  if (top.group === "host" && top.groups.includes("kernels")) return "var(--fg-3)";
  return `var(--cat-${top.group === "copies" ? 9 : top.colour[row]!})`;
}

function share(top: TopWire, row: number): string {
  return `${((100 * top.sum[row]!) / Math.max(1, top.total)).toFixed(1)}%`;
}

function spread(runs: RunsWire, host: boolean): string {
  const counts = runs.tracks.map((track) => track.count);
  if (counts.length < 2) return counts.length === 1 ? ` · on ${runs.tracks[0]!.name}` : "";
  const [low, high] = [Math.min(...counts), Math.max(...counts)];
  return ` · ${low === high ? count(low) : `${count(low)} to ${count(high)}`} on each of ${counts.length} ${host ? "threads" : "devices"}`;
}

function means(runs: RunsWire): HTMLElement {
  const longest = Math.max(1, ...runs.tracks.map((track) => track.total / track.count));
  return h(
    "div.top-means.columns",
    ...runs.tracks.slice(0, 64).map((track) => {
      const bar = h("i");
      bar.style.width = `${((100 * track.total) / track.count / longest / 1.05).toFixed(1)}%`;
      return h(
        "div",
        h("span.ell.name", track.name),
        h("div.meter", bar),
        h("span.num", duration(track.total / track.count)),
      );
    }),
  );
}
