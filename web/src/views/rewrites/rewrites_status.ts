import { h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import type { GraphWire } from "../../wire/graph.ts";
import type { Page, StatusPart } from "../registry.ts";

/** The status bar: how much the capture holds, and what is shown and hidden of the graph (`counts`). */
export function rewritesStatus(
  page: Page,
  graph: GraphWire | null,
  [shown, total, hidden]: readonly [number, number, string],
): void {
  const { tables } = page.info;
  const figure = (name: string, wide: boolean, one: string): StatusPart => {
    const rows = tables[name] ?? 0;
    return h(wide ? "span.wide" : "span", h("b", count(rows)), ` ${rows === 1 ? one : name}`);
  };
  const right: StatusPart[] = [];
  if (graph) {
    const text = total > 0 ? `${count(shown)} of ${count(total)} nodes shown` : `${count(graph.id.length)} nodes`;
    const onclick = (): void => page.nav.set({ show: "calls,constants,indexing,sink", near: null }, "replace");
    const link = hidden !== "" && h("button.link", { type: "button", title: "Show them", onclick }, `${hidden} hidden`);
    right.push(h("span", text, hidden !== "" && " · ", link));
    right.push(h("span.wide", `match ${count(graph.match)} of ${count(graph.matches)}`));
  }
  page.status(
    [
      figure("contexts", false, "context"),
      figure("steps", false, "step"),
      // compilers that tell of no rules have none
      ...((tables["matches"] ?? 0) > 0 ? [figure("matches", true, "match")] : []),
      figure("nodes", true, "node"),
    ],
    right,
  );
}
