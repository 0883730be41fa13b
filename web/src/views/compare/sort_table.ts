/** A table whose columns sort it; the row that is chosen is in the address. */
import { fill, h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";

export interface SortColumn<Row> {
  id: string;
  title: string;
  /** Figures stand at the right. */
  num?: boolean;
  /** Left out in a narrow window. */
  wide?: boolean;
  /** What it is sorted by; columns without one do not sort. */
  value?: (row: Row) => number | string;
  cell: (row: Row) => Node | string;
}

const MOST = 1000;

export class SortTable<Row> {
  readonly element: HTMLElement;
  private rows: Row[] = [];
  private chosen = -1;
  private readonly head = h("tr");
  private readonly body = h("tbody");

  constructor(
    label: string,
    private readonly columns: readonly SortColumn<Row>[],
    private readonly actions: { sort: (id: string, down: boolean) => void; choose?: (row: Row) => void },
  ) {
    const table = h(
      `table.cmp-table${label.startsWith("Kernels") ? ".cmp-kernels" : ""}`,
      { "aria-label": label },
      h("thead", this.head),
      this.body,
    );
    this.element = h("div.scroll.cmp-scroll", table);
    this.body.addEventListener("click", (event) => {
      const row = (event.target as Element).closest("tr");
      const at = row ? [...this.body.children].indexOf(row) : -1;
      if (at >= 0 && at < this.rows.length) actions.choose?.(this.rows[at]!);
    });
    this.body.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** The rows in the order that they are shown in. */
  get shown(): readonly Row[] {
    return this.rows;
  }

  /** Shows rows, sorted by a column (down: largest first), the chosen one marked. */
  show(rows: readonly Row[], sort: string, down: boolean, chosen: (row: Row) => boolean): void {
    const column = this.columns.find((one) => one.id === sort && one.value);
    const ordered = [...rows];
    if (column?.value) {
      const value = column.value;
      const sign = down ? -1 : 1;
      ordered.sort((p, q) => {
        const [x, y] = [value(p), value(q)];
        return sign * (typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y);
      });
    }
    this.rows = ordered.slice(0, MOST);
    this.chosen = this.rows.findIndex(chosen);
    fill(
      this.head,
      ...this.columns.map((one) =>
        h(
          `th${one.num ? ".num" : ""}${one.wide ? ".wide" : ""}`,
          { "aria-sort": one.id === sort ? (down ? "descending" : "ascending") : null },
          one.value
            ? h(
                `button${one.id === sort ? ".on" : ""}`,
                {
                  type: "button",
                  // the column of marks has no title to read
                  "aria-label": one.title === "" ? `Sort by ${one.id}` : null,
                  onclick: () => this.actions.sort(one.id, one.id === sort ? !down : true),
                },
                one.title,
                one.id === sort ? (down ? " ↓" : " ↑") : "",
              )
            : one.title,
        ),
      ),
    );
    fill(this.body, ...this.rows.map((row, at) => this.row(row, at)));
    if (ordered.length > MOST)
      this.body.append(
        h(
          "tr",
          h(
            "td.faint",
            { colspan: this.columns.length },
            `${count(ordered.length - MOST)} more; the filter finds them`,
          ),
        ),
      );
  }

  private row(row: Row, at: number): HTMLElement {
    const selectable = this.actions.choose !== undefined;
    return h(
      "tr",
      { "aria-selected": selectable ? String(at === this.chosen) : null, tabindex: selectable ? 0 : null },
      ...this.columns.map((one) => h(`td${one.num ? ".num" : ""}${one.wide ? ".wide" : ""}`, one.cell(row))),
    );
  }

  private onKey(event: KeyboardEvent): void {
    const rows = [...this.body.children] as HTMLElement[];
    const at = rows.indexOf(event.target as HTMLElement);
    if (at < 0) return;
    if (event.key === "Enter") this.actions.choose?.(this.rows[at]!);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp")
      rows[Math.max(0, Math.min(this.rows.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
