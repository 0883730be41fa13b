/** The right pane of a tape: the selected message, then what the whole tape tells. */
import { fill, h } from "../../base/dom.ts";
import { bytes, count, counted, duration } from "../../base/format.ts";
import { shapeIcon } from "../../draw/tape_shapes.ts";
import type { FamilyColour } from "../../draw/tape_colours.ts";
import type { MessageWire, OtherMessage, TapeFinding, TapeRangeWire, TapeWire } from "../../wire/tape.ts";
import { tip } from "../common/tooltip.ts";
import { busyWords, part, partly, timeWords } from "./lane_heads.ts";
import { rangeSection } from "./range_section.ts";
import { momentWords, route, seconds, swatch } from "./words.ts";

export interface PaneActions {
  select(seq: number): void;
  filter(text: string): void;
  walk(step: number): void;
  zoomIn(): void;
  /** Lets go of the selected range. */
  clear(): void;
}

/** Events that are answered; others answer. */
const ASKS = new Set(["RECV", "WORKER_SEND", "DISPATCH"]);
const SHOWN = 12;
const MOST_OPS = 40;

export class TapePane {
  private readonly title = h("b", "Tape");
  private readonly ranged = h("div");
  private readonly message = h("div");
  private colours: FamilyColour[] = [];
  private readonly figures = h("div");
  private readonly more = new Set<string>();

  constructor(
    host: HTMLElement,
    private readonly actions: PaneActions,
  ) {
    const step = (by: number, text: string, label: string): HTMLElement =>
      h("button.btn", { type: "button", "aria-label": label, title: label, onclick: () => actions.walk(by) }, text);
    host.append(
      h("div.bar", this.title, h("span.grow"), step(-1, "←", "Previous message"), step(1, "→", "Next message")),
      h("div.scroll.tp-side", this.ranged, this.message, this.figures),
    );
  }

  /** The selected message, or none. */
  select(tape: TapeWire, message: MessageWire | null): void {
    this.title.textContent = message ? `Event #${message.seq}` : "Tape";
    fill(this.message, message && h("div.sec", this.fields(tape, message)));
  }

  /** The figures of the selected range, or none. */
  range(tape: TapeWire, range: TapeRangeWire | null): void {
    fill(
      this.ranged,
      range &&
        h(
          "div.bar.tp-rangebar",
          h("b", "Selected range"),
          h("span.grow"),
          h("button.btn", { type: "button", onclick: () => this.actions.zoomIn() }, "Zoom in ", h("kbd", "Z")),
          h(
            "button.btn",
            {
              type: "button",
              "aria-label": "Clear selection",
              title: "Clear (Esc)",
              onclick: () => this.actions.clear(),
            },
            "✕",
          ),
        ),
      range && rangeSection(tape, range, this.colours),
    );
  }

  private fields(tape: TapeWire, message: MessageWire): HTMLElement {
    const select = (seq: number): void => this.actions.select(seq);
    const row = (name: string, ...value: (Node | string | null | false)[]): HTMLElement[] => [
      h("dt", name),
      h("dd", ...value),
    ];
    const link = (other: OtherMessage): HTMLElement =>
      h("button.link", { type: "button", onclick: () => select(other.seq) }, `#${other.seq} ${other.op}`);
    const faint = (text: string): HTMLElement => h("span.faint", text);
    const shared = message.together === 0 ? "" : ` · shared with ${counted(message.together, "other")}`;
    const asks = ASKS.has(tape.kinds[message.event]?.name ?? "");
    const apart = message.pair ? message.pair.time - message.time : 0;
    const when = message.replyFirst
      ? asks
        ? " · logged before its command"
        : " · logged after its answer"
      : ` · ${duration(Math.abs(apart))} ${apart >= 0 ? "later" : "earlier"}`;
    return h(
      "dl.kv",
      ...row(
        "Event",
        tape.kinds[message.event]?.name ?? "",
        faint(" on "),
        h("span.name", tape.lanes[message.lane]?.name ?? ""),
      ),
      ...row("From → to", h("span.name", route(tape, message.source, message.target))),
      ...row("Command", h("span.mono.name", message.command)),
      ...(tape.ops[message.op] && tape.ops[message.op] !== message.command
        ? row("Operation", h("span.mono.name", tape.ops[message.op]))
        : []),
      ...row(
        "Time",
        `${seconds(message.time, tape.resolution)} s`,
        faint(
          tape.resolution >= 1e6 && shared !== "" ? `${shared} in this millisecond: order known, time not` : shared,
        ),
      ),
      ...(message.dur > 0 ? row("Duration", duration(message.dur)) : []),
      ...row(
        "Size",
        message.size >= 0 ? bytes(message.size) : faint("not logged"),
        faint(message.size > 0 && message.size === tape.largest ? " · largest on the tape" : ""),
      ),
      ...(message.failed ? row("Outcome", h("span.warnt", "failed")) : []),
      ...(message.pair ? row(asks ? "Answer" : "Answers", link(message.pair), faint(when)) : []),
      ...(message.of && message.of.seq !== message.seq ? row("Part of", link(message.of)) : []),
      ...(message.marked ? [] : row("Drawn as", "a signal's line, or not at all: an answer to a registration")),
      h("dt", "Details"),
      h("dd.mono.wrap.name", message.details === "" ? faint("none") : message.details.slice(0, 20_000)),
    );
  }

