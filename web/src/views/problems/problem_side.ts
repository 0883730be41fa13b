/** The right pane of Problems: one problem with its line, reason, hint, and the compilations of the same frame. */
import { h } from "../../base/dom.ts";
import { clip, count, duration, location, percent } from "../../base/format.ts";
import { codeNodes } from "../../base/highlight.ts";
import { costText, KINDS } from "../../data/problems.ts";
import type { SourceLine } from "../../wire/capture.ts";
import type { CompilationWire, ProblemWire, ProblemsWire } from "../../wire/problems.ts";
import { locationLink } from "../common/location.ts";
import { words } from "../common/states.ts";
import type { Page } from "../registry.ts";

export interface SideActions {
  muted: boolean;
  mute: () => void;
  timeline: string | null;
  passes: string | null;
  code: string | null;
}

/** "forward was compiled again", "Data-dependent branching" */
function heading(problem: ProblemWire): string {
  return problem.kind === "recompile" ? `${problem.function || "A frame"} was compiled again` : problem.title;
}

export function problemSections(
  problem: ProblemWire,
  found: ProblemsWire,
  page: Page,
  actions: SideActions,
  lines: HTMLElement,
): HTMLElement[] {
  const facts: HTMLElement[] = [];
  const fact = (name: string, ...value: (Node | string | false)[]): void => {
    facts.push(h("dt", name), h("dd.wrap", ...value));
  };
  fact("Compilation", link(problem.contextName, actions.passes, "mono"), problem.group !== "" && ` · ${problem.group}`);
  if (problem.cost >= 0)
    fact(
      "Cost",
      duration(problem.cost),
      found.compiling > 0 && h("span.faint", ` · ${percent(problem.cost, found.compiling)} of compiling`),
    );
  else if (problem.bytes >= 0) fact("Memory", costText(problem));
  else fact("Cost", h("span.faint", "not timed"));
  if (problem.time >= 0) fact("When", link(`at ${duration(problem.time)}`, actions.timeline, ""));
  const hints = problem.hint.split("\n").filter(Boolean);
  return [
    h("div.sec", h("div.title.wrap", ...words(heading(problem))), h("dl.kv.below", ...facts)),
    ...(problem.file === ""
      ? []
      : [
          h(
            "div.sec",
            h("div.h", h("span.grow", "The line"), locationLink(problem.file, problem.line)),
            lines,
            problem.stack.length > 1 &&
              h(
                "div.pr-stack",
                ...problem.stack
                  .slice(1, 12)
                  .map((frame) =>
                    h(
                      "div",
                      h("span.faint", "called from "),
                      locationLink(frame.file, frame.line),
                      ` ${frame.function}`,
                    ),
                  ),
              ),
          ),
        ]),
    h(
      "div.sec",
      h(
        "div.h",
        h("span.grow", "Reason"),
        problem.missed !== "" && h("span.faint.plain", "a guard of ", h("span.mono", problem.missed)),
      ),
      problem.wanted !== "" &&
        h("div.pr-guard", h("div.d", problem.wanted), problem.got !== "" && h("div.a", problem.got)),
      h("p.pr-why", ...words(problem.reason)),
      problem.others.length > 0 &&
        h(
          "details",
          h(
            "summary",
            `${count(problem.others.length)} more ${problem.others.length === 1 ? "guard" : "guards"} did not hold`,
          ),
          ...problem.others.map((other) => h("pre.pr-text", clip(other, 2000))),
        ),
      h("details", h("summary", "All that is told"), h("pre.pr-text", clip(problem.text, 20_000))),
    ),
    h(
      "div.sec",
      hints.length > 0 && h("div.h", h("span.grow", hints.length === 1 ? "Hint" : "Hints")),
      ...hints.map((hint) => h("div.hint", ...words(hint))),
      problem.link !== "" &&
        h(
          "p.pr-why",
          h(
            "a",
            { href: problem.link, target: "_blank", rel: "noreferrer noopener" },
            `More about it on ${hostOf(problem.link)}`,
          ),
        ),
      h(
        "div.buttons.below",
        actions.timeline !== null && h("a.btn", { href: actions.timeline }, "Timeline", h("kbd", "T")),
        actions.passes !== null && h("a.btn", { href: actions.passes }, "Passes", h("kbd", "P")),
        actions.code !== null && h("a.btn", { href: actions.code }, "Code", h("kbd", "C")),
        h(
          "button.btn",
          { type: "button", onclick: actions.mute, "aria-pressed": String(actions.muted) },
          actions.muted ? "Unmute" : "Mute",
        ),
      ),
    ),
    ...frame(problem, found, page),
  ];
}

/** The lines around that of a problem. */
export function sourceLines(lines: readonly SourceLine[]): HTMLElement[] {
  if (lines.length === 0) return [];
  return [
    h(
      "div.pr-code",
      ...lines.map((line) =>
        h(
          `div.pr-line${line.hit ? ".hit" : ""}`,
          h("span.no", String(line.number)),
          h("span", ...codeNodes(line.text, "python"), "\n"),
        ),
      ),
    ),
  ];
}

function hostOf(address: string): string {
  return /^https:\/\/([^/]+)/.exec(address)?.[1] ?? address;
}

function link(text: string, href: string | null, style: string): HTMLElement {
  const tag = style === "" ? "" : `.${style}`;
  return href === null ? h(`span${tag}`, text) : h(`a${tag}`, { href }, text);
}

/** Every compilation of the frame that this one is of. */
function frame(problem: ProblemWire, found: ProblemsWire, page: Page): HTMLElement[] {
  const own = found.compilations.find((one) => one.context === problem.context);
  if (own === undefined) return [];
  const alike = found.compilations.filter((one) => sameFrame(one, own));
  if (alike.length < 2) return [];
  return [
    h(
      "div.sec.wide",
      h("div.h", h("span.grow", "Compilations of this frame"), h("span.chip", count(alike.length))),
      h(
        "table.pr-frame",
        h("thead", h("tr", h("th", "Id"), h("th", "Function"), h("th.num", "Took"))),
        h(
          "tbody",
          ...alike
            .slice(0, 50)
            .map((one) =>
              h(
                "tr",
                { "aria-selected": String(one.context === own.context) },
                h(
                  "td.mono",
                  page.has("rewrites")
                    ? h("a", { href: page.nav.address("rewrites", { context: String(one.context) }) }, one.name)
                    : one.name,
                ),
                h("td.ell", one.function),
                h("td.num", one.cost >= 0 ? duration(one.cost) : ""),
              ),
            ),
        ),
      ),
    ),
  ];
}

function sameFrame(a: CompilationWire, b: CompilationWire): boolean {
  const frameOf = (one: CompilationWire): string => one.name.slice(0, Math.max(0, one.name.lastIndexOf("/")));
  return a.group === b.group && frameOf(a) === frameOf(b) && frameOf(a) !== "";
}

/** What the pane's bar says: "Recompilation 0/1". */
export function sideTitle(problem: ProblemWire): string {
  return `${KINDS[problem.kind]?.[1] ?? problem.kind} ${problem.id}`;
}

export function placeText(problem: ProblemWire): string {
  return location(problem.file, problem.line);
}
