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

/** Rows that have others below them. They come in the order of the tree, sorted or not. */
export interface Branches<Row> {
  /** How many it is below. */
  level: (row: Row) => number;
  /** Whether what is below it is shown; null where nothing is. */
  open: (row: Row) => boolean | null;
  toggle: (row: Row) => void;
}

const MOST = 1000;

/** What rows are ordered by when a column sorts them (down: largest first); null where it does not. */
export function ordering<Row>(
  columns: readonly SortColumn<Row>[],
  sort: string,
  down: boolean,
): ((p: Row, q: Row) => number) | null {
  const value = columns.find((one) => one.id === sort)?.value;
  if (!value) return null;
  const sign = down ? -1 : 1;
  return (p, q) => {
    const [x, y] = [value(p), value(q)];
    return sign * (typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y);
  };
}

export class SortTable<Row> {
  readonly element: HTMLElement;
  private rows: Row[] = [];
  private chosen = -1;
  private readonly head = h("tr");
  private readonly body = h("tbody");

  constructor(
    label: string,
    private readonly columns: readonly SortColumn<Row>[],
    private readonly actions: {
      sort: (id: string, down: boolean) => void;
      choose?: (row: Row) => void;
      branches?: Branches<Row>;
    },
  ) {
    const table = h(
      `table.cmp-table${label.startsWith("Kernels") ? ".cmp-kernels" : ""}`,
      { "aria-label": label, role: actions.branches ? "treegrid" : null },
      h("thead", this.head),
      this.body,
    );
    this.element = h("div.scroll.cmp-scroll", table);
    this.body.addEventListener("click", (event) => {
      const row = (event.target as Element).closest("tr");
      const at = row ? [...this.body.children].indexOf(row) : -1;
      if (at >= 0 && at < this.rows.length) this.act(this.rows[at]!);
    });
    this.body.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** The rows in the order that they are shown in. */
  get shown(): readonly Row[] {
    return this.rows;
  }

  /** Shows rows, sorted by a column (down: largest first), the chosen one marked. */
  show(rows: readonly Row[], sort: string, down: boolean, chosen: (row: Row) => boolean): void {
    const order = this.actions.branches ? null : ordering(this.columns, sort, down);
    const ordered = order ? [...rows].sort(order) : rows;
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

  /** Puts the keys on a row. */
  focus(row: Row): void {
    (this.body.children[this.rows.indexOf(row)] as HTMLElement | undefined)?.focus();
  }

  private row(row: Row, at: number): HTMLElement {
    const { choose, branches } = this.actions;
    const selectable = choose !== undefined;
    return h(
      "tr",
      {
        "aria-selected": selectable ? String(at === this.chosen) : null,
        "aria-level": branches ? branches.level(row) + 1 : null,
        "aria-expanded": branches ? (branches.open(row)?.toString() ?? null) : null,
        tabindex: selectable || branches ? 0 : null,
      },
      ...this.columns.map((one) => h(`td${one.num ? ".num" : ""}${one.wide ? ".wide" : ""}`, one.cell(row))),
    );
  }

  private onKey(event: KeyboardEvent): void {
    const rows = [...this.body.children] as HTMLElement[];
    const at = rows.indexOf(event.target as HTMLElement);
    if (at < 0) return;
    if (event.key === "Enter") this.act(this.rows[at]!);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp")
      rows[Math.max(0, Math.min(this.rows.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))]?.focus();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      if (!this.actions.branches) return;
      this.alongBranch(this.actions.branches, at, event.key === "ArrowRight");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** What a click and Enter do. */
  private act(row: Row): void {
    const { choose, branches } = this.actions;
    choose?.(row);
    if (branches && branches.open(row) !== null) branches.toggle(row);
  }

  /** Opens a branch or goes into it; closes it or goes out of it. */
  private alongBranch(branches: Branches<Row>, at: number, into: boolean): void {
    const row = this.rows[at]!;
    const open = branches.open(row);
    if (open === !into) branches.toggle(row);
    else if (into && open) this.focus(this.rows[at + 1]!);
    else if (!into) {
      const outer = this.rows.slice(0, at).findLast((one) => branches.level(one) < branches.level(row));
      if (outer !== undefined) this.focus(outer);
    }
  }
}