  /** Everything about the tape as a whole. */
  draw(tape: TapeWire, colours: FamilyColour[]): void {
    this.colours = colours;
    const again = (): void => this.draw(tape, colours);
    fill(
      this.figures,
      findings(
        tape.diagnoses.filter((finding) => finding.severity !== "note"),
        this.actions,
      ),
      this.workers(tape, again),
      tape.balance &&
        h(
          "div.sec",
          h(
            "div.h",
            h("span.grow", "Balance"),
            h(`span.chip${tape.balance.even < 0.7 ? ".chg" : ""}`, `${Math.round(100 * tape.balance.even)}% even`),
          ),
          h("div.dim", `${tape.balance.words}.`),
        ),
      this.section(
        "Bytes per pair",
        "messages",
        tape.pairs,
        (pair) =>
          tip(
            h(
              "div.tp-pair",
              h("span.ell.name", `${pair.source} → ${pair.target}`),
              h("span.num.faint", count(pair.messages)),
              h("span.num", pair.unknown === pair.messages ? h("span.faint", "not logged") : bytes(pair.bytes)),
            ),
            () =>
              pair.unknown > 0
                ? `${count(pair.unknown)} of ${count(pair.messages)} messages do not tell their size`
                : `${count(pair.bytes)} bytes in ${counted(pair.messages, "message")}`,
          ),
        again,
      ),
      operations(tape, colours, this.actions),
      this.section(
        "Longest waits",
        "",
        tape.waits,
        (wait) =>
          this.moment(
            `#${wait.seq} ${wait.op}`,
            wait.seq,
            wait.dur,
            `${tape.lanes.filter((lane) => lane.kind === "client").length > 1 ? `${wait.client}: ` : ""}${wait.reason}`,
          ),
        again,
      ),
      this.section(
        tape.patternCount > tape.patterns.length
          ? `Patterns, first ${count(tape.patterns.length)} of ${count(tape.patternCount)}`
          : "Patterns",
        "",
        tape.patterns,
        (found) => this.moment(`${found.name} · #${found.seq} ${found.op}`, found.seq, found.dur, found.words),
        again,
      ),
      limits(tape),
      this.section(
        "Not understood",
        "times",
        tape.problems,
        (problem) =>
          h(
            "div",
            h("div.tp-pair.two", h("span.wrap", problem.reason), h("span.num", count(problem.count))),
            problem.example !== "" && h("div.tp-sub.mono.name", problem.example),
          ),
        again,
      ),
    );
  }

  private workers(tape: TapeWire, again: () => void): HTMLElement | null {
    const workers = tape.lanes.filter((lane) => lane.kind === "worker");
    if (workers.length === 0) return null;
    const bound = workers.some((lane) => lane.busyMost > lane.busy);
    const section = this.section(
      "Workers",
      h("span.faint", h("span.tp-events", "events · "), bound ? "busy, at most · idle, at least" : "busy · idle"),
      workers,
      (lane) =>
        tip(
          h(
            "div.tp-pair.four",
            h("span.ell.name", lane.name, partly(lane) && h("span.faint", " *")),
            h("span.num.faint.tp-events", count(lane.events)),
            h("span.num", busyWords(lane)),
            h("span.num", part(lane.idle)),
          ),
          () =>
            lane.busyMost > lane.busy
              ? `${lane.name} is known to have worked ${part(lane.busy)} of ${timeWords(lane, tape.resolution)}, ` +
                `at most ${part(lane.busyMost)}: batches are logged when they are done, so only a bound is known`
              : `${lane.name} worked ${part(lane.busy)} of ${timeWords(lane, tape.resolution)}`,
        ),
      again,
    );
    if (workers.some(partly))
      section?.append(h("div.tp-sub", "* came later or left earlier: of the time it was there"));
    return section;
  }

