/** The call trees of both sides as one: what is shown of it, and in which order. */
import type { CallRowWire } from "../wire/compare.ts";

interface Branch {
  row: CallRowWire;
  below: Branch[];
}

/** By what two rows are ordered. */
export type Order = (p: CallRowWire, q: CallRowWire) => number;

export class BothCalls {
  private readonly outermost: Branch[] = [];
  private readonly closed = new Set<CallRowWire>();
  /** Those that were closed among what a filter found: it opens all that it finds something in. */
  private readonly closedFound = new Set<CallRowWire>();
  private words = "";
  /** Of the rows that are shown, those with others below them, and whether these are shown too. */
  private open = new Map<CallRowWire, boolean>();

  constructor(rows: readonly CallRowWire[]) {
    const callers: Branch[] = [];
    for (const row of rows) {
      const branch = { row, below: [] };
      callers.length = row.depth;
      (callers.at(-1)?.below ?? this.outermost).push(branch);
      callers.push(branch);
    }
  }

  /** The rows in which the words occur, below all that call them; what one function calls in this order. */
  shown(words: string, order: Order | null): CallRowWire[] {
    if (words !== this.words) this.closedFound.clear();
    this.words = words;
    this.open = new Map();
    return this.rowsOf(this.outermost, words.toLowerCase(), order);
  }

  /** Whether what a row calls is shown; null where it calls nothing. */
  isOpen(row: CallRowWire): boolean | null {
    return this.open.get(row) ?? null;
  }

  toggle(row: CallRowWire): void {
    const closed = this.words === "" ? this.closed : this.closedFound;
    if (!closed.delete(row)) closed.add(row);
  }

  private rowsOf(branches: readonly Branch[], words: string, order: Order | null): CallRowWire[] {
    const closed = words === "" ? this.closed : this.closedFound;
    const ordered = order ? [...branches].sort((p, q) => order(p.row, q.row)) : branches;
    return ordered.flatMap(({ row, below }) => {
      const found = this.rowsOf(below, words, order);
      if (below.length > 0 && (found.length > 0 || words === "")) this.open.set(row, !closed.has(row));
      if (found.length === 0 && !occurs(row, words)) return [];
      return closed.has(row) ? [row] : [row, ...found];
    });
  }
}

function occurs(row: CallRowWire, words: string): boolean {
  return row.name.toLowerCase().includes(words) || row.name_b.toLowerCase().includes(words);
}
