/** The right pane: what was asked before, examples, and where the chosen row leads. */
import { fill, h } from "../../base/dom.ts";
import { clip } from "../../base/format.ts";
import { cellText, type Asked, type Leads } from "../../data/sql.ts";
import type { SqlWire } from "../../wire/sql.ts";
import type { Page } from "../registry.ts";
import { EXAMPLES } from "./examples.ts";

export interface SideActions {
  take(sql: string): void;
  forget(sql: string): void;
  toTimeline(): void;
}

/** The list of queries: mine, or the examples. */
export function drawQueries(
  host: HTMLElement,
  shown: "mine" | "examples",
  history: readonly Asked[],
  current: string,
  actions: SideActions,
): void {
  const entry = (name: string, note: string, sql: string, failed: boolean, own: boolean): HTMLElement =>
    h(
      "div.sql-entry",
      { "aria-current": sql === current ? "true" : null },
      h(
        "button.sql-take",
        { type: "button", onclick: () => actions.take(sql) },
        h(`span.mono${failed ? ".failed" : ".faint"}`, failed ? "!" : note === "" ? "·" : "✓"),
        h("span.ell", name === "" ? h("span.dim", "not named") : h("b", name)),
        h(`span.sub.ell${failed ? ".failed" : ""}`, clip(note === "" && own ? "not run yet" : note, 200)),
        h("span.sub.mono.ell", clip(sql.replaceAll(/\s+/g, " "), 200)),
      ),
      own &&
        h(
          "button.btn.sql-forget",
          { type: "button", "aria-label": "Forget this query", onclick: () => actions.forget(sql) },
          "×",
        ),
    );
  if (shown === "examples") fill(host, ...EXAMPLES.map(([name, sql]) => entry(name, "", sql, false, false)));
  else if (history.length === 0)
    fill(host, h("p.none", "What you ask stays here, in this browser. Examples are beside."));
  else fill(host, ...history.map((one) => entry(one.name, one.note, one.sql, one.failed, true)));
}

/** The chosen row, value by value, with the ways from it. */
export function drawRow(
  host: HTMLElement,
  page: Page,
  answer: SqlWire | null,
  row: number,
  leads: Leads,
  actions: SideActions,
): void {
  if (answer === null || row < 0) {
    fill(host);
    return;
  }
  const way = (view: string, params: Record<string, string>, label: string): HTMLElement | false =>
    page.has(view) && h("a.btn", { href: page.nav.address(view, params) }, label);
  fill(
    host,
    h(
      "div.sec",
      h("div.h", h("span.grow", `Row ${row + 1}`)),
      h(
        "dl.kv",
        ...answer.columns.flatMap((name, at) => [
          h("dt.ell", name),
          h("dd.wrap.mono", clip(cellText(answer.values[at]![row], name), 600)),
        ]),
      ),
      h(
        "div.acts",
        leads.slice !== undefined &&
          page.has("timeline") &&
          h("button.btn", { type: "button", onclick: () => actions.toTimeline() }, "Timeline ", h("kbd", "T")),
        leads.context !== undefined && way("code", { context: leads.context }, "Code"),
        leads.step !== undefined
          ? way("rewrites", { step: leads.step }, "Rewrites")
          : leads.context !== undefined && way("rewrites", { context: leads.context }, "Rewrites"),
        leads.buffer !== undefined && way("memory", { buffer: leads.buffer }, "Memory"),
      ),
    ),
  );
}