  private moment(name: string, seq: number, ns: number, words: string): HTMLElement {
    const link =
      seq > 0
        ? h("button.link.ell.name", { type: "button", onclick: () => this.actions.select(seq) }, name)
        : h("span.ell.name", name);
    return h("div", h("div.tp-pair.two", link, h("span.num", ns > 0 ? duration(ns) : "")), h("div.tp-sub.name", words));
  }

  /** A headed list; a long one shows its first rows and says how many more there are. */
  private section<T>(
    title: string,
    note: string | HTMLElement,
    rows: readonly T[],
    render: (row: T) => HTMLElement,
    again: () => void,
  ): HTMLElement | null {
    if (rows.length === 0) return null;
    const open = this.more.has(title);
    const shown = open ? rows : rows.slice(0, SHOWN);
    return h(
      "div.sec",
      h(
        "div.h",
        h("span", title),
        h("span.grow"),
        typeof note === "string" ? note !== "" && h("span.faint", note) : note,
      ),
      ...shown.map(render),
      rows.length > SHOWN &&
        h(
          "button.link.small",
          {
            type: "button",
            onclick: () => {
              if (!this.more.delete(title)) this.more.add(title);
              again();
            },
          },
          open ? "Show fewer" : `${count(rows.length - SHOWN)} more`,
        ),
    );
  }
}

function findings(all: readonly TapeFinding[], actions: PaneActions): HTMLElement | null {
  // what was not understood has a list of its own
  const found = all.filter((finding) => finding.kind !== "problem");
  if (found.length === 0) return null;
  return h(
    "div.sec",
    ...found.map((finding) =>
      h(
        `div.tp-note.${finding.severity}`,
        { role: "note" },
        h("b", "!"),
        h(
          "span",
          finding.words,
          finding.seq > 0 && " ",
          finding.seq > 0 &&
            h("button.link", { type: "button", onclick: () => actions.select(finding.seq) }, `Show #${finding.seq}`),
        ),
      ),
    ),
  );
}

/** What the tape cannot know, in plain words. */
function limits(tape: TapeWire): HTMLElement | null {
  const found = tape.diagnoses.filter((finding) => finding.severity === "note");
  return found.length === 0
    ? null
    : h(
        "div.sec",
        h("div.h", "What the tape does not tell"),
        ...found.map((finding) => h("div.tp-limit.dim", finding.words)),
      );
}

function operations(tape: TapeWire, colours: FamilyColour[], actions: PaneActions): HTMLElement {
  const order = tape.families
    .map((family, i) => ({ ...family, i }))
    .filter((family) => family.events > 0)
    .sort((a, b) => b.events - a.events);
  const rest = order.slice(MOST_OPS);
  return h(
    "div.sec",
    h("div.h", h("span.grow", "Operations and events")),
    h(
      "div.tp-ops",
      ...order
        .slice(0, MOST_OPS)
        .map(({ name, events, i }) =>
          h(
            "button",
            { type: "button", title: `Only ${name}`, onclick: () => actions.filter(name) },
            swatch(colours[i]),
            h("span.ell.name", name),
            h("span.faint", count(events)),
          ),
        ),
      rest.length > 0 && h("span.faint", `and ${count(rest.length)} more`),
    ),
    h(
      "div.tp-ops.tp-shapes",
      ...tape.kinds
        .filter((kind) => kind.events > 0)
        .map((kind) =>
          h(
            "span",
            shapeIcon(kind.shape),
            kind.name.replaceAll("_", " ").toLowerCase(),
            h("span.faint", count(kind.events)),
          ),
        ),
    ),
    h("div.tp-sub.tp-shapes", momentWords(tape.resolution)),
  );
}
