/** The figures of a range, or of the whole trace: length, kernels, bytes, busy; per track; the names that took most. */
import { fill, h } from "../../base/dom.ts";
import { bytes, count, counted, duration } from "../../base/format.ts";
import type { RangeWire, TracksWire } from "../../wire/timeline.ts";
import { bothEnds, trackName } from "../common/both_ends.ts";
import { tip } from "../common/tooltip.ts";

export interface RangeLinks {
  colour(name: number): number;
  /** The Top page for this range; null when it has nothing to show. */
  top: string | null;
  /** The call trees of this range. */
  calls: string | null;
  /** Its slices, on devices when it is a kernel. */
  find(name: string, number: number, context: number | undefined): void;
  /** Whether these are the figures of a range and not of everything. */
  ranged: boolean;
  tracks: TracksWire;
}

const TOP = 6;
const MOST = 500;
/** Letters that begin and end may have together; of longer ones the begin is shown, since no number is cut. */
const ROOM = 23;

export function drawRange(host: HTMLElement, wire: RangeWire, links: RangeLinks): void {
  const length = Math.max(1, wire.t1 - wire.t0);
  const kinds = new Map(
    links.tracks.id.map((id, at) => [id, { kind: links.tracks.kind[at]!, group: links.tracks.group[at]! }]),
  );
  const where = new Map(links.tracks.id.map((id, at) => [id, links.tracks.where[at]!]));
  const devices = wire.tracks.filter((track) => ["device", "worker"].includes(kinds.get(track.track)?.kind ?? ""));
  const shown = devices.length > 0 ? devices : wire.tracks;
  const mean = shown.length > 0 ? shown.reduce((sum, track) => sum + track.busy, 0) / shown.length / length : 0;
  const slices = wire.tracks.reduce((sum, track) => sum + track.count, 0);
  const about = wire.exact ? "" : "≈ ";
  const [unit, size] =
    length >= 1e9 ? ["s", 1e9] : length >= 1e6 ? ["ms", 1e6] : length >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  const digits = unit === "ns" ? 0 : 2;
  const at = (time: number): string =>
    (time / size).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const ends = `${at(wire.t0)} – ${at(wire.t1)}`;
  fill(
    host,
    h(
      "div.big",
      h(
        "div",
        h("b", duration(length)),
        h(
          "span",
          tip(h("span", ends.length > ROOM ? `from ${at(wire.t0)}` : ends), () => `${ends} ${unit}`),
        ),
      ),
      wire.kernels > 0
        ? h("div", h("b", count(wire.kernels)), h("span", "kernels"))
        : h("div", h("b", count(slices)), h("span", "slices")),
      wire.copies > 0
        ? h(
            "div",
            h("b", wire.copied > 0 ? bytes(wire.copied) : count(wire.copies)),
            h(
              "span",
              wire.copied > 0 ? `in ${counted(wire.copies, "copy", "copies")}` : wire.copies === 1 ? "copy" : "copies",
            ),
          )
        : h("div", h("b", count(wire.tracks.filter((track) => track.count > 0).length)), h("span", "tracks used")),
      h("div", h("b", about + part(Math.min(1, mean))), h("span", "busy, mean")),
    ),
    h(
      "div.h",
      h("span.grow", devices.length > 0 ? "Busy per device" : "Busy per track"),
      h("span.faint.plainw", "idle"),
    ),
    h(
      "div.tl-busy.columns",
      ...shown.slice(0, MOST).map((track) => {
        const share = Math.min(1, track.busy / length);
        const name = trackName("span", track.name, where.get(track.track) ?? "");
        tip(name, () => `${track.name}: ${counted(track.count, "slice")}, busy ${duration(track.busy)}`);
        const meter = h("i");
        meter.style.width = `${(100 * share).toFixed(1)}%`;
        return h(
          "div.brow",
          { "data-track": track.track, "data-busy": track.busy, "data-count": track.count },
          name,
          h("div.meter", meter),
          h("span.num", part(share)),
          h("span.num.faint", duration(Math.max(0, length - track.busy))),
        );
      }),
    ),
    wire.top.length > 0 &&
      h(
        "div.h.more",
        h("span.grow", wire.kernels > 0 ? "Top kernels" : "Top names"),
        links.calls !== null &&
          h("a.plainw.tl-calls", { href: links.calls, title: "The call tree of this range" }, "tree"),
        links.top !== null
          ? h("a.plainw", { href: links.top }, `all ${count(wire.names)}`)
          : h("span.faint.plainw", `of ${count(wire.names)}`),
      ),
    h(
      "div.tl-most.columns",
      ...wire.top.slice(0, TOP).map((row) => {
        // as the lanes have it: beside devices the host's are neutral, messages have the colours of their names
        const colour =
          wire.kernels === 0 && devices.length > 0 && !links.tracks.group.includes("Messages")
            ? "var(--fg-3)"
            : `var(--cat-${links.colour(row.number)})`;
        const swatch = h("span.sw");
        swatch.style.background = colour;
        const meter = h("i");
        meter.style.width = `${Math.max(1, (100 * row.total) / wire.top[0]!.total)}%`;
        meter.style.background = colour;
        const text = row.serial > 1 ? `${row.name}#${row.serial}` : row.name;
        const name = bothEnds("button.mono.plainb", text, { type: "button" });
        name.addEventListener("click", () =>
          links.find(row.name, row.number, row.context < 0 ? undefined : row.context),
        );
        tip(name, () => `${text}\nClick finds its slices`);
        return h(
          "div.krow",
          { "data-total": row.total, "data-count": row.count },
          swatch,
          name,
          h("div.meter", meter),
          h("span.num", about + duration(row.total)),
          h("span.num.faint", `×${count(row.count)}`),
        );
      }),
    ),
    h(
      "details.tl-counts",
      h("summary.faint", `Slices per track, ${count(slices)} in all`),
      ...wire.tracks
        .filter((track) => track.count > 0)
        .slice(0, MOST)
        .map((track) =>
          h(
            "div.crow",
            { "data-track": track.track },
            h("span.ell.name", track.name),
            h("span.num", count(track.count)),
          ),
        ),
    ),
    links.ranged &&
      h(
        "p.faint.small.below",
        "A slice that reaches over an edge of the range counts, with the part of it that lies inside.",
      ),
    !wire.exact && h("p.faint.small.below", "There are so many tracks that the 5,000 with most slices are summed up."),
  );
}

