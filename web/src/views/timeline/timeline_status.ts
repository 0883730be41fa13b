/** What the status bar says of the timeline: counts, what has no room or is hidden, and the scale. */
import { h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import { moment } from "../../layout/timeline_scale.ts";
import type { TimelineWire } from "../../wire/timeline.ts";
import { tip } from "../common/tooltip.ts";
import type { StatusPart } from "../registry.ts";
import type { Stage } from "./stage.ts";

/** Markers that a hover over their number lists. */
const LISTED = 20;

type Go = (change: Record<string, number | null>, mode?: "replace") => void;

export function timelineStatus(stage: Stage, whole: TimelineWire, go: Go): { left: StatusPart[]; right: StatusPart[] } {
  const length = stage.span.t1 - stage.span.t0;
  const hidden = stage.layout.hidden + Math.max(0, whole.trackCount - whole.tracks.id.length);
  const figure = (value: number, one: string): HTMLElement =>
    h("span", h("b", count(value)), value === 1 ? ` ${one}` : ` ${one}s`);
  const left: StatusPart[] = [figure(whole.slices, "slice"), figure(whole.trackCount, "track")];
  if (whole.markerCount > 0) left.push(h("span.wide", figure(whole.markerCount, "marker"), crowdedNote(stage, go)));
  if (stage.below > 0) left.push(h("span.wide", `${counted(stage.below, "track")} below the fold`));
  if (hidden > 0) {
    const show = (): void => go({ find: null }, "replace");
    left.push(h("span", h("button.link", { type: "button", onclick: show }, `${counted(hidden, "track")} hidden`)));
  }
  const right = [
    h("span.wide", `window ${duration(Math.min(length, whole.span))} of ${duration(whole.span)}`),
    h("span", `${fine(length / stage.width)} per pixel`),
  ];
  return { left, right };
}

/** How many markers in sight have no flag; a click goes where the first of them has room. */
function crowdedNote({ crowded, span }: Stage, go: Go): Node | null {
  const first = crowded[0];
  if (!first) return null;
  const length = (span.t1 - span.t0) / 8;
  const near = { t0: Math.round(first.time - length / 4), t1: Math.round(first.time + 0.75 * length), follow: null };
  const text = `${count(crowded.length)} without room for a flag`;
  const note = h("button.link", { type: "button", onclick: () => go(near) }, text);
  const rest = crowded.length - LISTED;
  tip(note, () =>
    [
      ...crowded.slice(0, LISTED).map((one) => `${moment(one.time, span.t1 - span.t0)}  ${one.name}`),
      ...(rest > 0 ? [`and ${count(rest)} more`] : []),
    ].join("\n"),
  );
  return h("span", ", ", note);
}

/** As duration, and of a few ns two digits: a pixel of the nearest window is a tenth of one. */
function fine(ns: number): string {
  return ns < 10 ? `${ns.toPrecision(2)} ns` : duration(ns);
}
