/** The figures of a selected range of a tape: length, events, bytes; lanes, pairs and operations within it. */
import { h } from "../../base/dom.ts";
import { bytes, count, duration } from "../../base/format.ts";
import type { FamilyColour } from "../../draw/tape_colours.ts";
import type { TapeRangeWire, TapeWire } from "../../wire/tape.ts";
import { tip } from "../common/tooltip.ts";
import { part } from "./lane_heads.ts";
import { route, seconds, swatch } from "./words.ts";

const MOST = 40;

export function rangeSection(tape: TapeWire, range: TapeRangeWire, colours: FamilyColour[]): HTMLElement {
  const lanes = range.lanes.filter((lane) => lane.events > 0 || lane.busy_most > 0).slice(0, MOST);
  const busy = (lane: TapeRangeWire["lanes"][number]): string => {
    if (tape.lanes[lane.lane]?.kind !== "worker") return "";
    const length = Math.max(1, lane.there);
    const [least, most] = [part(lane.busy / length), part(lane.busy_most / length)];
    return least === most ? most : `${least} to ${most}`;
  };
  return h(
    "div.sec.tp-range",
    h(
      "div.big",
      h(
        "div",
        h("b", duration(range.end - range.start)),
        h("span", `${seconds(range.start, tape.resolution)} – ${seconds(range.end, tape.resolution)} s`),
      ),
      h(
        "div",
        h("b", count(range.events)),
        h("span", range.failures > 0 ? `events, ${count(range.failures)} failed` : "events"),
      ),
      h("div", h("b", bytes(range.bytes)), h("span", "moved")),
    ),
    h("div.h", h("span.grow", "Lanes"), h("span.faint", "events · busy")),
    ...lanes.map((lane) =>
      h(
        "div.tp-pair.lane",
        h("span.ell.name", tape.lanes[lane.lane]?.name ?? ""),
        h("span.num", count(lane.events)),
        h("span.num.faint", busy(lane)),
      ),
    ),
    lanes.length === 0 && h("div.faint", "Nothing happened here."),
    range.pairs.length > 0 && h("div.h.more", h("span.grow", "Bytes per pair"), h("span.faint", "messages")),
    ...range.pairs.slice(0, MOST).map((pair) =>
      h(
        "div.tp-pair",
        tip(h("span.ell.name", route(tape, pair.source, pair.target)), () => route(tape, pair.source, pair.target)),
        h("span.num.faint", count(pair.messages)),
        h("span.num", pair.unknown === pair.messages ? h("span.faint", "not logged") : bytes(pair.bytes)),
      ),
    ),
    range.families.length > 0 &&
      h(
        "div.tp-ops.tp-shapes",
        ...range.families
          .slice(0, MOST)
          .map(([family, events]) =>
            h(
              "span.tp-op",
              swatch(colours[family]),
              h("span.ell.name", tape.families[family]?.name ?? ""),
              h("span.faint", count(events)),
            ),
          ),
      ),
  );
}
