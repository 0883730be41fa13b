/** The right pane: where the chosen pair parts, with its passes, rules and both graphs. */
import { h } from "../../base/dom.ts";
import { count, counted, location } from "../../base/format.ts";
import { bothNames } from "../../data/compare.ts";
import type { BothGraphsWire, KernelPairWire, PassPairWire, RuleLineWire } from "../../wire/compare.ts";
import { words } from "../common/states.ts";
import { graphPair } from "./graph_pair.ts";

export interface PartActions {
  /** The address of a step and a match in Rewrites of a side. */
  rewrites(side: "a" | "b", step: number, match: number): string;
  /** The address of another pair. */
  pair(name: string): string;
  /** The address of a pass of this pair, and of a match of it; empty for where they part. */
  place(pass: string, match: number): string;
  /** The address at which both graphs have the whole middle. */
  larger(): string;
}

const BEFORE = 3;
const AFTER = 8;

export function partSide(pair: KernelPairWire, actions: PartActions): HTMLElement[] {
  const parted = pair.divergence;
  const name = bothNames(pair.a, pair.b);
  const drawn = graphSection(pair, actions);
  if (!parted) {
    const equal = pair.passes.length > 0;
    const words = equal
      ? `Equal in ${counted(pair.equal, "pass", "passes")} with ${counted(pair.equalMatches, "match", "matches")}.`
      : "No rewrites were recorded of this one.";
    const head = h("div.sec", h("div.h", h("span.grow.mono.ell", name)), h("p", words), ...passRows(pair, actions));
    return drawn ? [head, drawn] : [head];
  }
  const sections = [
    h(
      "div.sec",
      h(
        "div.crumb-line",
        h("span.mono.ell", name),
        parted.step !== "" && h("i", "›"),
        parted.step !== "" && h("span.ell", parted.step),
        parted.match > 0 && h("i", "›"),
        parted.match > 0 && h("b", `match ${parted.match}`),
      ),
      h("p.cmp-what", ...words(parted.what)),
      parted.follows.length > 0 &&
        h(
          "p.faint",
          "Follows from ",
          ...parted.follows
            .slice(0, 3)
            .flatMap((one, at) => [at > 0 ? ", " : "", h("a", { href: actions.pair(one) }, one)]),
          parted.follows.length > 3 ? ` and ${parted.follows.length - 3} more.` : ".",
        ),
      pair.causes.length > 1 &&
        h("p.faint", `It begins in ${[pair.causes.at(-1)!.a, pair.causes.at(-1)!.step].filter(Boolean).join(" › ")}.`),
      parted.inner !== null &&
        h(
          "p.faint",
          `It comes from a pass inside it: step ${parted.inner.ordinal}${parted.inner.match > 0 ? `, match ${parted.inner.match}` : ""}.`,
        ),
      ...passRows(pair, actions),
    ),
  ];
  const rules = parted.rules.map((rule, at) => ruleOf(rule, at === 0 ? "A" : "B")).filter((one) => one !== null);
  if (rules.length > 0) sections.push(h("div.sec", h("div.h", "Rules"), ...rules));
  if (drawn) sections.push(drawn);
  return sections;
}

/** Both graphs where a pair parts, as wide as the pane, and the way to where there is more room; null when there are none. */
function graphSection(pair: KernelPairWire, actions: PartActions): HTMLElement | null {
  const graphs = shownGraphs(pair);
  if (!graphs) return null;
  const larger = h("a.btn", { href: actions.larger(), "aria-label": "Larger: both graphs in the middle" }, "Larger");
  return h(
    "div.sec.part-graphs",
    h("div.h", h("span.grow", graphs.what), larger),
    h("div.h", legend(graphs)),
    ...matchSteps(pair, actions),
    graphPair(graphs, graphNotes(pair)),
  );
}

/** Both graphs of a pair, if there is anything to see in them. */
export function shownGraphs({ graphs, chosen }: KernelPairWire): BothGraphsWire | null {
  return graphs && (graphs.nodes.length > 0 || chosen !== "") ? graphs : null;
}

/** What is shown, the way to other matches, and what the boxes mean. */
export function graphHead(pair: KernelPairWire, graphs: BothGraphsWire, actions: PartActions): HTMLElement[] {
  return [h("b.ell", graphs.what), ...matchSteps(pair, actions), h("span.grow"), legend(graphs)];
}

