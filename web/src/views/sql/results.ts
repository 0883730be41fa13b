/** The answer as a table of which only the rows in sight exist. Columns are as wide as what is in them. */
import { fill, h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import { cellText, isNumeric, widthsOf } from "../../data/sql.ts";
import type { SqlWire } from "../../wire/sql.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";

/** As wide as the widest digit of the system's faces at 12 px: a number is never cut. */
const LETTER_PX = 8;
const PAD_PX = 22;

export class Results {
  readonly element = h("div.sql-results");
  private readonly head = h("div.sql-row.sql-head");
  private readonly inner = h("div.sql-wide");
  private readonly list: VirtualList;
  private answer: SqlWire | null = null;
  private numeric: boolean[] = [];

  constructor(actions: { select: (row: number) => void; enter: (row: number) => void }) {
    this.element.append(this.inner);
    this.inner.append(this.head);
    this.list = new VirtualList(this.inner, {
      rowHeight: 24,
      role: "listbox",
      label: "Rows of the answer",
      render: (row) => this.row(row),
      onSelect: (row) => actions.select(row),
      onEnter: (row) => actions.enter(row),
    });
  }

  get selected(): number {
    return this.list.selected;
  }

  show(answer: SqlWire | null): void {
    this.answer = answer;
    this.inner.hidden = answer === null;
    if (answer === null) return this.list.setCount(0);
    this.numeric = answer.types.map(isNumeric);
    const digits = Math.max(3, count(answer.rows).length);
    const widths = [digits, ...widthsOf(answer)].map((letters) => Math.ceil(letters * LETTER_PX + PAD_PX));
    const total = widths.reduce((sum, width) => sum + width, 0);
    // the last column takes what is left
    const columns = widths.map((width, at) => (at === widths.length - 1 ? `minmax(${width}px, 1fr)` : `${width}px`));
    this.inner.style.setProperty("--columns", columns.join(" "));
    this.inner.style.minWidth = `${total}px`;
    fill(
      this.head,
      h("div.num.faint", "#"),
      ...answer.columns.map((name, at) =>
        tip(
          h(`div.ell${this.numeric[at] ? ".num" : ""}`, h("b", name), h("small", answer.types[at]!.toLowerCase())),
          () => `${name} ${answer.types[at]!}`,
        ),
      ),
    );
    this.list.select(-1);
    this.list.element.scrollTop = 0;
    this.list.setCount(answer.rows);
  }

  focus(): void {
    if (this.list.selected < 0 && this.list.count > 0) this.list.select(0);
    this.list.focus();
  }

  dispose(): void {
    this.list.dispose();
  }

  private row(row: number): HTMLElement {
    const { columns, values } = this.answer!;
    return h(
      "div.sql-row",
      h("div.num.faint", count(row + 1)),
      ...columns.map((name, at) => {
        const value = values[at]![row];
        const text = cellText(value, name);
        const line = text.length > 400 ? `${text.slice(0, 400)}…` : text;
        const cell = h(
          `div.ell${this.numeric[at] ? ".num" : ".mono"}${value === null ? ".faint" : ""}`,
          line.replaceAll("\n", " "),
        );
        return text.length > 24 ? tip(cell, () => text) : cell;
      }),
    );
  }
}
