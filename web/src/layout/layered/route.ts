import type { Adjacency } from "./adjacency.ts";
import { CurveWriter, exit } from "./curve.ts";
import { BOX, type Drawing, type Routes } from "./drawing.ts";
import type { Layers } from "./layers.ts";
import type { Order } from "./order.ts";

/** Parallel edges stand this far apart. */
const APART = 12;

/** How near to the middle of a row a line may begin to bend, the softest first; the last clears every box. */
const BENDS = [0, 4, 8, 12];
/** Lines up to this far apart bend together. */
const BESIDE = 60;

/** The curve of every edge, through the passing places of its source's line. */
export function route(
  drawing: Drawing,
  graph: Layers,
  ordered: Order,
  x: Float64Array,
  y: Float64Array,
  pitch: number,
): Routes {
  const { from, to, width } = drawing;
  const writer = new CurveWriter(from.length);
  const twins = twinsOf(drawing);
  const way: number[] = [];
  for (let e = 0; e < from.length; e++) {
    way.length = 0;
    const a = from[e]!;
    const b = to[e]!;
    const span = graph.rank[b]! - graph.rank[a]!;
    const shift = twins[e]! * APART;
    if (span < 1 || span > graph.longest) {
      // turned-round edges of a cycle are rare: they get stubs like the long ones
      writer.write(e, way);
      continue;
    }
    const first = graph.line[a]!;
    const next = span === 1 ? b : first;
    const last = span === 1 ? a : first + span - 2;
    way.push(exit(x[a]!, y[a]!, width[a]!, x[next]!, y[a]! + pitch) + shift, y[a]! + BOX / 2);
    for (let i = 0; i < span - 1; i++) {
      const dot = first + i;
      const row = y[a]! + pitch * (i + 1);
      const came = x[dot]! - (i === 0 ? x[a]! : x[dot - 1]!);
      const goes = (i === span - 2 ? x[b]! : x[dot + 1]!) - x[dot]!;
      if (Math.abs(came) < 0.5 && Math.abs(goes) < 0.5) continue;
      // straight down between its neighbours in the row as far as they are near, so that no box is cut
      const enter = bend(dot, -came, graph.up);
      const leave = bend(dot, goes, graph.down);
      way.push(x[dot]! + shift, row - enter);
      if (enter + leave > 0) way.push(x[dot]! + shift, row + leave);
    }
    way.push(exit(x[b]!, y[b]!, width[b]!, x[last]!, y[b]! - pitch) + shift, y[b]! - BOX / 2);
    writer.write(e, way);
  }
  return writer.finish();

  /** Where a line may leave its straight way: where it clears the boxes, and with the lines that it runs beside. */
  function bend(dot: number, by: number, towards: Adjacency): number {
    const row = graph.rank[dot]!;
    const step = by < 0 ? -1 : 1;
    let at = alone(dot, by);
    for (
      let i = ordered.start[row]! + ordered.place[dot]! + step;
      i >= ordered.start[row]! && i < ordered.start[row + 1]!;
      i += step
    ) {
      const other = ordered.item[i]!;
      if (other < graph.count || Math.abs(x[other]! - x[dot]!) > BESIDE) break;
      const turn = x[towards.node[towards.start[other]!]!]! - x[other]!;
      if (turn * step <= 0.5) break;
      at = Math.max(at, alone(other, turn));
    }
    return at;
  }
  /** The softest bend with which a line that goes `by` to the side clears the next box, from the middle of the row. */
  function alone(dot: number, by: number): number {
    const room = clearance(dot, by);
    for (const at of BENDS) {
      const t = (BOX / 2 + 3 - at) / (pitch - 2 * at);
      if (Math.abs(by) * t * t * (3 - 2 * t) < room) return at;
    }
    return BENDS[BENDS.length - 1]!;
  }
  /** Free space beside a passing place, up to the next box in the direction of `by`. */
  function clearance(dot: number, by: number): number {
    const row = graph.rank[dot]!;
    const step = by < 0 ? -1 : 1;
    for (let i = ordered.start[row]! + ordered.place[dot]! + step; ; i += step) {
      if (i < ordered.start[row]! || i >= ordered.start[row + 1]!) return Infinity;
      const other = ordered.item[i]!;
      if (other >= graph.count) continue;
      return Math.abs(x[other]! - x[dot]!) - width[other]! / 2 - (step < 0 ? drawing.right[other]! : 0) - 4;
    }
  }
}

/** For edges between the same two boxes, how many steps each is moved aside: -0.5 and 0.5 for two of them. */
export function twinsOf(drawing: Drawing): Float32Array {
  const { count, from, to } = drawing;
  const seen = new Map<number, number[]>();
  const shift = new Float32Array(from.length);
  for (let e = 0; e < from.length; e++) {
    const key = from[e]! * count + to[e]!;
    const group = seen.get(key);
    if (group) group.push(e);
    else seen.set(key, [e]);
  }
  for (const group of seen.values()) {
    if (group.length > 1) group.forEach((e, i) => (shift[e] = Math.max(-3, Math.min(3, i - (group.length - 1) / 2))));
  }
  return shift;
}
