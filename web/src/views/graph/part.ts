/** Which part of a graph is shown. */
import { fold } from "../../layout/graph/fold.ts";
import type { Folding } from "../../layout/graph/folding.ts";
import { nearby, type Near } from "../../layout/graph/near.ts";
import type { GraphWire } from "../../wire/graph.ts";

/** The folding under which only that part is shown; all of it where there is nothing to begin at. */
export function partOf(
  graph: GraphWire,
  folding: Folding,
  near: Near | null,
  selected: number | null,
  kept: readonly number[],
): Folding {
  const seeds = near === null ? [] : seedsOf(graph, near, selected, kept);
  if (near === null || seeds.length === 0) return { ...folding, only: null };
  const folded = fold(graph, folding.switches, folding.opened);
  return { ...folding, only: nearby(graph, folded, seeds, near), blocks: null };
}

/** Where a part of the graph begins: what is selected, or what the match changed. */
function seedsOf(graph: GraphWire, near: Near, selected: number | null, kept: readonly number[]): readonly number[] {
  if (near.of === "selection") {
    const there = new Set([...graph.identity, ...graph.removed.map(({ identity }) => identity)]);
    return [...(selected === null ? [] : [selected]), ...kept].filter((key) => there.has(key));
  }
  const changed = [...graph.added, ...graph.changed].map((v) => graph.identity[v]!);
  return [...changed, ...graph.removed.map(({ identity }) => identity)];
}
