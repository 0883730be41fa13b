/** Call trees out of slices, as `query/calls` makes them: who called whom, total and self time. */
import { firstAbove } from "./buckets.ts";
import type { Lanes } from "./lanes.ts";
import { isInside, type Interval } from "./tables.ts";

/** How far up a caller is looked for when a slice does not lie within the one above it. */
const ROWS_UP = 32;
/** More than there are functions. */
const FUNCTIONS = 2 ** 26;

interface Level {
  start: number[];
  end: number[];
  node: number[];
  above: Level | null;
}

/** Nodes, callers before those that they call; the first is the thread itself. */
export class CallTree {
  readonly parent: number[] = [-1];
  readonly function: number[] = [-1];
  readonly depth: number[] = [0];
  readonly count: number[] = [0];
  readonly total: number[] = [0];
  readonly self: number[] = [0];
  readonly shortest: number[] = [Infinity];
  readonly longest: number[] = [-1];
  readonly row: number[] = [-1];
  readonly context: number[] = [-1];
  readonly inverted: boolean;
  /** Of a searched tree: which nodes are there only because they call what was looked for. */
  outer: boolean[] | null = null;
  private readonly nodes = new Map<number, number>();

  constructor(inverted = false) {
    this.inverted = inverted;
  }

  get size(): number {
    return this.parent.length;
  }

  node(parent: number, called: number): number {
    const key = parent * FUNCTIONS + called;
    let found = this.nodes.get(key);
    if (found === undefined) {
      found = this.size;
      this.nodes.set(key, found);
      this.parent.push(parent);
      this.function.push(called);
      this.depth.push(this.depth[parent]! + 1);
      for (const column of [this.count, this.total, this.self]) column.push(0);
      for (const column of [this.longest, this.row, this.context]) column.push(-1);
      this.shortest.push(Infinity);
    }
    return found;
  }

  add(node: number, dur: number, row: number, context: number): void {
    this.count[node]!++;
    this.total[node]! += dur;
    this.self[node]! += dur;
    if (dur < this.shortest[node]!) this.shortest[node] = dur;
    if (dur > this.longest[node]!) {
      this.longest[node] = dur;
      this.row[node] = row;
    }
    if (context > this.context[node]!) this.context[node] = context;
  }

  /** Adds the sums of a node of another tree. */
  merge(node: number, other: CallTree, from: number, total: number): void {
    this.count[node]! += other.count[from]!;
    this.total[node]! += total;
    this.self[node]! += other.self[from]!;
    this.shortest[node] = Math.min(this.shortest[node]!, other.shortest[from]!);
    if (other.longest[from]! > this.longest[node]!) {
      this.longest[node] = other.longest[from]!;
      this.row[node] = other.row[from]!;
    }
    this.context[node] = Math.max(this.context[node]!, other.context[from]!);
  }

  /** Whether a node is called, however indirectly, by its own function. */
  recursive(node: number): boolean {
    for (let above = this.parent[node]!; above > 0; above = this.parent[above]!)
      if (this.function[above] === this.function[node]) return true;
    return false;
  }

  /** How wide a flame graph draws each node: its own time and that of all below it. */
  widths(): number[] {
    const width = [...this.self];
    if (this.inverted) return width;
    for (const node of this.byDepth().reverse()) if (node > 0) width[this.parent[node]!]! += width[node]!;
    return width;
  }

  /** All nodes, callers first. */
  byDepth(): number[] {
    return this.parent.map((_, node) => node).sort((a, b) => this.depth[a]! - this.depth[b]!);
  }

  /** All nodes as a tree is read: each before those that it calls, the longest of them first. */
  order(): number[] {
    const weight = this.inverted ? this.self : this.total;
    const inner = new Map<number, number[]>();
    for (let node = 1; node < this.size; node++) {
      const own = inner.get(this.parent[node]!);
      if (own) own.push(node);
      else inner.set(this.parent[node]!, [node]);
    }
    const found: number[] = [];
    const stack = [0];
    while (stack.length > 0) {
      const node = stack.pop()!;
      found.push(node);
      const own = inner.get(node) ?? [];
      own.sort((a, b) => weight[b]! - weight[a]! || this.function[a]! - this.function[b]!);
      for (let at = own.length - 1; at >= 0; at--) stack.push(own[at]!);
    }
    return found;
  }
}

