/** The call trees of both sides as one: what is shown of it, and in which order. */
import type { CallRowWire } from "../wire/compare.ts";
import { formatPath } from "./calls.ts";

interface Branch {
  row: CallRowWire;
  below: Branch[];
}

/** By what two rows are ordered. */
export type Order = (p: CallRowWire, q: CallRowWire) => number;

/** Stands before the path of a branch that was closed among what a filter found; no path begins with it. */
const FOUND = ":";

/** Closed branches without those that were closed among what a filter found: another filter opens them. */
export function withoutFound(shut: ReadonlySet<string>): Set<string> {
  return new Set([...shut].filter((path) => !path.startsWith(FOUND)));
}

export class BothCalls {
  private readonly outermost: Branch[] = [];
  private readonly paths = new Map<CallRowWire, string>();
  private words = "";
  private shut: ReadonlySet<string> = new Set();
  /** Of the rows that are shown, those with others below them, and whether these are shown too. */
  private open = new Map<CallRowWire, boolean>();

  constructor(rows: readonly CallRowWire[]) {
    const callers: Branch[] = [];
    for (const row of rows) {
      const branch = { row, below: [] };
      callers.length = row.depth;
      (callers.at(-1)?.below ?? this.outermost).push(branch);
      callers.push(branch);
      this.paths.set(row, formatPath(callers.map((one) => one.row.name)));
    }
  }

  /** The rows in which the words occur, below all that call them; what one function calls in this order. A filter opens
   * all that it finds something in. `shut` are the branches that were closed by hand, by their paths. */
  shown(words: string, order: Order | null, shut: ReadonlySet<string>): CallRowWire[] {
    this.words = words;
    this.shut = shut;
    this.open = new Map();
    return this.rowsOf(this.outermost, words.toLowerCase(), order);
  }

  /** Whether what a row calls is shown; null where it calls nothing. */
  isOpen(row: CallRowWire): boolean | null {
    return this.open.get(row) ?? null;
  }

  /** The closed branches once this one is the other way round. */
  toggled(row: CallRowWire): Set<string> {
    const shut = new Set(this.shut);
    if (!shut.delete(this.place(row))) shut.add(this.place(row));
    return shut;
  }

  private place(row: CallRowWire): string {
    return (this.words === "" ? "" : FOUND) + this.paths.get(row)!;
  }

  private rowsOf(branches: readonly Branch[], words: string, order: Order | null): CallRowWire[] {
    const ordered = order ? [...branches].sort((p, q) => order(p.row, q.row)) : branches;
    return ordered.flatMap(({ row, below }) => {
      const found = this.rowsOf(below, words, order);
      const closed = this.shut.has(this.place(row));
      if (below.length > 0 && (found.length > 0 || words === "")) this.open.set(row, !closed);
      if (found.length === 0 && !occurs(row, words)) return [];
      return closed ? [row] : [row, ...found];
    });
  }
}

function occurs(row: CallRowWire, words: string): boolean {
  return row.name.toLowerCase().includes(words) || row.name_b.toLowerCase().includes(words);
}
