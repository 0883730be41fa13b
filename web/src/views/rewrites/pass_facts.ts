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

/** A link to the next pass of the context that changed something. */
export function nextPass(tree: ContextTree, step: number, choose: (step: number) => void): Node | null {
  const { steps } = tree;
  const at = tree.stepAt.get(step) ?? -1;
  for (let next = at + 1; steps.context[next] === steps.context[at]; next++) {
    if (!tree.worked(next)) continue;
    const onclick = (): void => choose(steps.id[next]!);
    const link = h("button.link", { type: "button", onclick }, clip(tree.stepName(next), 60));
    return h("span", "The next that did: ", link);
  }
  return null;
}
