/** The right pane: what a buffer is, who made it, who used it, how long nobody did. */
import { fill, h } from "../../base/dom.ts";
import { bytes, clip, count, counted, duration } from "../../base/format.ts";
import { elements, shortType } from "../../layout/memory_bands.ts";
import { moment } from "../../layout/timeline_scale.ts";
import type { BufferWire, TouchWire } from "../../wire/memory.ts";
import { bothEnds } from "../common/both_ends.ts";
import { tip } from "../common/tooltip.ts";
import type { Page } from "../registry.ts";

export function drawBuffer(host: HTMLElement, page: Page, buffer: BufferWire, whole: number): void {
  const end = buffer.free ?? whole;
  const life = Math.max(0, end - buffer.alloc);
  const items = elements(buffer.bytes, buffer.dtype);
  const kind =
    buffer.dtype === ""
      ? ""
      : items === null
        ? ` · ${clip(shortType(buffer.dtype), 60)}`
        : ` · ${count(items)} × ${shortType(buffer.dtype)}`;
  const part = buffer.peak > 0 ? (100 * buffer.bytes) / buffer.peak : 0;
  const uses = buffer.reads + buffer.writes;
  const share = part < 0.05 ? "under 0.1" : part.toFixed(1);
  fill(
    host,
    h(
      "div.sec",
      h(
        "dl.kv.mem-facts",
        buffer.name !== "" && h("dt", "Name"),
        buffer.name !== "" && h("dd.mono.wrap.name", clip(buffer.name, 400)),
        h("dt", "Size"),
        h("dd", { "data-bytes": buffer.bytes }, bytes(buffer.bytes), h("span.faint.name", kind)),
        h("dt", "Device"),
        h("dd.name", buffer.device || "unnamed"),
        buffer.address !== "" && h("dt", "Address"),
        buffer.address !== "" && h("dd.mono", buffer.address),
        h("dt", "Allocated"),
        h("dd", { "data-ns": buffer.alloc }, moment(buffer.alloc, whole)),
        h("dt", "Freed"),
        buffer.free === null ? h("dd", "never") : h("dd", { "data-ns": buffer.free }, moment(buffer.free, whole)),
        h("dt", "Lifetime"),
        h("dd", duration(life), h("span.faint", whole > 0 ? ` · ${percentOf(life, whole)} of the capture` : "")),
        h("dt", "At the peak"),
        h("dd", buffer.atPeak ? `alive, ${share}% of ${bytes(buffer.peak)}` : "not alive"),
      ),
    ),
    buffer.stack.length > 0 &&
      h(
        "div.mem-uses.stack",
        h("div.h", h("span.grow", "Stack, innermost first"), h("span.chip", count(buffer.stack.length))),
        h("div.mem-stack.mono.small", ...buffer.stack.map((frame) => h("div", clip(frame, 400)))),
      ),
    section(
      "Producer",
      null,
      buffer.producer
        ? [useRow(page, buffer.producer, whole)]
        : [h("div.none", uses > 0 ? "No slice of this capture wrote it." : "No use of it was recorded.")],
      "producer",
    ),
    (buffer.producer !== null || uses > 0) &&
      section(
        buffer.reads > 1 ? "Read by, last first" : "Read by",
        buffer.reads,
        buffer.readers.length > 0
          ? buffer.readers.map((use) => useRow(page, use, whole))
          : [h("div.none", "Nobody read it.")],
        "readers",
        buffer.reads > buffer.readers.length
          ? `${counted(buffer.reads - buffer.readers.length, "earlier read")} not listed.`
          : buffer.unknown > 0
            ? `${counted(buffer.unknown, "use")} by slices that are not in this capture.`
            : "",
      ),
    buffer.writes > 0 &&
      section(
        buffer.writes > 1 ? "Written again by, last first" : "Written again by",
        buffer.writes,
        [h("div.none.mem-reused", reused(buffer)), ...buffer.writers.map((use) => useRow(page, use, whole))],
        "writers",
        buffer.writes > buffer.writers.length
          ? `${counted(buffer.writes - buffer.writers.length, "earlier write")} not listed.`
          : "",
      ),
    buffer.untouched && idle(buffer),
  );
}

/** Why one buffer has several writers. How much of it one writes, all or a row of a cache, is not recorded. */
function reused(buffer: BufferWire): string {
  const makers = new Set([...(buffer.producer ? [buffer.producer] : []), ...buffer.writers].map((use) => use.name));
  const times = buffer.writes + (buffer.producer ? 1 : 0);
  const inPlace = buffer.writers.every((use) => use.mode !== "write");
  if (inPlace) return "Updated in place: what writes it reads it too.";
  if (makers.size === 1) return `The same kernel writes it each time, ${counted(times, "time")}.`;
  return `Written ${counted(times, "time")}: a write replaces what was there, or a part of it.`;
}

function percentOf(part: number, whole: number): string {
  const value = (100 * part) / whole;
  return value > 0 && value < 1 ? `${value.toFixed(value < 0.01 ? 4 : 2)}%` : `${Math.round(value)}%`;
}

function section(title: string, number: number | null, rows: HTMLElement[], name: string, note = ""): HTMLElement {
  return h(
    `div.mem-uses.${name}`,
    h("div.h", h("span.grow", title), number !== null && h("span.chip", count(number))),
    ...rows,
    note !== "" && h("div.none.faint", note),
  );
}

/** When, who (a link to its slice on the timeline) and how: `read@3` is the kernel's fourth argument. */
function useRow(page: Page, use: TouchWire, whole: number): HTMLElement {
  const name = use.name || "no name";
  const who = page.has("timeline")
    ? bothEnds("a.mono", name, { href: page.nav.address("timeline", { slice: String(use.row) }) })
    : bothEnds("span.mono", name);
  return tip(
    h(
      "div.mem-use",
      { "data-row": use.row },
      h("span.num.faint", short(use.start, whole)),
      who,
      h("span.dim", `${use.mode || "use"}@${use.position}`),
    ),
    () =>
      `${use.name}\n${use.mode || "use"}, argument ${use.position}\n${moment(use.start, whole)}, ${duration(use.dur)}`,
  );
}

/** Few digits, so that the column lines up. */
function short(time: number, whole: number): string {
  const [unit, size] =
    whole >= 2e9
      ? (["s", 1e9] as const)
      : whole >= 2e6
        ? (["ms", 1e6] as const)
        : whole >= 2e3
          ? (["µs", 1e3] as const)
          : (["ns", 1] as const);
  return `${(time / size).toFixed(unit === "s" ? 3 : unit === "ns" ? 0 : 1)} ${unit}`;
}

function idle(buffer: BufferWire): HTMLElement {
  const gap = buffer.untouched!;
  const name = (use: TouchWire): HTMLElement => h("span.mono.name", clip(use.name || "no name", 120));
  const from = gap.after ? ["from ", name(gap.after)] : ["from its allocation"];
  const to = gap.before
    ? [" to ", name(gap.before), "."]
    : [buffer.free === null ? " until the end of the capture; it was never freed." : " until it was freed."];
  return h(
    "div.sec.mem-idle",
    { "data-ns": gap.end - gap.begin },
    h("div.h", "Idle in memory"),
    h("div.dim.wrap", `Not touched for ${duration(gap.end - gap.begin)}, `, ...from, ...to),
  );
}
