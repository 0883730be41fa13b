/** Places for the nodes of two graphs at once: what both have stands at the same place in either drawing. */
import type { BothNodeWire } from "../wire/compare.ts";

export interface Placed {
  node: BothNodeWire;
  x: number;
  y: number;
}

export interface BothPlaces {
  placed: Map<string, Placed>;
  width: number;
  height: number;
}

export const BOX_W = 132;
export const BOX_H = 32;
const GAP_X = 14;
const GAP_Y = 18;
const EDGE = 10;

/** Sources above users, one rank a row; within a row in the order of what they read, so that edges cross little. */
export function placeBoth(nodes: readonly BothNodeWire[]): BothPlaces {
  const rank = new Map<string, number>();
  for (const node of nodes) {
    const above = node.src.map((key) => rank.get(key) ?? -1);
    rank.set(node.key, 1 + Math.max(-1, ...above));
  }
  // what nothing reads but one far below stands close to it
  for (const node of [...nodes].reverse()) {
    const users = nodes.filter((other) => other.src.includes(node.key));
    if (users.length > 0 && node.src.length === 0)
      rank.set(node.key, Math.min(...users.map((user) => rank.get(user.key)!)) - 1);
  }
  const rows: BothNodeWire[][] = [];
  for (const node of nodes) (rows[rank.get(node.key)!] ??= []).push(node);
  const column = new Map<string, number>();
  for (const row of rows) {
    if (!row) continue;
    const wanted = (node: BothNodeWire): number => {
      const known = node.src.map((key) => column.get(key)).filter((value) => value !== undefined);
      return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : column.size;
    };
    const order = row.map((node, at) => ({ node, at, want: wanted(node) }));
    order.sort((p, q) => p.want - q.want || p.at - q.at);
    order.forEach(({ node }, at) => column.set(node.key, at));
  }
  const widest = Math.max(1, ...rows.map((row) => row?.length ?? 0));
  const width = 2 * EDGE + widest * BOX_W + (widest - 1) * GAP_X;
  const placed = new Map<string, Placed>();
  for (const node of nodes) {
    const row = rows[rank.get(node.key)!]!;
    const taken = row.length * BOX_W + (row.length - 1) * GAP_X;
    const x = (width - taken) / 2 + column.get(node.key)! * (BOX_W + GAP_X);
    placed.set(node.key, { node, x, y: EDGE + rank.get(node.key)! * (BOX_H + GAP_Y) });
  }
  return { placed, width, height: 2 * EDGE + rows.length * (BOX_H + GAP_Y) - GAP_Y };
}
