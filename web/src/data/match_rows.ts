/** The rows of a list of matches: the matches in their order, or their groups with those that are open. */
import type { MatchGroupsWire } from "../wire/capture.ts";

export interface Row {
  /** Number of the match; 0 for a group. */
  match: number;
  /** Place of the group; null for a match. */
  group: number | null;
  open: boolean;
}

export class MatchRows {
  private readonly open = new Set<number>();
  /** Matches, and groups as -1 - place; null when the matches stand in their order. */
  private rows: Int32Array | null = null;

  constructor(
    private readonly total: number,
    readonly groups: MatchGroupsWire | null,
  ) {
    this.arrange();
  }

  get count(): number {
    return this.rows?.length ?? this.total;
  }

  at(index: number): Row {
    const row = this.rows === null ? index + 1 : this.rows[index]!;
    return row > 0
      ? { match: row, group: null, open: false }
      : { match: 0, group: -1 - row, open: this.open.has(-1 - row) };
  }

  /** Where a match stands; its group when that is shut, -1 for none. */
  indexOf(match: number): number {
    if (this.rows === null || match <= 0) return match - 1;
    const at = this.rows.indexOf(match);
    return at >= 0 ? at : this.rows.indexOf(-1 - (this.groups!.of[match - 1] ?? -1));
  }

  /** Opens the group of a match; true when it was shut. */
  reveal(match: number): boolean {
    const group = this.groups?.of[match - 1];
    if (group === undefined || this.open.has(group)) return false;
    this.toggle(group);
    return true;
  }

  toggle(group: number): void {
    if (!this.open.delete(group)) this.open.add(group);
    this.arrange();
  }

  private arrange(): void {
    const { groups } = this;
    if (groups === null) return;
    const inside = new Map<number, number[]>([...this.open].map((group) => [group, []]));
    groups.of.forEach((group, at) => inside.get(group)?.push(at + 1));
    this.rows = Int32Array.from(groups.count.flatMap((_, group) => [-1 - group, ...(inside.get(group) ?? [])]));
  }
}
