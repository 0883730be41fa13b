import type { Adjacency } from "./adjacency.ts";
import { crossingsBelow } from "./crossings.ts";
import type { Layers } from "./layers.ts";

/** The order of things in their rows: row r holds item[start[r] .. start[r + 1]], place is the inverse. */
export interface Order {
  start: Int32Array;
  item: Int32Array;
  place: Int32Array;
}

/** How much work an order is worth: below two thousand nodes quality counts, above them time. */
export interface Effort {
  sweeps: number;
  transpose: boolean;
}

/** An order with few crossings: walks from either side, deep or broad first, then sweeps; the best result is kept. */
export function order(graph: Layers, effort: Effort): Order {
  let best = improve(graph, walk(graph, true, true), effort);
  if (!effort.transpose) return best.order;
  // as many starts as the size leaves time for; by size, not by the clock, so that a graph always looks the same
  const starts = graph.total < 1600 ? 3 : graph.total < 3200 ? 1 : 0;
  for (const [upwards, deep] of (
    [
      [false, true],
      [false, false],
      [true, false],
    ] as const
  ).slice(0, starts)) {
    if (best.crossings === 0) break;
    const found = improve(graph, walk(graph, upwards, deep), effort);
    if (found.crossings < best.crossings) best = found;
  }
  return best.order;
}

function improve(graph: Layers, current: Order, effort: Effort): { order: Order; crossings: number } {
  if (effort.transpose) transpose(graph, current, 4);
  let best = current.item.slice();
  let least = crossings(graph, current);
  let idle = 0;
  for (let sweep = 0; sweep < effort.sweeps && least > 0 && idle < 6; sweep++) {
    const down = sweep % 2 === 0;
    for (let i = 0; i < graph.rows; i++) {
      const row = down ? i : graph.rows - 1 - i;
      sortRow(current, row, down ? graph.up : graph.down, sweep % 4 >= 2 && effort.transpose, sweep % 8 >= 4);
    }
    if (effort.transpose) transpose(graph, current, 10);
    const count = crossings(graph, current);
    if (count < least) {
      idle = count < least * 0.995 ? 0 : idle + 1;
      least = count;
      best = current.item.slice();
    } else idle++;
  }
  current.item.set(best);
  number(current);
  return { order: current, crossings: least };
}

/** Crossings between all neighbouring rows. */
export function crossings(graph: Layers, ordered: Order): number {
  let sum = 0;
  for (let row = 0; row + 1 < graph.rows; row++) sum += crossingsBelow(graph, ordered, row);
  return sum;
}

/** Rows filled in the order in which a walk from the sinks upwards, or from the sources downwards, reaches things. */
function walk(graph: Layers, upwards: boolean, deep: boolean): Order {
  const near = upwards ? graph.up : graph.down;
  const start = new Int32Array(graph.rows + 1);
  for (let v = 0; v < graph.total; v++) start[graph.rank[v]! + 1]!++;
  for (let row = 0; row < graph.rows; row++) start[row + 1]! += start[row]!;
  const next = start.slice();
  const item = new Int32Array(graph.total);
  const seen = new Uint8Array(graph.total);
  const waiting: number[] = [];
  for (const end of ends(graph, upwards)) {
    if (seen[end] === 1) continue;
    seen[end] = 1;
    waiting.push(end);
    for (let read = 0; read < waiting.length;) {
      const top = deep ? waiting.pop()! : waiting[read++]!;
      item[next[graph.rank[top]!]!++] = top;
      for (let i = near.start[top + 1]! - 1; i >= near.start[top]!; i--) {
        const other = near.node[i]!;
        if (seen[other] === 1) continue;
        seen[other] = 1;
        waiting.push(other);
      }
    }
    waiting.length = 0;
  }
  const place = new Int32Array(graph.total);
  const ordered = { start, item, place };
  number(ordered);
  return ordered;
}

/**
 * Where a walk starts: things without a line downwards, the lowest first, or without one upwards, the highest first.
 */
function ends(graph: Layers, upwards: boolean): number[] {
  const { start } = upwards ? graph.down : graph.up;
  const found: number[] = [];
  for (let v = 0; v < graph.total; v++) if (start[v] === start[v + 1]) found.push(v);
  return found.sort((a, b) => (upwards ? graph.rank[b]! - graph.rank[a]! : graph.rank[a]! - graph.rank[b]!));
}

