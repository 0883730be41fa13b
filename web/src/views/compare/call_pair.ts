/** The tab Calls: one tree of what both hosts called, whose branches close. */
import { fill, h } from "../../base/dom.ts";
import { BothCalls } from "../../data/both_calls.ts";
import type { CallRowWire } from "../../wire/compare.ts";
import { clearLayer, emptyState, showLayer } from "../common/states.ts";
import { ordering, SortTable } from "./sort_table.ts";
import { callColumns } from "./tables.ts";

export class CallPair {
  readonly element = h("div.stage.cmp-stage");
  private readonly columns = callColumns((row) => this.calls.isOpen(row));
  private readonly calls: BothCalls;
  private readonly table: SortTable<CallRowWire>;
  private again = (): void => undefined;

  constructor(
    private readonly rows: readonly CallRowWire[],
    sort: (id: string, down: boolean) => void,
  ) {
    this.calls = new BothCalls(rows);
    this.table = new SortTable("Call trees of both", this.columns, {
      sort,
      branches: {
        level: (row) => row.depth,
        open: (row) => this.calls.isOpen(row),
        toggle: (row) => {
          this.calls.toggle(row);
          this.again();
          this.table.focus(row);
        },
      },
    });
    fill(this.element, this.table.element);
  }

  /** Shows what the filter finds, sorted by a column. */
  show(words: string, sort: string, down: boolean): void {
    this.again = () =>
      this.table.show(this.calls.shown(words, ordering(this.columns, sort, down)), sort, down, () => false);
    this.again();
    clearLayer(this.element);
    if (this.rows.length === 0)
      showLayer(this.element, emptyState("No host slices", "Neither side recorded what its host did."));
    else if (this.table.shown.length === 0)
      showLayer(this.element, emptyState("No function is left", "The filter hides all functions. Escape clears it."));
  }
}
