/**
 * The right pane for a line of code: from the user's program down to the line, each link of the chain a place to go.
 */
import { plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { clip, count, counted, duration } from "../../base/format.ts";
import { codeNodes } from "../../base/highlight.ts";
import { isKnown, sameRule } from "../../data/line_origin.ts";
import type { ContextWire, MatchesWire, NodeWire } from "../../wire/capture.ts";
import type { LinesWire, LineWire, OriginWire } from "../../wire/code.ts";
import { locationLink } from "../common/location.ts";
import { PATIENCE_MS } from "../common/states.ts";
import type { Page } from "../registry.ts";
import { programPart, schedulePart, sourceLine, splitPlace } from "./origin.ts";

const MOST_OPERATIONS = 12;

/** What the pane needs to know about the selected line. */
export interface ChosenLine {
  context: ContextWire;
  wire: LinesWire;
  line: LineWire;
  text: string;
  /** Goes to the next line of the same rule. */
  next: () => void;
}

/** The chain, then what else the rule wrote. Parts that take a request fill themselves. */
export function lineSections(page: Page, chosen: ChosenLine): HTMLElement[] {
  const { line, wire } = chosen;
  if (!isKnown(line)) {
    return [
      h(
        "div.sec",
        lineSource(chosen.text),
        h(
          "p.dim.below",
          wire.note ?? "This line does not come from a node of the graph: the renderer writes it around every kernel.",
        ),
      ),
    ];
  }
  const program = h("div", { hidden: true });
  const schedule = h("div", { hidden: true });
  const operation = h("div", { hidden: true });
  // tensor operations need every schedule to be read: they come later
  const patience = window.setTimeout(
    () => show(operation, h("div", h("b", "Tensor operation"), h("div.faint", "tracing…"))),
    PATIENCE_MS,
  );
  page.client.once<LinesWire>(`contexts/${chosen.context.id}/lines?operations=1`).then(
    (traced) => {
      window.clearTimeout(patience);
      operation.hidden = true;
      show(operation, operationPart(traced, line.line));
    },
    () => {
      window.clearTimeout(patience);
      operation.hidden = true;
    },
  );
  page.client.once<OriginWire>(`contexts/${chosen.context.id}/origin`).then(
    ({ origins }) => {
      show(program, programPart(chosen.context, origins[0] ?? null));
      show(schedule, schedulePart(page, origins));
    },
    () => show(program, programPart(chosen.context, null)),
  );
  return [
    h(
      "div.sec",
      h("div.chain", program, operation, schedule, ...passParts(page, chosen), linePart(page, chosen)),
      h("div.buttons", ...actions(page, chosen)),
    ),
    ...ruleSection(chosen),
  ];
}

function show(part: HTMLElement, content: HTMLElement | null): void {
  if (content === null) return;
  fill(part, ...content.childNodes);
  part.hidden = false;
}

function operationPart(traced: LinesWire, number: number): HTMLElement | null {
  const own = (traced.lines[number - 1]?.operations ?? [])
    .map((at) => traced.operations?.[at])
    .filter((one) => one !== undefined);
  // which of them a line computes is not always known: then those of its kernel, and it says so
  const made = own.length > 0 ? own : (traced.operations ?? []).filter((one) => one.line !== null);
  const of = own.length > 0 ? "" : " of this kernel";
  if (made.length === 0) return null;
  return h(
    "div",
    h("b", `Tensor operation${made.length === 1 ? "" : "s"}${of}`),
    ...made.slice(0, MOST_OPERATIONS).map((one) => {
      const [file, at] = splitPlace(one.line);
      return h(
        "div",
        h(
          "div.dim.ell",
          file !== "" && locationLink(file, at),
          file !== "" && " in ",
          h("span.mono.name", clip(one.name, 80)),
        ),
        sourceLine(one.source),
      );
    }),
    made.length > MOST_OPERATIONS && h("div.faint", `and ${count(made.length - MOST_OPERATIONS)} more`),
  );
}

function matchAddress(page: Page, line: LineWire): string | null {
  if (line.step < 0 || !page.has("rewrites")) return null;
  return page.nav.address("rewrites", {
    step: String(line.step),
    ...(line.match > 0 ? { match: String(line.match) } : {}),
  });
}

function passParts(page: Page, { line }: ChosenLine): (HTMLElement | null)[] {
  if (line.kind === "signature") return [];
  if (line.step < 0) return [h("div.on", h("b", "Pass"), h("div.dim", "none: the node is as the schedule made it"))];
  const address = matchAddress(page, line);
  const what = h("div.dim", line.match > 0 ? `match ${count(line.match)}` : "");
  if (line.match > 0) {
    page.client.once<MatchesWire>(`steps/${line.step}/matches?first=${line.match}&count=1`).then(
      (wire) => {
        const [op, became] = [wire.ops[wire.op[0]!], wire.ops[wire.became[0]!]];
        const took = duration(wire.dur[0] ?? -1).replace(" ", "\u00a0");
        fill(
          what,
          `match ${count(line.match)} of ${count(wire.total)}`,
          op !== undefined && " replaced ",
          op !== undefined && h("span.mono", op),
          became !== undefined && " by ",
          became !== undefined && h("span.mono", became),
          took !== "" && ` in ${took}`,
        );
      },
      () => undefined,
    );
  }
  const name = clip(line.stepName, 120);
  return [
    h(
      "div.on",
      h("b", "Pass"),
      " ",
      address === null ? h("span.chip.name", name) : h("a.chip.name", { href: address }, name),
      what,
    ),
    line.rule === null
      ? null
      : h(
          "div.on",
          h("b", "Rule"),
          h("div.dim.ell", locationLink(line.rule.file, line.rule.line)),
          sourceLine(line.rule.source),
          line.handler !== null && h("div.faint.ell", "calls ", h("span.mono.name", clip(line.handler, 120))),
        ),
  ];
}

function linePart(page: Page, { line, text }: ChosenLine): HTMLElement {
  const type = h("span");
  if (line.node >= 0) {
    page.client.once<NodeWire>(`nodes/${line.node}`).then(
      (node) => {
        if (node.type) type.textContent = ` ${node.type}`;
      },
      () => undefined,
    );
  }
  const [first, ...inside] = line.ops;
  return h(
    "div",
    h("b", "This line"),
    first !== undefined &&
      h(
        "div.dim",
        h("span.mono", first),
        type,
        inside.length > 0 && h("span.faint", " with ", h("span.mono", clip(inside.join(", "), 200)), " inside"),
        line.row > 0 &&
          h(
            "span.faint",
            line.alike === 1 ? ", the only one in the op list" : `, one of ${count(line.alike)} in the op list`,
          ),
      ),
    lineSource(text),
  );
}

function lineSource(text: string): HTMLElement {
  return h("div.src", ...codeNodes(clip(text.trim(), 300), "c"));
}

function actions(page: Page, { line, context }: ChosenLine): (HTMLElement | false)[] {
  const match = matchAddress(page, line);
  const op =
    line.row > 0 && page.nav.address("code", { context: String(context.id), as: "oplist", line: String(line.row) });
  return [
    match !== null &&
      h(
        "a.btn.tomatch",
        { href: match },
        line.match > 0 ? "Show match in Rewrites " : "Show pass in Rewrites ",
        h("kbd", "Enter"),
      ),
    op !== false && h("a.btn.toop", { href: op }, "Show op"),
  ];
}

function ruleSection({ wire, line, next }: ChosenLine): HTMLElement[] {
  const lines = sameRule(wire, line.line);
  if (lines.length === 0) return [];
  const matches = new Set(lines.map((at) => `${wire.lines[at - 1]!.step}/${wire.lines[at - 1]!.match}`)).size;
  return [
    h(
      "div.sec",
      h(
        "div.h",
        h("span.grow", line.rule === null ? "Lines from the same pass" : "Lines from the same rule"),
        h("span.chip.same", count(lines.length)),
      ),
      h(
        "p.dim",
        lines.length === 1
          ? "No other line was written by it."
          : `It wrote these lines in ${counted(matches, "match", "matches")}; they are tinted in the source.`,
      ),
      lines.length > 1 &&
        h("div.buttons", h("button.btn", { type: "button", onclick: next }, "Next of them ", h("kbd", "N"))),
    ),
  ];
}

/** The name of what is shown, for the pane's bar. */
export function lineTitle(context: ContextWire, line: number): string {
  return line > 0 ? `Where line ${count(line)} comes from` : `Where ${clip(plain(context.name), 40)} comes from`;
}
