import type { Layers } from "./layers.ts";
import type { Order } from "./order.ts";
import type { Spacing } from "./place.ts";

/**
 * Makes things stand exactly under each other and lines run straight, without changing any order.
 *
 * Least squares leave everything a little aside; a reader sees a chain of boxes as one only when it is one line. So
 * each thing moves to the median of its neighbours as far as its own neighbours in the row allow, and each line takes
 * as few
 * bends as the free space of its rows allows.
 */
export function straighten(graph: Layers, ordered: Order, x: Float64Array, spacing: Spacing, rounds: number): void {
  for (let round = 0; round < rounds; round++) {
    for (let row = 0; row < graph.rows; row++) snapRow(round % 2 === 0 ? row : graph.rows - 1 - row);
    for (let v = 0; v < graph.count; v++) if (graph.line[v]! >= 0) pull(v);
  }

  function low(v: number): number {
    const at = ordered.start[graph.rank[v]!]! + ordered.place[v]!;
    if (ordered.place[v] === 0) return -Infinity;
    const other = ordered.item[at - 1]!;
    return x[other]! + spacing(other, v);
  }
  function high(v: number): number {
    const at = ordered.start[graph.rank[v]!]! + ordered.place[v]!;
    if (at + 1 === ordered.start[graph.rank[v]! + 1]!) return Infinity;
    const other = ordered.item[at + 1]!;
    return x[other]! - spacing(v, other);
  }
  function snapRow(row: number): void {
    for (let i = ordered.start[row]!; i < ordered.start[row + 1]!; i++) {
      const v = ordered.item[i]!;
      if (v >= graph.count) continue;
      const wish = median(v);
      x[v] = Math.max(low(v), Math.min(high(v), wish));
    }
  }
  /** The median of the neighbours' x; where a range is as good, the box above in a chain, else v's own. */
  function median(v: number): number {
    const upper = graph.up.start[v + 1]! - graph.up.start[v]! === 1 ? graph.up.node[graph.up.start[v]!]! : -1;
    const chained = upper >= 0 && upper < graph.count && graph.down.start[upper + 1]! - graph.down.start[upper]! === 1;
    if (chained && graph.down.start[v + 1]! - graph.down.start[v]! <= 1) return x[upper]!;
    const near: number[] = [];
    for (let i = graph.up.start[v]!; i < graph.up.start[v + 1]!; i++) near.push(x[graph.up.node[i]!]!);
    for (let i = graph.down.start[v]!; i < graph.down.start[v + 1]!; i++) near.push(x[graph.down.node[i]!]!);
    if (near.length === 0) return x[v]!;
    near.sort((a, b) => a - b);
    const middle = near.length >> 1;
    const above = near[middle]!;
    const below = near.length % 2 === 1 ? above : near[middle - 1]!;
    return Math.max(below, Math.min(above, x[v]!));
  }
  /** Straight stretches of a node's line: each as long as the free space of its rows has a common x. */
  function pull(v: number): void {
    const first = graph.line[v]!;
    let last = first;
    while (last + 1 < graph.total && graph.owner[last + 1] === v) last++;
    const end = endOf(last);
    let from = first;
    let before = x[v]!;
    while (from <= last) {
      let left = low(from);
      let right = high(from);
      let to = from;
      while (to < last) {
        const next = Math.max(left, low(to + 1));
        const most = Math.min(right, high(to + 1));
        if (next > most) break;
        left = next;
        right = most;
        to++;
      }
      const wish = to === last ? end : before;
      const at = Math.max(left, Math.min(right, wish));
      for (let dot = from; dot <= to; dot++) x[dot] = at;
      before = at;
      from = to + 1;
    }
  }
  /** Where the users at the end of a line are. */
  function endOf(dot: number): number {
    let sum = 0;
    const from = graph.down.start[dot]!;
    const to = graph.down.start[dot + 1]!;
    for (let i = from; i < to; i++) sum += x[graph.down.node[i]!]!;
    return to > from ? sum / (to - from) : x[dot]!;
  }
}
