/** The names of a tape's lanes with their figures, left of the drawing. */
import { fill, h } from "../../base/dom.ts";
import { bytes, count, counted, percent } from "../../base/format.ts";
import { RULER, type LaneBox } from "../../layout/tape_lanes.ts";
import type { TapeLane, TapeWire } from "../../wire/tape.ts";
import { tip } from "../common/tooltip.ts";
import { seconds } from "./words.ts";

export class LaneHeads {
  readonly element = h("div.tp-heads");
  private readonly lanes = h("div.lanes");
  private readonly inner = h("div");

  draw(tape: TapeWire, boxes: Iterable<LaneBox>, top: number): void {
    const ruler = h("div.tp-hd.plain.first", "seconds");
    const signals = h("div.tp-hd.plain", "Signals");
    place(ruler, 0, RULER);
    place(signals, RULER, top - RULER);
    this.lanes.style.top = `${top}px`;
    fill(this.inner, ...[...boxes].map((box) => head(tape, tape.lanes[box.lane]!, box)));
    fill(this.lanes, this.inner);
    fill(this.element, ruler, top > RULER && signals, this.lanes);
    this.inner.style.position = "relative";
  }

  scroll(by: number): void {
    this.inner.style.top = `${-by}px`;
  }
}

function place(element: HTMLElement, top: number, height: number): void {
  element.style.top = `${top}px`;
  element.style.height = `${height}px`;
}

function head(tape: TapeWire, lane: TapeLane, box: LaneBox): HTMLElement {
  const worker = lane.kind === "worker";
  const low = box.height < 74;
  const element = h(
    `div.tp-hd${low ? ".low" : ""}`,
    h("b.ell.name", lane.name),
    h(
      "small",
      h("span", counted(lane.events, "event")),
      h("span", lane.bytesIn + lane.bytesOut > 0 ? bytes(lane.bytesIn + lane.bytesOut) : ""),
    ),
    worker &&
      !(low && box.height < 60) &&
      h("small.fig", h("span", low ? "of events" : "of worker events"), h("span", percent(lane.share, 1))),
    worker &&
      box.height >= 84 &&
      h(
        "small.fig",
        h("span", `${lane.busyMost > lane.busy ? "busy at most" : "busy"}${partly(lane) ? ", while there" : ""}`),
        h("span", part(lane.busyMost)),
      ),
    worker && !low && meter(lane.share),
  );
  place(element, box.y0, box.height);
  const time = timeWords(lane, tape.resolution);
  const bound =
    lane.busyMost > lane.busy
      ? `busy between ${part(lane.busy)} and ${part(lane.busyMost)} of ${time}: the tape knows only a bound`
      : `busy ${part(lane.busy)} of ${time}`;
  return tip(element, () =>
    [
      lane.name,
      `${counted(lane.events, "event")} of ${count(tape.events)}`,
      `${bytes(lane.bytesIn)} in, ${bytes(lane.bytesOut)} out`,
      ...(worker ? [bound] : []),
      ...(lane.failures > 0 ? [`${count(lane.failures)} failures`] : []),
    ].join("\n"),
  );
}

function meter(share: number): HTMLElement {
  const bar = h("i");
  bar.style.width = `${100 * share}%`;
  return h("div.meter", bar);
}

/** Whether a worker was there for a part of the work only. */
export function partly(lane: TapeLane): boolean {
  return lane.since !== null || lane.until !== null;
}

/** What a lane's shares are parts of: all of the time, or what a worker was there. */
export function timeWords(lane: TapeLane, resolution: number): string {
  const [since, until] = [lane.since, lane.until].map((ns) => (ns === null ? null : `${seconds(ns, resolution)} s`));
  if (!partly(lane)) return "the time";
  return `the time it was there (${[since === null ? "" : `from ${since}`, until === null ? "" : `until ${until}`].join(" ").trim()})`;
}

/** "0.4% to 29%" where only a bound is known. */
export function busyWords(lane: TapeLane): string {
  const [least, most] = [part(lane.busy), part(lane.busyMost)];
  return least === most ? most : `${least} to ${most}`;
}

/** 0.4%, 29% */
export function part(share: number): string {
  if (share > 0 && share < 0.0005) return "<0.1%";
  return share > 0 && share < 0.1 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}
