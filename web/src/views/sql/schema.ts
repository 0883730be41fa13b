/** The left pane: tables with their rows, and the columns of those that are open. */
import { h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import type { SqlColumn, SqlTable } from "../../wire/sql.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";

interface Row {
  table: SqlTable;
  column: SqlColumn | null;
}

export class Schema {
  private readonly list: VirtualList;
  private tables: readonly SqlTable[] = [];
  private rows: Row[] = [];
  private readonly open = new Set<string>();
  private filter = "";

  constructor(host: HTMLElement, insert: (name: string) => void) {
    this.list = new VirtualList(host, {
      rowHeight: 24,
      role: "tree",
      label: "Tables and their columns",
      render: (at) => this.row(this.rows[at]!),
      onSelect: () => undefined,
      onEnter: (at) => {
        const { table, column } = this.rows[at]!;
        if (column === null) this.toggle(table.name);
        else insert(spelled(column.name));
      },
      onKey: (event, at) => {
        const row = this.rows[at];
        if (!row || row.column !== null) return false;
        const opens = event.key === "ArrowRight";
        if (opens === this.open.has(row.table.name) || !["ArrowRight", "ArrowLeft"].includes(event.key)) return false;
        this.toggle(row.table.name);
        return true;
      },
    });
    this.list.element.addEventListener("dblclick", () => {
      const row = this.rows[this.list.selected];
      if (row) insert(spelled(row.column?.name ?? row.table.name));
    });
  }

  show(tables: readonly SqlTable[]): void {
    this.tables = tables;
    if (this.open.size === 0) {
      const first = tables.find((table) => table.name === "slices" && table.rows > 0) ?? tables.find((t) => t.rows > 0);
      if (first) this.open.add(first.name);
    }
    this.draw();
  }

  /** Keeps the tables and columns that have every word. */
  narrow(filter: string): void {
    this.filter = filter.trim().toLowerCase();
    this.draw();
  }

  focus(): void {
    if (this.list.selected < 0 && this.rows.length > 0) this.list.select(0);
    this.list.focus();
  }

  dispose(): void {
    this.list.dispose();
  }

  private toggle(name: string): void {
    if (!this.open.delete(name)) this.open.add(name);
    this.draw();
  }

  private draw(): void {
    const { filter } = this;
    const has = (text: string): boolean => text.toLowerCase().includes(filter);
    this.rows = this.tables.flatMap((table) => {
      const whole = filter === "" || has(table.name);
      const columns = table.columns.filter((column) => whole || has(column.name));
      if (!whole && columns.length === 0) return [];
      const shown = filter === "" || whole ? this.open.has(table.name) : true;
      return [{ table, column: null }, ...(shown ? columns.map((column) => ({ table, column })) : [])];
    });
    this.list.setCount(this.rows.length);
  }

  private row({ table, column }: Row): HTMLElement {
    if (column !== null) {
      const element = h(
        "div.row.sql-column",
        h("span.tw"),
        h("span.ell.mono", column.name),
        h("span.n.faint", column.unit === "" ? column.type : `${column.type} · ${column.unit}`),
      );
      element.style.setProperty("--d", "1");
      return tip(element, () => `${table.name}.${column.name}: ${column.doc}`);
    }
    const open = this.open.has(table.name) || (this.filter !== "" && !table.name.includes(this.filter));
    const element = h(
      `div.row${table.rows === 0 ? ".faint" : ""}`,
      { "aria-expanded": String(open) },
      h("span.tw", open ? "▾" : "▸"),
      h("span.ell.mono", table.rows > 0 ? h("b", table.name) : table.name),
      h("span.n", count(table.rows)),
    );
    return tip(element, () => `A row is ${table.doc}.`);
  }
}

/** A column as SQL wants it: some are words of the language. */
function spelled(name: string): string {
  return ["from", "to", "order", "column", "table"].includes(name) ? `"${name}"` : name;
}
