/** What the middle shows when a context is chosen and no step: where it came from, what its passes did. */
import { nameNodes } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { clip, count, counted, duration, isOwnFile } from "../../base/format.ts";
import { passFigure, type Passes } from "../../data/passes.ts";
import type { ContextTree } from "../../data/tree.ts";
import type { ContextWire } from "../../wire/capture.ts";
import { locationLink } from "../common/location.ts";

export function contextPage(
  tree: ContextTree,
  at: number,
  passes: Passes,
  link: (params: Record<string, string>, view?: string) => string,
  has: (view: string) => boolean,
): HTMLElement {
  const { contexts, steps } = tree;
  const id = contexts.id[at]!;
  const [first, past] = tree.span(id);
  const page = h("div.page");
  const compared = Array.from({ length: past - first }, (_, index) => first + index).some(
    (step) => steps.after[step]! >= 0,
  );
  // what a kernel computes is one graph, which no pass of its own came to
  const isGraph = past === first + 1 && steps.after[first]! >= 0 && steps.after[first] === steps.root[first];
  const draw = (known: boolean): void =>
    fill(
      page,
      h("h2.name", ...nameNodes(contexts.name[at]!)),
      h(
        "p.dim",
        [
          contexts.kind[at]!,
          counted(contexts.steps[at]!, "step"),
          !compared || contexts.matches[at]! > 0 ? counted(contexts.matches[at]!, "match", "matches") : "",
          duration(contexts.dur[at]!),
        ]
          .filter((part) => part !== "")
          .join(" · "),
      ),
      h(
        "div.buttons",
        contexts.code[at] === 1 && has("code") && h("a.btn", { href: link({ context: String(id) }, "code") }, "Code"),
        contexts.kind[at] === "schedule" &&
          has("schedule") &&
          h("a.btn", { href: link({ context: String(id) }, "schedule") }, "Kernels of this schedule"),
        past > first &&
          h(
            "a.btn",
            { href: link({ step: String(steps.id[first]!) }) },
            isGraph ? "Graph " : "First pass ",
            h("kbd", "↓"),
          ),
      ),
      isGraph && h("p", "What it computes is one graph; no pass of its own changed it."),
      known && !isGraph && passTable(tree, [first, past], passes, compared, link),
    );
  draw(!compared);
  if (compared) void passes.read(id).then(() => draw(true));
  return page;
}

/** The passes that changed most, or a sentence that none did. */
function passTable(
  tree: ContextTree,
  [first, past]: [number, number],
  passes: Passes,
  compared: boolean,
  link: (params: Record<string, string>) => string,
): HTMLElement {
  const { steps } = tree;
  const none = !compared ? "No rule fired in its passes." : "Its passes changed nothing.";
  const busy = Array.from({ length: past - first }, (_, index) => ({
    step: first + index,
    own: steps.id[first + index]!,
  }))
    .map(({ step, own }) => ({ step, pass: passes.of(own), matches: steps.matches[step]! }))
    .map((one) => ({ ...one, work: one.pass === undefined ? one.matches : one.pass.entries && one.pass.boxes + 1 }))
    .filter(({ work }) => work > 0)
    .sort((a, b) => b.work - a.work)
    .slice(0, 30);
  if (busy.length === 0) return h("p", past > first ? none : "It has no passes.");
  const figure = compared ? "Changes" : "Matches";
  return h(
    "table",
    h("thead", h("tr", h("th", "Passes that changed the graph"), h("th.num", figure), h("th.num", "Time"))),
    h(
      "tbody",
      ...busy.map(({ step, pass, matches }) =>
        h(
          "tr",
          h(
            "td",
            h("a.name", { href: link({ step: String(steps.id[step]!) }) }, clip(tree.stepName(step), 120)),
            parentName(tree, step),
          ),
          h("td.num", pass === undefined ? count(matches) : passFigure(pass)),
          h("td.num", duration(steps.dur[step]!)),
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