/** What each side did there. */
export function graphNotes(pair: KernelPairWire): { a: string; b: string } {
  const { divergence: parted } = pair;
  const note = (side: 0 | 1): string => {
    if (pair.chosen !== "" || !parted) return pair.chosen;
    if (parted.match === 0) return (side === 0 ? parted.step : parted.stepNameB) || (pair.graphs?.what ?? "");
    const rule = parted.rules[side];
    return rule ? location(rule.file, rule.line) : "no rule matched";
  };
  return { a: note(0), b: note(1) };
}

const legend = (graphs: BothGraphsWire): HTMLElement =>
  h(
    "span.legend",
    h("span", h("i.only-a"), `${count(graphs.only_a)} A only`),
    h("span", h("i.only-b"), `${count(graphs.only_b)} B only`),
  );

/** To the match before and behind the one whose graphs are shown; empty where the pass has none. */
function matchSteps(pair: KernelPairWire, actions: PartActions): HTMLElement[] {
  const step = shownPass(pair);
  const last = step ? Math.max(step.matches_a, step.matches_b) : 0;
  if (!step || last === 0) return [];
  const at = pair.chosen === "" ? (pair.divergence?.match ?? 0) : pair.match;
  const link = (to: number, text: string, label: string): HTMLElement =>
    to < 0 || to > last
      ? h("span.btn.off", { "aria-hidden": "true" }, text)
      : h("a.btn", { href: actions.place(step.key, to), "aria-label": label }, text);
  return [
    h(
      "span.cmp-matches",
      link(at - 1, "‹", "Previous match of both"),
      h("span.dim", `match ${count(at)} of ${count(last)}`),
      link(at + 1, "›", "Next match of both"),
    ),
  ];
}

/** The pass whose graphs are shown: the chosen one, else the one in which they part. */
function shownPass(pair: KernelPairWire): PassPairWire | undefined {
  return pair.passes.find((step) => (pair.chosen === "" ? step.state === "parts" : step.key === pair.chosen));
}

function ruleOf(rule: RuleLineWire | null, side: string): HTMLElement | null {
  if (!rule) return null;
  return h(
    "div.cmp-rule",
    h("span.dim", `${side} ${location(rule.file, rule.line)}`),
    rule.text !== null && h("code", rule.text),
  );
}

function passRows(pair: KernelPairWire, actions: PartActions): HTMLElement[] {
  const shown = shownPass(pair);
  const at = shown ? pair.passes.indexOf(shown) : pair.passes.length > 0 ? 0 : -1;
  if (at < 0) return [];
  const equal = `${counted(pair.equal, "pass", "passes")}, ${counted(pair.equalMatches, "match", "matches")}`;
  const parts = pair.passes.some((step) => step.state === "parts");
  const back = h("a.ell", { href: actions.place("", 0) }, "Back to where they part");
  return [
    h(
      "div.prow.faint",
      h("span"),
      pair.chosen !== "" && parts ? back : h("span.ell", parts ? `Equal up to here: ${equal}` : "Passes"),
      h("span.num", "A"),
      h("span.num", "B"),
    ),
    ...pair.passes
      .slice(Math.max(0, at - BEFORE), at + AFTER)
      .map((step) => passRow(step, step === shown, pair, actions)),
  ];
}

/** A pass: its name shows both graphs there, its numbers lead to the rewrites of either side. */
function passRow(step: PassPairWire, on: boolean, pair: KernelPairWire, actions: PartActions): HTMLElement {
  const parts = step.state === "parts";
  const match = pair.chosen === "" ? (pair.divergence?.match ?? 0) : pair.match;
  const link = (side: "a" | "b"): HTMLElement => {
    const [number, matches] = side === "a" ? [step.step_a, step.matches_a] : [step.step_b, step.matches_b];
    if (number < 0) return h("span.num.faint", "–");
    const to = on ? Math.min(match, matches) : 0;
    return h(
      "a.num",
      { href: actions.rewrites(side, number, to), title: `Rewrites of ${side.toUpperCase()} at this pass` },
      count(matches),
    );
  };
  return h(
    `div.prow${on ? ".on" : ""}`,
    h("span.mono.faint", step.state === "equal" ? "=" : parts ? "≠" : ""),
    h(
      `a.ell.pass${step.state === "equal" ? ".dim" : parts ? "" : ".faint"}`,
      {
        href: parts ? actions.place("", 0) : actions.place(step.key, 0),
        title: "Both graphs at this pass",
        "aria-current": on ? "true" : null,
      },
      parts ? h("b", step.name) : step.name,
      step.state === "follows" ? " follows" : "",
    ),
    link("a"),
    link("b"),
  );
}
