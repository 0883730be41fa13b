/** Places and lines for the nodes of two graphs at once: what both have is at the same place in either drawing. */
import type { BothNodeWire } from "../wire/compare.ts";
import { BOX } from "./layered/drawing.ts";
import { layered } from "./layered/layered.ts";

export interface Placed {
  node: BothNodeWire;
  /** Its left upper corner. */
  x: number;
  y: number;
  width: number;
}

export interface BothEdge {
  from: BothNodeWire;
  to: BothNodeWire;
  /** As an SVG path. */
  path: string;
}

export interface BothPlaces {
  placed: Placed[];
  edges: BothEdge[];
  width: number;
  height: number;
}

export const LETTER = 6.7;
const LEAST_W = 92;
const MOST_W = 188;
const PAD = 24;
/** For what the drawing has around it: badges at the corners of boxes, outlines. */
const EDGE = 12;

/** One layered drawing of all nodes: what only one side has leaves its place empty in the other's. */
export function placeBoth(nodes: readonly BothNodeWire[]): BothPlaces {
  const number = new Map(nodes.map((node, at) => [node.key, at]));
  const from: number[] = [];
  const to: number[] = [];
  nodes.forEach((node, at) => {
    for (const key of new Set(node.src)) {
      const source = number.get(key);
      if (source === undefined) continue;
      from.push(source);
      to.push(at);
    }
  });
  const widths = Float64Array.from(nodes, widthOf);
  const found = layered({
    count: nodes.length,
    width: widths,
    right: new Float64Array(nodes.length),
    from: Int32Array.from(from),
    to: Int32Array.from(to),
  });
  const { start, points } = found.routes;
  const sides = nodes.flatMap((_, at) => [found.x[at]! - widths[at]! / 2, found.x[at]! + widths[at]! / 2]);
  // lines run around boxes, so they may reach further
  for (let at = 0; at < points.length; at += 2) sides.push(points[at]!);
  const left = least(sides) - EDGE;
  const top = least(found.y) - BOX / 2 - EDGE;
  return {
    placed: nodes.map((node, at) => ({
      node,
      x: found.x[at]! - widths[at]! / 2 - left,
      y: found.y[at]! - BOX / 2 - top,
      width: widths[at]!,
    })),
    edges: from.map((source, e) => ({
      from: nodes[source]!,
      to: nodes[to[e]!]!,
      path: pathOf(points.subarray(start[e], start[e + 1]), left, top),
    })),
    width: -least(sides.map((x) => -x)) + EDGE - left,
    height: -least(found.y.map((y) => -y)) + BOX / 2 + EDGE - top,
  };
}

function least(values: Iterable<number>): number {
  let found = Infinity;
  for (const value of values) found = Math.min(found, value);
  return Number.isFinite(found) ? found : 0;
}

function widthOf(node: BothNodeWire): number {
  const letters = Math.max(node.op.length + (node.arg === "" ? 0 : 1 + node.arg.length), 0.92 * node.type.length);
  return Math.max(LEAST_W, Math.min(MOST_W, PAD + LETTER * letters));
}

/** A curve as an SVG path; empty for an edge without one. */
function pathOf(points: Float32Array, left: number, top: number): string {
  const numbers = Array.from(points, (value, at) => (value - (at % 2 === 0 ? left : top)).toFixed(1));
  return numbers.length < 8 ? "" : `M${numbers.slice(0, 2).join(" ")}C${numbers.slice(2).join(" ")}`;
}
