/** What the tooltip of the timeline says. */
import { h } from "../../base/dom.ts";
import { count, duration } from "../../base/format.ts";
import { notebook } from "../../data/notes.ts";
import { figure } from "../../draw/timeline/painter.ts";
import { moment } from "../../layout/timeline_scale.ts";
import type { Stage, Under } from "./stage.ts";

/** Full name, duration and position; of merged slices how many they are and the longest. */
export function describe(stage: Stage, under: Under | null): HTMLElement[] | null {
  if (!under) return null;
  const length = stage.span.t1 - stage.span.t0;
  const moments = under.moments.map((name) =>
    h("div", h("b.name", name), h("span.faint", ` · moment at ${moment(under.time, length)}`)),
  );
  if (under.value !== null) {
    const unit = under.row.series && "memory" in under.row.series ? "bytes" : under.row.unit;
    return [
      ...moments,
      h("b.name", under.row.title),
      h("div", figure(under.value, unit), h("span.faint", ` at ${moment(under.time, length)}`)),
    ];
  }
  if (!under.entry) return moments.length > 0 ? moments : null;
  const { lane, at } = under.entry;
  const name = stage.nameOf(lane.name[at]!);
  const start = lane.start[at]!;
  const long = lane.end[at]! - start;
  const many = lane.count[at]!;
  const pinned = notebook.at("timeline", { slice: String(lane.row[at]) });
  const notes = pinned.map((note) => h("div.note-text", note.text));
  if (lane.width === 0)
    return [
      ...moments,
      h("b.mono.name", name || "no name"),
      h("div", duration(long), h("span.faint", ` at ${moment(start, length)} · ${under.row.title}`)),
      ...notes,
    ];
  return [
    ...moments,
    h("b.mono.name", name || "no name"),
    h(
      "div",
      many > 1 ? `longest of ${count(many)} slices here` : "goes on here",
      h("span.faint", ` · ${Math.round(100 * lane.busy[at]!)}% busy · ${duration(long)} at ${moment(start, length)}`),
    ),
  ];
}
