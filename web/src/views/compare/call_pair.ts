/** The tab Calls: one tree of what both hosts called, whose branches close. */
import { fill, h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import { BothCalls } from "../../data/both_calls.ts";
import type { BothCallsWire, CallRowWire } from "../../wire/compare.ts";
import { clearLayer, emptyState, showLayer } from "../common/states.ts";
import { ordering, SortTable } from "./sort_table.ts";
import { callColumns } from "./tables.ts";

export class CallPair {
  readonly element = h("div.stage.cmp-stage.col");
  private readonly columns = callColumns((row) => this.calls.isOpen(row));
  private readonly calls: BothCalls;
  private readonly table: SortTable<CallRowWire>;

  constructor(
    private readonly found: BothCallsWire,
    sort: (id: string, down: boolean) => void,
    close: (shut: ReadonlySet<string>) => void,
  ) {
    this.calls = new BothCalls(found.rows);
    this.table = new SortTable("Call trees of both", this.columns, {
      sort,
      branches: {
        level: (row) => row.depth,
        open: (row) => this.calls.isOpen(row),
        toggle: (row) => {
          close(this.calls.toggled(row)); // and it is shown again
          this.table.focus(row);
        },
      },
    });
    const rest = `${count(found.left_out)} more took less time on both sides and are not listed`;
    fill(this.element, this.table.element, found.left_out > 0 && h("p.faint.small.cmp-rest", rest));
  }

  /** Shows what the filter finds, sorted by a column, without what is below the closed branches. */
  show(words: string, sort: string, down: boolean, shut: ReadonlySet<string>): void {
    const rows = this.calls.shown(words, ordering(this.columns, sort, down), shut);
    this.table.show(rows, sort, down, () => false);
    clearLayer(this.element);
    if (this.found.rows.length === 0)
      showLayer(this.element, emptyState("No host slices", "Neither side recorded what its host did."));
    else if (this.table.shown.length === 0)
      showLayer(this.element, emptyState("No function is left", "The filter hides all functions. Escape clears it."));
  }
}
