import type { GraphWire } from "../../wire/graph.ts";
import { adjacency } from "../layered/adjacency.ts";
import { fold, SHOWN, type Folded } from "./fold.ts";
import type { BlockList, Folding } from "./folding.ts";
import { group, type Grouping } from "./groups.ts";

/** Above this many nodes a graph starts in blocks, of which there are then about so many. */
export const MANY = 5000;
export const BLOCKS = 150;
/** A block up to this size opens into its nodes, a larger one into about so many smaller blocks. */
const OPENS = 160;
const PARTS = 24;

/** Puts every shown node into blocks, around the nodes of `keep`, which stand by themselves. */
export function divide(graph: GraphWire, folding: Folding, keep: ReadonlySet<number>, target = BLOCKS): BlockList {
  const folded = fold(graph, folding.switches, folding.opened);
  const inside = Array.from(folded.why, (reason, v) => (reason === SHOWN ? v : -1)).filter((v) => v >= 0);
  const list: BlockList = { of: new Map(), names: new Map() };
  assign(graph, folded, inside, keep, target, list, "");
  return list;
}

/** The same blocks with one of them opened: into its nodes, or into smaller blocks when it is large. */
export function openBlock(graph: GraphWire, folding: Folding, number: number): BlockList {
  const blocks = folding.blocks!;
  const list: BlockList = { of: new Map(blocks.of), names: new Map(blocks.names) };
  const inside: number[] = [];
  graph.identity.forEach((identity, v) => {
    if (list.of.get(identity) === number) inside.push(v);
  });
  for (const v of inside) list.of.delete(graph.identity[v]!);
  if (inside.length > OPENS) {
    const name = list.names.get(number)!.split("\n")[0]!;
    const folded = fold(graph, folding.switches, folding.opened);
    assign(
      graph,
      folded,
      inside.filter((v) => folded.why[v] === SHOWN),
      new Set(),
      PARTS,
      list,
      `${name.replace(/^Blocks? /, "")}.`,
    );
  }
  return list;
}

/** Divides some nodes and enters the blocks into a list. */
function assign(
  graph: GraphWire,
  folded: Folded,
  inside: readonly number[],
  keep: ReadonlySet<number>,
  target: number,
  list: BlockList,
  prefix: string,
): void {
  // prettier-ignore
  const compact = new Int32Array(graph.id.length).fill(-1);
  inside.forEach((v, i) => (compact[v] = i));
  const edges = folded.from
    .map((_, e) => e)
    .filter((e) => compact[folded.from[e]!]! >= 0 && compact[folded.to[e]!]! >= 0);
  const kind = Int32Array.from(
    inside,
    (v) => graph.op[v]! * 64 + Math.min(63, graph.srcStart[v + 1]! - graph.srcStart[v]!),
  );
  const grouping: Grouping = group(
    inside.length,
    edges.map((e) => compact[folded.from[e]!]!),
    edges.map((e) => compact[folded.to[e]!]!),
    target,
    Uint8Array.from(inside, (v) => (keep.has(v) ? 1 : 0)),
    kind,
  );
  let next = Math.max(-1, ...list.names.keys()) + 1;
  let ordinal = 0;
  for (const block of grouping.blocks) {
    const last = ordinal + block.alike - 1;
    const name =
      block.alike > 1
        ? `Blocks ${prefix}${ordinal} to ${prefix}${last}\n${block.alike} alike`
        : `Block ${prefix}${ordinal}`;
    ordinal += block.alike;
    list.names.set(next, name);
    for (let p = block.first; p < block.last; p++) list.of.set(graph.identity[inside[grouping.order[p]!]!]!, next);
    next++;
  }
}

/** The nodes that changed and what is near them, nearest first, at most `most`. */
export function neighbourhood(graph: GraphWire, seeds: readonly number[], most: number): Set<number> {
  const count = graph.id.length;
  const to = new Int32Array(graph.src.length);
  for (let v = 0; v < count; v++) to.fill(v, graph.srcStart[v], graph.srcStart[v + 1]);
  const users = adjacency(count, Int32Array.from(graph.src), to);
  const found = new Set<number>(seeds.slice(0, most));
  const queue = [...found];
  for (let read = 0; read < queue.length && found.size < most; read++) {
    const v = queue[read]!;
    const near = [...graph.src.slice(graph.srcStart[v], graph.srcStart[v + 1])];
    // a range or a parameter is used everywhere: its users are not near each other
    if (users.start[v + 1]! - users.start[v]! <= 8)
      near.push(...users.node.subarray(users.start[v], users.start[v + 1]));
    for (const other of near) {
      if (found.size >= most) break;
      if (!found.has(other)) {
        found.add(other);
        queue.push(other);
      }
    }
  }
  return found;
}

/** True when a graph has more nodes to show than fit a readable picture. */
export function isLarge(graph: GraphWire, folding: Folding): boolean {
  if (graph.id.length <= MANY) return false;
  const { why } = fold(graph, folding.switches, folding.opened);
  let shown = 0;
  for (const reason of why) if (reason === SHOWN) shown++;
  return shown > MANY;
}
