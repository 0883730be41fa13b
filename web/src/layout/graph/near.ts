/** Part of a graph: what is near a selection, or near what changed. */
import type { GraphWire } from "../../wire/graph.ts";
import { adjacency } from "../layered/adjacency.ts";
import { OUTSIDE, SHOWN, type Folded } from "./fold.ts";

/** How many edges one goes up, to sources, and down, to users, and from where. */
export interface Near {
  of: "selection" | "change";
  up: number;
  down: number;
}

const FURTHEST = 99;

/** "2.1" or "change.1.1"; null for anything else. */
export function parseNear(text: string | undefined): Near | null {
  const found = /^(change\.)?(\d{1,2})\.(\d{1,2})$/.exec(text ?? "");
  if (found === null) return null;
  return { of: found[1] === undefined ? "selection" : "change", up: Number(found[2]), down: Number(found[3]) };
}

export function formatNear({ of, up, down }: Near): string {
  return `${of === "change" ? "change." : ""}${up}.${down}`;
}

/** The same with so many edges more, or fewer, in either direction. */
export function grown(near: Near, up: number, down: number): Near {
  const within = (edges: number): number => Math.max(0, Math.min(FURTHEST, edges));
  return { ...near, up: within(near.up + up), down: within(near.down + down) };
}

/** Identities of what can be reached from some along the edges that are shown; ghosts count with their neighbours. */
export function nearby(graph: GraphWire, folded: Folded, seeds: readonly number[], { up, down }: Near): Set<number> {
  const count = graph.id.length;
  const place = new Map<number, number>();
  graph.identity.forEach((identity, v) => place.set(identity, v));
  const found = new Set<number>(seeds);
  const ghosts = graph.removed.filter(({ identity }) => found.has(identity));
  const start = [...seeds, ...ghosts.flatMap(({ src, users }) => (up + down > 0 ? [...src, ...users] : []))]
    .map((identity) => place.get(identity) ?? -1)
    .filter((v) => v >= 0);
  const walk = (ways: { start: Int32Array; node: Int32Array }, most: number): void => {
    const seen = new Uint8Array(count);
    let edge = [...new Set(start)];
    for (const v of edge) seen[v] = 1;
    for (let level = 0; level <= most && edge.length > 0; level++) {
      const next: number[] = [];
      for (const v of edge) {
        found.add(graph.identity[v]!);
        for (let i = ways.start[v]!; level < most && i < ways.start[v + 1]!; i++) {
          const other = ways.node[i]!;
          if (seen[other] === 1) continue;
          seen[other] = 1;
          next.push(other);
        }
      }
      edge = next;
    }
  };
  walk(adjacency(count, folded.to, folded.from), up);
  walk(adjacency(count, folded.from, folded.to), down);
  return found;
}

/** What is left when only these identities are shown. */
export function narrowed(graph: GraphWire, folded: Folded, only: ReadonlySet<number> | null): Folded {
  if (only === null) return folded;
  const why = folded.why.map((reason, v) => (reason === SHOWN && !only.has(graph.identity[v]!) ? OUTSIDE : reason));
  const edges = [...folded.from.keys()].filter((e) => why[folded.from[e]!] === SHOWN && why[folded.to[e]!] === SHOWN);
  const pick = (column: Int32Array): Int32Array => Int32Array.from(edges, (e) => column[e]!);
  return { why, from: pick(folded.from), to: pick(folded.to), port: pick(folded.port) };
}
