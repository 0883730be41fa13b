import { adjacency, type Adjacency } from "./adjacency.ts";
import { LONGEST } from "./drawing.ts";
import type { Dag } from "./ranks.ts";

/**
 * The graph with one row after the other: nodes, and the places where lines pass through a row.
 *
 * All edges of a node share one line down the rows, from which each user takes its branch in the row above it:
 * a line of its own for each edge would make 66 million places in a graph of 54 thousand nodes.
 *
 *      u          row 3
 *      |\
 *      o  v1      row 4     o: a passing place, numbered from `count` upwards
 *      |\
 *      o  v2      row 5
 *      |
 *      v3         row 6
 */
export interface Layers {
  /** Nodes of the graph; what is numbered from here on is a passing place. */
  count: number;
  total: number;
  rank: Int32Array;
  rows: number;
  /** For a passing place, the node that its line starts at; a node is its own. */
  owner: Int32Array;
  /** First passing place of a node's line (row rank + 1), or -1. */
  line: Int32Array;
  up: Adjacency;
  down: Adjacency;
  /** How many edges of the graph each piece of line carries, by the pieces' numbers in up.edge and down.edge. */
  load: Float32Array;
  /** Edges that no line was made for. */
  longest: number;
}

/** Rows with passing places; the limit for routed edges shrinks while there would be too many places. */
export function layers(dag: Dag, rank: Int32Array): Layers {
  const { count, from, to } = dag;
  let longest = LONGEST;
  let reach = reaches(longest);
  while (longest > 4 && reach.total > 6 * count + 4000) reach = reaches((longest = longest >> 1));
  const total = count + reach.total;
  const row = new Int32Array(total);
  row.set(rank);
  const owner = new Int32Array(total);
  const line = new Int32Array(count).fill(-1);
  const upper: number[] = [];
  const lower: number[] = [];
  let next = count;
  let rows = 0;
  for (let v = 0; v < count; v++) {
    owner[v] = v;
    rows = Math.max(rows, rank[v]! + 1);
    for (let i = 1; i < reach.far[v]!; i++) {
      if (i === 1) line[v] = next;
      upper.push(i === 1 ? v : next - 1);
      lower.push(next);
      owner[next] = v;
      row[next++] = rank[v]! + i;
    }
  }
  const pieces = upper.length;
  for (let e = 0; e < from.length; e++) {
    const span = rank[to[e]!]! - rank[from[e]!]!;
    if (span > longest) continue;
    upper.push(span === 1 ? from[e]! : line[from[e]!]! + span - 2);
    lower.push(to[e]!);
  }
  const load = new Float32Array(upper.length).fill(1).fill(0, 0, pieces);
  // from the last place of each line upwards: a piece carries what leaves the place below it
  const out = new Float32Array(total);
  for (let i = pieces; i < upper.length; i++) out[upper[i]!]!++;
  for (let i = pieces - 1; i >= 0; i--) {
    load[i] = out[lower[i]!]!;
    if (upper[i]! >= count) out[upper[i]!]! += load[i]!;
  }
  const a = Int32Array.from(upper);
  const b = Int32Array.from(lower);
  return {
    count,
    total,
    rank: row,
    rows,
    owner,
    line,
    load,
    up: adjacency(total, b, a),
    down: adjacency(total, a, b),
    longest,
  };

  function reaches(limit: number): { far: Int32Array; total: number } {
    const far = new Int32Array(count).fill(1);
    for (let e = 0; e < from.length; e++) {
      const span = rank[to[e]!]! - rank[from[e]!]!;
      if (span <= limit) far[from[e]!] = Math.max(far[from[e]!]!, span);
    }
    let sum = 0;
    for (const span of far) sum += span - 1;
    return { far, total: sum };
  }
}
