import { CurveWriter, exit } from "./curve.ts";
import { BOX, ROW, type Drawing, type Routes } from "./drawing.ts";
import type { Layers } from "./layers.ts";

/** Parallel edges stand this far apart. */
const APART = 12;

/** The curve of every edge, through the passing places of its source's line. */
export function route(drawing: Drawing, graph: Layers, x: Float64Array, y: Float64Array): Routes {
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
    way.push(exit(x[a]!, y[a]!, width[a]!, x[next]!, y[a]! + ROW) + shift, y[a]! + BOX / 2);
    for (let i = 0; i < span - 1; i++) {
      const dot = first + i;
      const row = y[a]! + ROW * (i + 1);
      // straight down between its neighbours in the row, so that no box is cut
      way.push(x[dot]! + shift, row - BOX / 2 + 4, x[dot]! + shift, row + BOX / 2 - 4);
    }
    way.push(exit(x[b]!, y[b]!, width[b]!, x[last]!, y[b]! - ROW) + shift, y[b]! - BOX / 2);
    writer.write(e, way);
  }
  return writer.finish();
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