function number(ordered: Order): void {
  for (let row = 0; row + 1 < ordered.start.length; row++) {
    for (let i = ordered.start[row]!; i < ordered.start[row + 1]!; i++)
      ordered.place[ordered.item[i]!] = i - ordered.start[row]!;
  }
}

const SCALE = 64;
const MANY = 2 ** 21;

/** Sorts one row by the mean (or median) place of each thing's neighbours in the fixed row beside it. */
function sortRow(ordered: Order, row: number, fixed: Adjacency, median: boolean, reverse: boolean): void {
  const first = ordered.start[row]!;
  const size = ordered.start[row + 1]! - first;
  if (size < 2) return;
  const keys = new Float64Array(size);
  let last = 0;
  for (let i = 0; i < size; i++) {
    const v = ordered.item[first + i]!;
    const degree = fixed.start[v + 1]! - fixed.start[v]!;
    // without neighbours there, it stays behind what it stood behind
    if (degree > 0) last = median ? medianOf(ordered, fixed, v) : meanOf(ordered, fixed, v);
    // equal ones change their order in some sweeps: that leads out of dead ends
    keys[i] = Math.round(last * SCALE) * MANY + (reverse ? size - 1 - i : i);
  }
  keys.sort();
  const before = ordered.item.slice(first, first + size);
  for (let i = 0; i < size; i++) {
    const from = keys[i]! % MANY;
    const v = before[reverse ? size - 1 - from : from]!;
    ordered.item[first + i] = v;
    ordered.place[v] = i;
  }
}

function meanOf(ordered: Order, fixed: Adjacency, v: number): number {
  let sum = 0;
  for (let i = fixed.start[v]!; i < fixed.start[v + 1]!; i++) sum += ordered.place[fixed.node[i]!]!;
  return sum / (fixed.start[v + 1]! - fixed.start[v]!);
}

function medianOf(ordered: Order, fixed: Adjacency, v: number): number {
  const places = Array.from(fixed.node.subarray(fixed.start[v], fixed.start[v + 1]), (u) => ordered.place[u]!);
  places.sort((a, b) => a - b);
  const middle = places.length >> 1;
  return places.length % 2 === 1 ? places[middle]! : (places[middle - 1]! + places[middle]!) / 2;
}

/** Swaps neighbours in a row as long as that removes crossings. */
function transpose(graph: Layers, ordered: Order, rounds: number): void {
  const dirty = new Uint8Array(graph.rows).fill(1);
  for (let round = 0; round < rounds; round++) {
    let gained = 0;
    for (let row = 0; row < graph.rows; row++) {
      if (dirty[row] === 0) continue;
      dirty[row] = 0;
      let here = 0;
      for (let i = ordered.start[row]!; i + 1 < ordered.start[row + 1]!; i++) {
        const v = ordered.item[i]!;
        const w = ordered.item[i + 1]!;
        const gain = swapGain(graph.load, ordered, graph.up, v, w) + swapGain(graph.load, ordered, graph.down, v, w);
        if (gain <= 0) continue;
        ordered.item[i] = w;
        ordered.item[i + 1] = v;
        ordered.place[v]!++;
        ordered.place[w]!--;
        here += gain;
      }
      if (here === 0) continue;
      gained += here;
      for (let r = Math.max(0, row - 1); r <= Math.min(graph.rows - 1, row + 1); r++) dirty[r] = 1;
    }
    if (gained === 0) return;
  }
}

/** Crossings that go away when v and w, neighbours in this order, change places. */
function swapGain(load: Float32Array, ordered: Order, fixed: Adjacency, v: number, w: number): number {
  let gain = 0;
  for (let i = fixed.start[v]!; i < fixed.start[v + 1]!; i++) {
    const a = ordered.place[fixed.node[i]!]!;
    const weight = load[fixed.edge[i]!]!;
    for (let j = fixed.start[w]!; j < fixed.start[w + 1]!; j++) {
      const b = ordered.place[fixed.node[j]!]!;
      if (a > b) gain += weight * load[fixed.edge[j]!]!;
      else if (a < b) gain -= weight * load[fixed.edge[j]!]!;
    }
  }
  return gain;
}
