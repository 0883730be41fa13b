/** The right pane: where the chosen pair parts, with its passes, rules and both graphs. */
import { h } from "../../base/dom.ts";
import { count, counted, location } from "../../base/format.ts";
import { bothNames } from "../../data/compare.ts";
import type { KernelPairWire, PassPairWire, RuleLineWire } from "../../wire/compare.ts";
import { graphPair } from "./graph_pair.ts";

export interface PartActions {
  /** The address of a step and a match in Rewrites of a side. */
  rewrites(side: "a" | "b", step: number, match: number): string;
  /** The address of another pair. */
  pair(name: string): string;
}

const BEFORE = 3;
const AFTER = 8;

export function partSide(pair: KernelPairWire, actions: PartActions): HTMLElement[] {
  const parted = pair.divergence;
  const name = bothNames(pair.a, pair.b);
  if (!parted)
    return [
      h(
        "div.sec",
        h("div.h", h("span.grow.mono.ell", name)),
        h(
          "p",
          pair.passes.length > 0
            ? `Equal in ${counted(pair.passes.length, "pass", "passes")} with ${counted(pair.equalMatches, "match", "matches")}.`
            : "No rewrites were recorded of this one.",
        ),
      ),
    ];
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
      h("p.cmp-what", parted.what),
      parted.follows.length > 0 &&
        h(
          "p.faint",
          "Follows from ",
          ...parted.follows
            .slice(0, 3)
            .flatMap((one, at) => [at > 0 ? ", " : "", h("a", { href: actions.pair(one) }, one)]),
          parted.follows.length > 3 ? ` and ${parted.follows.length - 3} more.` : ".",
        ),
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
  const graphs = graphSection(pair, 300);
  if (graphs) sections.push(graphs);
  return sections;
}

/** Both graphs where a pair parts, drawn smaller when they are wider than that; null when there are none. */
export function graphSection(pair: KernelPairWire, widest: number): HTMLElement | null {
  const { graphs, divergence: parted } = pair;
  if (!graphs || !parted || graphs.nodes.length === 0) return null;
  const note = (side: 0 | 1): string => {
    if (parted.match === 0) return (side === 0 ? parted.step : parted.stepNameB) || graphs.what;
    const rule = parted.rules[side];
    return rule ? location(rule.file, rule.line) : "no rule matched";
  };
  return h(
    "div.sec",
    h(
      "div.h",
      h("span.grow", graphs.what),
      h(
        "span.legend",
        h("span", h("i.only-a"), `${count(graphs.only_a)} A only`),
        h("span", h("i.only-b"), `${count(graphs.only_b)} B only`),
      ),
    ),
    graphPair(graphs, { a: note(0), b: note(1) }, widest),
  );
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
  const at = pair.passes.findIndex((step) => step.state === "parts");
  if (at < 0) return [];
  const shown = pair.passes.slice(Math.max(0, at - BEFORE), at + AFTER);
  const match = pair.divergence?.match ?? 0;
  return [
    h(
      "div.prow.faint",
      h("span"),
      h(
        "span.ell",
        `Equal up to here: ${counted(pair.equal, "pass", "passes")}, ${counted(pair.equalMatches, "match", "matches")}`,
      ),
      h("span.num", "A"),
      h("span.num", "B"),
    ),
    ...shown.map((step) => passRow(step, match, actions)),
  ];
}

function passRow(step: PassPairWire, match: number, actions: PartActions): HTMLElement {
  const parts = step.state === "parts";
  const link = (side: "a" | "b"): HTMLElement => {
    const [number, matches] = side === "a" ? [step.step_a, step.matches_a] : [step.step_b, step.matches_b];
    if (number < 0) return h("span.num.faint", "–");
    const to = parts ? Math.min(match, matches) : 0;
    return h(
      "a.num",
      { href: actions.rewrites(side, number, to), title: `Rewrites of ${side.toUpperCase()} at this pass` },
      count(matches),
    );
  };
  return h(
    `div.prow${parts ? ".on" : ""}`,
    h("span.mono.faint", step.state === "equal" ? "=" : parts ? "≠" : ""),
    h(`span.ell${step.state === "equal" ? ".dim" : parts ? "" : ".faint"}`, parts ? h("b", step.name) : step.name),
    link("a"),
    link("b"),
  );
}
