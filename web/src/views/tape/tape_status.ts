/** What the status bar says of a tape: counts, and what is hidden, folded or without a mark. */
import { h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import type { Drawn } from "../../draw/tape_draw.ts";
import type { TapeWindow, TapeWire } from "../../wire/tape.ts";
import { tip } from "../common/tooltip.ts";
import type { StatusPart } from "../registry.ts";

interface Shown {
  tape: TapeWire;
  data: TapeWindow;
  drawn: Drawn | null;
  /** Whether idle time is folded, and ns of it. */
  folded: boolean;
  idle: number;
}

export function tapeStatus(
  { tape, data, drawn, folded, idle }: Shown,
  go: (change: Record<string, string | null>) => void,
): { left: StatusPart[]; right: StatusPart[] } {
  const kinds = (kind: string): number => tape.lanes.filter((lane) => lane.kind === kind).length;
  const figure = (value: number, one: string): HTMLElement =>
    h("span", h("b", count(value)), ` ${value === 1 ? one : `${one}s`}`);
  const link = (text: string, act: () => void): HTMLElement => h("button.link", { type: "button", onclick: act }, text);
  const right: StatusPart[] = [];
  if (data.kept < tape.events) {
    const lanes = tape.lanes.length - data.lanes.length;
    right.push(
      h(
        "span",
        `${count(tape.events - data.kept)} events${lanes > 0 ? ` and ${counted(lanes, "lane")}` : ""} hidden by the filter · `,
        link("show all", () => go({ q: null })),
      ),
    );
  }
  if (drawn && drawn.inColumns > 0) right.push(`${count(drawn.inColumns)} events in columns`);
  if (drawn?.ends)
    right.push(
      tip(
        h("span", "ends of arrows only"),
        () =>
          "So many arrows would cover the lanes: only their ends at the workers and clients are drawn. " +
          "Zoom in or filter to see them whole.",
      ),
    );
  if (tape.unmarked > 0)
    right.push(
      tip(
        h("span.wide", `${count(tape.unmarked)} without a mark`),
        () =>
          "Events that carry a signal are its line, and answers to registrations say nothing new: " +
          "they have no mark of their own, but are in the list.",
      ),
    );
  if (drawn && drawn.left > 0) right.push(h("span.wide", `${counted(drawn.left, "name")} left out for space`));
  const hidden = (tape.lead ? tape.parts[0]![0] - tape.first : 0) + idle;
  if (folded && hidden > 0) {
    const early = tape.early > 0 ? ` (${counted(tape.early, "event")})` : "";
    right.push(
      h(
        "span",
        `${duration(hidden)} idle${early} folded · `,
        link("unfold", () => go({ fold: "0", t0: null, t1: null })),
      ),
    );
  } else if (!folded)
    right.push(
      h(
        "span",
        "idle time unfolded · ",
        link("fold", () => go({ fold: null, t0: null, t1: null })),
      ),
    );
  const lost = tape.problems.reduce((sum, problem) => sum + problem.count, 0);
  const left: StatusPart[] = [
    figure(tape.events, "event"),
    figure(kinds("client"), "client"),
    figure(kinds("worker"), "worker"),
    figure(tape.signals.length, "signal"),
    ...(lost === 0 ? ["0 lines not understood"] : []),
    ...(tape.runs.length > 1 ? [`run ${tape.run} of ${tape.runs.length}`] : []),
  ];
  return { left, right };
}
