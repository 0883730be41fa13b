/** Compressed neighbour lists of a graph given as two columns. */
export interface Adjacency {
  start: Int32Array;
  /** Neighbours of v: node[start[v] .. start[v + 1]]. */
  node: Int32Array;
  /** The edge that each entry came from. */
  edge: Int32Array;
}

/** Neighbour lists keyed by `key`, listing `value`, in the order of the edges. */
export function adjacency(count: number, key: Int32Array, value: Int32Array): Adjacency {
  const start = new Int32Array(count + 1);
  for (let e = 0; e < key.length; e++) start[key[e]! + 1]!++;
  for (let v = 0; v < count; v++) start[v + 1]! += start[v]!;
  const next = start.slice(0, count);
  const node = new Int32Array(key.length);
  const edge = new Int32Array(key.length);
  for (let e = 0; e < key.length; e++) {
    const place = next[key[e]!]!++;
    node[place] = value[e]!;
    edge[place] = e;
  }
  return { start, node, edge };
}

/** Nodes with every source before its users; where a cycle makes that impossible, the least number goes first. */
export function topologicalOrder(count: number, from: Int32Array, to: Int32Array): Int32Array {
  const users = adjacency(count, from, to);
  const waiting = new Int32Array(count);
  for (let e = 0; e < to.length; e++) waiting[to[e]!]!++;
  const order = new Int32Array(count);
  const done = new Uint8Array(count);
  let filled = 0;
  let read = 0;
  let stuck = 0;
  for (let v = 0; v < count; v++) if (waiting[v] === 0) put(v);
  for (;;) {
    while (read < filled) {
      const v = order[read++]!;
      for (let i = users.start[v]!; i < users.start[v + 1]!; i++) {
        const user = users.node[i]!;
        if (--waiting[user]! === 0 && done[user] === 0) put(user);
      }
    }
    if (filled === count) return order;
    while (done[stuck] === 1) stuck++;
    put(stuck);
  }
  function put(v: number): void {
    done[v] = 1;
    order[filled++] = v;
  }
}
