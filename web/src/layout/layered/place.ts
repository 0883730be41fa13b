import { GAP, GAP_LINE, GAP_LINES } from "./drawing.ts";
import type { Layers } from "./layers.ts";
import type { Order } from "./order.ts";

/** The least distance between the centres of two neighbours in a row, the left one first. */
export type Spacing = (a: number, b: number) => number;

/** Distances that leave room for the boxes, their tags and the gaps between them. */
export function spacingOf(graph: Layers, width: Float64Array, right: Float64Array): Spacing {
  const half = (v: number): number => (v < graph.count ? width[v]! / 2 : 0);
  return (a, b) => {
    const lines = (a < graph.count ? 0 : 1) + (b < graph.count ? 0 : 1);
    const tag = a < graph.count ? right[a]! : 0;
    return half(a) + tag + half(b) + (lines === 0 ? GAP : lines === 1 ? GAP_LINE : GAP_LINES);
  };
}

/** The x of everything: near its neighbours, in order, nothing closer than its width and gap allow. */
export function place(graph: Layers, ordered: Order, space: Spacing, sweeps: number): Float64Array {
  const x = new Float64Array(graph.total);
  const blocks = new Blocks(longestRow(ordered));
  for (let row = 0; row < graph.rows; row++) pack(row);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const ups = sweep < sweeps - 2 && sweep % 2 === 0 ? 1 : sweep < sweeps - 2 ? 0.1 : 1;
    const downs = sweep < sweeps - 2 && sweep % 2 === 1 ? 1 : sweep < sweeps - 2 ? 0.1 : 1;
    for (let i = 0; i < graph.rows; i++) settle(sweep % 2 === 0 ? i : graph.rows - 1 - i, ups, downs);
  }
  return x;

  function pack(row: number): void {
    const first = ordered.start[row]!;
    const last = ordered.start[row + 1]!;
    let at = 0;
    for (let i = first; i < last; i++) {
      if (i > first) at += space(ordered.item[i - 1]!, ordered.item[i]!);
      x[ordered.item[i]!] = at;
    }
    for (let i = first; i < last; i++) x[ordered.item[i]!]! -= at / 2;
  }
  /** Least squares towards the neighbours under the row's order: isotonic regression, violators pooled. */
  function settle(row: number, ups: number, downs: number): void {
    const first = ordered.start[row]!;
    const last = ordered.start[row + 1]!;
    let offset = 0;
    blocks.clear();
    for (let i = first; i < last; i++) {
      const v = ordered.item[i]!;
      if (i > first) offset += space(ordered.item[i - 1]!, v);
      let sum = 0;
      let weight = 0;
      for (let j = graph.up.start[v]!; j < graph.up.start[v + 1]!; j++) {
        const u = graph.up.node[j]!;
        const pull = ups * tie(u, v);
        sum += pull * x[u]!;
        weight += pull;
      }
      for (let j = graph.down.start[v]!; j < graph.down.start[v + 1]!; j++) {
        const u = graph.down.node[j]!;
        const pull = downs * tie(v, u);
        sum += pull * x[u]!;
        weight += pull;
      }
      // a little inertia keeps loose things from running away
      sum += 0.01 * x[v]!;
      weight += 0.01;
      blocks.add(sum / weight - offset, weight);
    }
    blocks.spread((i, value) => (x[ordered.item[first + i]!] = value));
    let from = 0;
    for (let i = first; i < last; i++) {
      if (i > first) from += space(ordered.item[i - 1]!, ordered.item[i]!);
      x[ordered.item[i]!]! += from;
    }
  }
  /** Lines should be straight, most of all between passing places; so should a chain of boxes. */
  function tie(a: number, b: number): number {
    const lines = (a < graph.count ? 0 : 1) + (b < graph.count ? 0 : 1);
    if (lines > 0) return lines === 1 ? 2 : 8;
    const only =
      graph.down.start[a + 1]! - graph.down.start[a]! === 1 && graph.up.start[b + 1]! - graph.up.start[b]! === 1;
    return only ? 4 : 1;
  }
}

function longestRow(ordered: Order): number {
  let most = 1;
  for (let row = 0; row + 1 < ordered.start.length; row++)
    most = Math.max(most, ordered.start[row + 1]! - ordered.start[row]!);
  return most;
}

/** Pools of neighbours that share one value, as pool-adjacent-violators keeps them. */
class Blocks {
  private readonly mean: Float64Array;
  private readonly weight: Float64Array;
  private readonly size: Int32Array;
  private used = 0;

  constructor(most: number) {
    this.mean = new Float64Array(most);
    this.weight = new Float64Array(most);
    this.size = new Int32Array(most);
  }

  clear(): void {
    this.used = 0;
  }

  add(value: number, weight: number): void {
    let size = 1;
    while (this.used > 0 && this.mean[this.used - 1]! >= value) {
      const last = --this.used;
      const sum = this.weight[last]! + weight;
      value = (value * weight + this.mean[last]! * this.weight[last]!) / sum;
      weight = sum;
      size += this.size[last]!;
    }
    this.mean[this.used] = value;
    this.weight[this.used] = weight;
    this.size[this.used++] = size;
  }

  spread(set: (i: number, value: number) => void): void {
    let i = 0;
    for (let block = 0; block < this.used; block++) {
      for (let k = 0; k < this.size[block]!; k++) set(i++, this.mean[block]!);
    }
  }
}
