/** What the middle shows when a context is chosen and no step: where it came from, what its passes did. */
import { nameNodes } from "../../base/ansi.ts";
import { h } from "../../base/dom.ts";
import { clip, count, counted, duration, isOwnFile } from "../../base/format.ts";
import type { ContextTree } from "../../data/tree.ts";
import type { ContextWire } from "../../wire/capture.ts";
import { locationLink } from "../common/location.ts";

export function contextPage(
  tree: ContextTree,
  at: number,
  link: (params: Record<string, string>, view?: string) => string,
  has: (view: string) => boolean,
): HTMLElement {
  const { contexts, steps } = tree;
  const [first, past] = tree.span(contexts.id[at]!);
  const busy = Array.from({ length: past - first }, (_, index) => first + index)
    .filter((step) => steps.matches[step]! > 0)
    .sort((a, b) => steps.matches[b]! - steps.matches[a]!)
    .slice(0, 30);
  const took = duration(contexts.dur[at]!);
  const id = String(contexts.id[at]!);
  return h(
    "div.page",
    h("h2.name", ...nameNodes(contexts.name[at]!)),
    h(
      "p.dim",
      [
        contexts.kind[at]!,
        counted(contexts.steps[at]!, "step"),
        counted(contexts.matches[at]!, "match", "matches"),
        took,
      ]
        .filter((part) => part !== "")
        .join(" · "),
    ),
    h(
      "div.buttons",
      contexts.code[at] === 1 && has("code") && h("a.btn", { href: link({ context: id }, "code") }, "Code"),
      contexts.kind[at] === "schedule" &&
        has("schedule") &&
        h("a.btn", { href: link({ context: id }, "schedule") }, "Kernels of this schedule"),
      past > first && h("a.btn", { href: link({ step: String(steps.id[first]!) }) }, "First pass ", h("kbd", "↓")),
    ),
    busy.length === 0
      ? h("p", past > first ? "No rule fired in its passes." : "It has no passes.")
      : h(
          "table",
          h("thead", h("tr", h("th", "Passes that changed the graph"), h("th.num", "Matches"), h("th.num", "Time"))),
          h(
            "tbody",
            ...busy.map((step) =>
              h(
                "tr",
                h(
                  "td",
                  h("a.name", { href: link({ step: String(steps.id[step]!) }) }, clip(tree.stepName(step), 120)),
                  parentName(tree, step),
                ),
                h("td.num", count(steps.matches[step]!)),
                h("td.num", duration(steps.dur[step]!)),
              ),
            ),
          ),
        ),
  );
}

/** The pass that a pass was run by, since many of those are only called graph_rewrite; nothing for one at the top. */
function parentName(tree: ContextTree, step: number): HTMLElement | false {
  const { depth } = tree.steps;
  let above = step;
  while (above >= 0 && depth[above]! >= depth[step]!) above--;
  return above >= 0 && depth[step]! > 0 && h("span.faint.name", ` in ${clip(tree.stepName(above), 60)}`);
}

/** Where a context was opened, innermost first. */
export function stackSection(context: ContextWire): HTMLElement {
  return h(
    "div.sec",
    h("div.h", h("span.grow", "Opened at")),
    context.stack.length === 0
      ? h("p.dim", "Its stack was not recorded.")
      : h(
          "div.stack",
          ...context.stack
            .slice(0, 60)
            .map((frame) =>
              h(
                isOwnFile(frame.file) ? "div.own" : "div",
                h(
                  "div.dim.ell",
                  locationLink(frame.file, frame.line),
                  " in ",
                  h("span.mono", clip(frame.function, 80)),
                ),
                frame.source !== "" && h("div.src", clip(frame.source.trim(), 300)),
              ),
            ),
        ),
  );
}
