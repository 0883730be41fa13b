import { adjacency } from "../layered/adjacency.ts";

/** A stretch of nodes that is drawn as one box: order[first .. last]. */
export interface Block {
  first: number;
  last: number;
  /** How many blocks in a row looked the same and became this one. */
  alike: number;
}

/** An order of the nodes and the blocks that it was divided into; nodes in no block stand by themselves. */
export interface Grouping {
  order: Int32Array;
  blocks: Block[];
}

const PIECES = 8;
/** Smaller stretches are not worth a box of their own. */
const LEAST = 6;

/**
 * Blocks that leave at most about `target` boxes, with every node of `keep` standing by itself.
 *
 * Blocks are stretches of one order in which sources stand before their users, so the graph of the blocks can have no
 * cycle, whichever way it is divided. They end where few values are alive, which is where layers, kernels and calls of
 * a program meet.
 */
export function group(
  count: number,
  from: Int32Array,
  to: Int32Array,
  target: number,
  keep: Uint8Array,
  kind: Int32Array,
): Grouping {
  const order = sourcesFirst(count, from, to);
  const live = liveAt(count, from, to, order);
  const pieces: Block[] = [];
  const waiting: Block[] = withoutKept(order, keep);
  let boxes = waiting.reduce(
    (sum, block) => sum + (block.last - block.first < LEAST ? block.last - block.first : 1),
    0,
  );
  waiting.sort((a, b) => a.last - a.first - (b.last - b.first));
  while (waiting.length > 0) {
    const block = waiting.pop()!;
    const size = block.last - block.first;
    if (size < LEAST) continue;
    if (boxes + PIECES > target || size < 3 * LEAST) {
      pieces.push(block);
      continue;
    }
    const parts = divide(block, live);
    boxes += parts.length - 1;
    for (const part of parts) insert(waiting, part);
  }
  pieces.sort((a, b) => a.first - b.first);
  return { order, blocks: mergeAlike(pieces, order, kind) };
}

/** Depth first from the nodes that nobody uses: what belongs together stands together, sources first. */
function sourcesFirst(count: number, from: Int32Array, to: Int32Array): Int32Array {
  const sources = adjacency(count, to, from);
  const used = new Uint8Array(count);
  for (const v of from) used[v] = 1;
  const order = new Int32Array(count);
  const state = new Uint8Array(count);
  const next = sources.start.slice(0, count);
  const stack: number[] = [];
  let filled = 0;
  for (let round = 0; round < 2; round++) {
    for (let root = 0; root < count; root++) {
      // the second round is for what only a cycle reaches
      if (state[root] !== 0 || (round === 0 && used[root] === 1)) continue;
      state[root] = 1;
      stack.push(root);
      while (stack.length > 0) {
        const v = stack[stack.length - 1]!;
        if (next[v]! < sources.start[v + 1]!) {
          const source = sources.node[next[v]!++]!;
          if (state[source] === 0) {
            state[source] = 1;
            stack.push(source);
          }
        } else {
          stack.pop();
          order[filled++] = v;
        }
      }
    }
  }
  return order;
}

/** For each place of the order, how many nodes before it are still used at or after it. */
function liveAt(count: number, from: Int32Array, to: Int32Array, order: Int32Array): Int32Array {
  const place = new Int32Array(count);
  for (let i = 0; i < count; i++) place[order[i]!] = i;
  const end = new Int32Array(count);
  for (let e = 0; e < from.length; e++) end[place[from[e]!]!] = Math.max(end[place[from[e]!]!]!, place[to[e]!]!);
  const live = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) {
    if (end[i]! <= i) continue;
    live[i + 1]!++;
    if (end[i]! + 1 <= count) live[end[i]! + 1]!--;
  }
  for (let i = 1; i <= count; i++) live[i]! += live[i - 1]!;
  return live;
}

function withoutKept(order: Int32Array, keep: Uint8Array): Block[] {
  const blocks: Block[] = [];
  let first = 0;
  for (let i = 0; i <= order.length; i++) {
    if (i < order.length && keep[order[i]!] === 0) continue;
    if (i > first) blocks.push({ first, last: i, alike: 1 });
    first = i + 1;
  }
  return blocks;
}

/** Up to PIECES parts, each ending at the narrowest place near where an even division would end. */
function divide(block: Block, live: Int32Array): Block[] {
  const size = block.last - block.first;
  const parts: Block[] = [];
  let first = block.first;
  for (let k = 1; k < PIECES; k++) {
    const middle = block.first + (size * k) / PIECES;
    const reach = size / PIECES / 2;
    let best = -1;
    for (let p = Math.max(first + 1, Math.ceil(middle - reach)); p <= Math.min(block.last - 1, middle + reach); p++) {
      if (best < 0 || live[p]! < live[best]!) best = p;
    }
    if (best <= first) continue;
    parts.push({ first, last: best, alike: 1 });
    first = best;
  }
  parts.push({ first, last: block.last, alike: 1 });
  return parts;
}

function insert(sorted: Block[], block: Block): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.last - sorted[middle]!.first < block.last - block.first) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, block);
}

/** Neighbouring blocks with the same sequence of kinds become one. */
function mergeAlike(blocks: Block[], order: Int32Array, kind: Int32Array): Block[] {
  const merged: Block[] = [];
  let before = 0;
  for (const block of blocks) {
    let hash = block.last - block.first;
    for (let i = block.first; i < block.last; i++) hash = (Math.imul(hash, 31) + kind[order[i]!]!) | 0;
    const last = merged[merged.length - 1];
    if (last !== undefined && last.last === block.first && before === hash) {
      last.last = block.last;
      last.alike++;
    } else merged.push({ ...block });
    before = hash;
  }
  return merged;
}