/** Marks the row of the focused slice's track; -1 for none. */
export function markTrack(host: HTMLElement, track: number): void {
  for (const row of host.querySelectorAll<HTMLElement>(".brow"))
    row.querySelector(".meter i")?.classList.toggle("own", row.dataset["track"] === String(track));
}

/** 97%; what is not quite everything or nothing is not called so. */
function part(share: number): string {
  const percent = 100 * share;
  return (percent > 99.5 && percent < 100) || (percent > 0.05 && percent < 0.5)
    ? `${percent.toFixed(1).replace("100.0", "99.9")}%`
    : `${Math.round(percent)}%`;
}

/** The bar above the figures, with what there is to do about a range. */
export function drawRangeBar(
  bar: HTMLElement,
  title: string,
  act: { zoomIn: (() => unknown) | null; clear: (() => unknown) | null },
): void {
  const { zoomIn, clear } = act;
  const clearing = { type: "button", "aria-label": "Clear selection", title: "Clear (Esc)" };
  fill(
    bar,
    h("b", title),
    h("span.grow"),
    zoomIn && h("button.btn", { type: "button", onclick: () => zoomIn() }, "Zoom in ", h("kbd", "Z")),
    clear && h("button.btn", { ...clearing, onclick: () => clear() }, "✕"),
  );
}
