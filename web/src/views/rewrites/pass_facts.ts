import { h } from "../../base/dom.ts";
import { clip } from "../../base/format.ts";
import type { Passes } from "../../data/passes.ts";
import type { ContextTree } from "../../data/tree.ts";
import type { StepFacts } from "./match_pane.ts";

/** What is known about the step at that place of the tree. */
export function factsOf(tree: ContextTree, passes: Passes, at: number): StepFacts {
  const { steps } = tree;
  return {
    id: steps.id[at]!,
    name: tree.stepName(at),
    matches: entriesOf(tree, passes, at),
    after: (steps.after[at] ?? -1) >= 0,
    dur: steps.dur[at]!,
    flags: steps.flags[at]!,
    file: steps.files[steps.file[at]!] ?? "",
    line: steps.line[at]!,
  };
}

/** How many graphs a step has after the one that went in. */
export function entriesOf(tree: ContextTree, passes: Passes, at: number): number {
  const { id, matches } = tree.steps;
  return passes.of(id[at]!)?.entries ?? matches[at]!;
}

/** The next pass of the context that changed something, or the one before; null when there is none. */
export function nextWorked(tree: ContextTree, step: number, by: 1 | -1): number | null {
  const { steps } = tree;
  const at = tree.stepAt.get(step);
  if (at === undefined) return null;
  let next = at + by;
  while (steps.context[next] === steps.context[at] && !tree.worked(next)) next += by;
  return steps.context[next] === steps.context[at] ? steps.id[next]! : null;
}

/** A link to the next pass of the context that changed something. */
export function nextPass(tree: ContextTree, step: number, choose: (step: number) => void): Node | null {
  const next = nextWorked(tree, step, 1);
  if (next === null) return null;
  const name = clip(tree.stepName(tree.stepAt.get(next)!), 60);
  return h("span", "The next that did: ", h("button.link", { type: "button", onclick: () => choose(next) }, name));
}