/** The calls on these tracks; `functionOf` says what a slice is a call of. */
export function callTree(
  lanes: Lanes,
  tracks: readonly number[],
  interval: Interval,
  functionOf: (row: number) => number,
): CallTree {
  const tree = new CallTree();
  const wanted = new Set(tracks);
  let track = -1;
  let above: Level | null = null;
  for (const lane of lanes.lanes) {
    if (!wanted.has(lane.track)) continue;
    if (lane.track !== track) above = null;
    track = lane.track;
    const level: Level = { start: [], end: [], node: [], above };
    for (let row = lane.first; row < lane.past; row++) {
      const [start, end] = [lanes.start[row]!, lanes.end[row]!];
      if (!isInside(start, end, interval)) continue;
      const begin = interval ? Math.max(start, interval[0]) : start;
      const until = interval ? Math.min(end, interval[1]) : end;
      const node = place(tree, above, begin, until, functionOf(row));
      tree.add(node, until - begin, row, lanes.context[row] ?? -1);
      level.start.push(begin);
      level.end.push(until);
      level.node.push(node);
    }
    if (level.start.length > 0 || above === null) above = level;
  }
  for (let node = 1; node < tree.size; node++) {
    tree.total[0]! += tree.self[node]!;
    tree.count[0]! += tree.count[node]!;
  }
  return tree;
}

/** The node of a slice, and the time that it takes from those above it. */
function place(tree: CallTree, above: Level | null, start: number, end: number, called: number): number {
  const caller = callerIn(above, start, end);
  if (caller >= 0) {
    tree.self[caller]! -= end - start;
    return tree.node(caller, called);
  }
  // it merely overlaps those above it, and stands beside them
  let parent = 0;
  let level = above?.above ?? null;
  for (let up = 0; level !== null && up < ROWS_UP; up++, level = level.above) {
    const far = callerIn(level, start, end);
    if (far < 0) continue;
    parent = far;
    break;
  }
  take(tree, above, start, end);
  return tree.node(parent, called);
}

function callerIn(level: Level | null, start: number, end: number): number {
  if (level === null) return -1;
  const at = firstAbove(level.start, start, false) - 1;
  return at >= 0 && level.end[at]! >= end ? level.node[at]! : -1;
}

/** Takes time from the lowest slices that ran until now. */
function take(tree: CallTree, level: Level | null, start: number, end: number): void {
  if (level === null || end <= start) return;
  let from = start;
  for (let at = firstAbove(level.end, start, false); at < level.start.length && level.start[at]! < end; at++) {
    const begin = Math.max(start, level.start[at]!);
    const past = Math.min(end, level.end[at]!);
    tree.self[level.node[at]!]! -= past - begin;
    take(tree, level.above, from, begin);
    from = past;
  }
  take(tree, level.above, from, end);
}

/** What each function took over all places that call it: a tree of one level; and the length of all its slices. */
export function byFunction(tree: CallTree): { sums: CallTree; length: number[] } {
  const sums = new CallTree();
  const length = [0];
  for (let node = 1; node < tree.size; node++) {
    const own = sums.node(0, tree.function[node]!);
    sums.merge(own, tree, node, tree.recursive(node) ? 0 : tree.total[node]!);
    length[own] = (length[own] ?? 0) + tree.total[node]!;
  }
  return { sums, length };
}

/** Functions by their own time, and under each those that called it, with their part of that time. */
export function invertedTree(tree: CallTree): CallTree {
  const found = new CallTree(true);
  for (let node = 1; node < tree.size; node++) {
    if (tree.outer?.[node]) continue;
    const total = tree.recursive(node) ? 0 : tree.total[node]!;
    let at = 0;
    for (let above = node; above > 0; above = tree.parent[above]!) {
      at = found.node(at, tree.function[above]!);
      found.merge(at, tree, node, total);
    }
  }
  found.count[0] = tree.count[0]!;
  found.total[0] = found.self[0] = tree.total[0]!;
  return found;
}

/** What calls functions that fit, and what they call; callers count with that part only. */
export function searchedTree(tree: CallTree, fits: (called: number) => boolean): CallTree {
  const order = tree.byDepth();
  const below: boolean[] = [false];
  for (const node of order)
    if (node > 0) below[node] = (below[tree.parent[node]!] ?? false) || fits(tree.function[node]!);
  const keep = [...below];
  const total = tree.total.map((time, node) => (below[node] ? time : 0));
  for (const node of [...order].reverse()) {
    if (node === 0) continue;
    const parent = tree.parent[node]!;
    if (keep[node]) keep[parent] = true;
    if (!below[parent]) total[parent]! += total[node]!;
  }
  const found = new CallTree();
  const number = [0];
  found.outer = [true];
  for (const node of order) {
    if (node > 0 && !keep[node]) continue;
    const own = node === 0 ? 0 : found.node(number[tree.parent[node]!]!, tree.function[node]!);
    number[node] = own;
    found.outer[own] = !below[node];
    found.merge(own, tree, node, total[node]!);
    if (!below[node]) found.self[own] = 0;
  }
  return found;
}
