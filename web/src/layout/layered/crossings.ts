import type { Layers } from "./layers.ts";
import type { Order } from "./order.ts";

/** Pairs of edges that cross each other between a row and the next; a line that carries several counts for each. */
export function crossingsBelow(graph: Layers, ordered: Order, row: number): number {
  const size = ordered.start[row + 2]! - ordered.start[row + 1]!;
  const tree = new Float64Array(size + 1);
  let sum = 0;
  let seen = 0;
  for (let i = ordered.start[row]!; i < ordered.start[row + 1]!; i++) {
    const v = ordered.item[i]!;
    const first = graph.down.start[v]!;
    const last = graph.down.start[v + 1]!;
    // lines of one node do not cross each other: all are counted before any is entered
    for (let j = first; j < last; j++)
      sum += graph.load[graph.down.edge[j]!]! * (seen - upTo(ordered.place[graph.down.node[j]!]!));
    for (let j = first; j < last; j++) {
      const load = graph.load[graph.down.edge[j]!]!;
      enter(ordered.place[graph.down.node[j]!]!, load);
      seen += load;
    }
  }
  return sum;

  function upTo(place: number): number {
    let count = 0;
    for (let i = place + 1; i > 0; i -= i & -i) count += tree[i]!;
    return count;
  }
  function enter(place: number, load: number): void {
    for (let i = place + 1; i <= size; i += i & -i) tree[i]! += load;
  }
}
