import { describe, expect, test } from "vitest";
import { kernel, random, schedule } from "../../dev/samples.ts";
import type { Drawing } from "../../src/layout/layered/drawing.ts";
import { layered } from "../../src/layout/layered/layered.ts";
import { layers } from "../../src/layout/layered/layers.ts";
import { crossings, order } from "../../src/layout/layered/order.ts";
import { ranks, simplify } from "../../src/layout/layered/ranks.ts";
import { scene } from "../../src/layout/graph/scene.ts";
import { expectNoOverlap, folding } from "./helpers.ts";

function randomDrawing(seed: number, count: number): Drawing {
  const next = random(seed);
  const from: number[] = [];
  const to: number[] = [];
  for (let v = 1; v < count; v++) {
    for (let k = 0; k < 1 + next() * 2.5; k++) {
      const near = next() < 0.8 ? Math.max(0, v - 1 - Math.floor(next() * 9)) : Math.floor(next() * v);
      from.push(near);
      to.push(v);
    }
  }
  const width = Float64Array.from({ length: count }, () => 92 + Math.floor(next() * 200));
  const right = Float64Array.from({ length: count }, () => (next() < 0.1 ? 60 : 0));
  return { count, width, right, from: Int32Array.from(from), to: Int32Array.from(to) };
}

function asScene(drawing: Drawing): Parameters<typeof expectNoOverlap>[0] {
  const labels = Array.from({ length: drawing.count }, (_, i) => ({ name: String(i), arg: "", type: "" }));
  return { ...drawing, key: Float64Array.from({ length: drawing.count }, (_, i) => i), labels } as Parameters<
    typeof expectNoOverlap
  >[0];
}

describe("layered", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "random graph %i: no overlap, sources above users, curves end at their boxes",
    (seed) => {
      const drawing = randomDrawing(seed, 3 + seed * 37);
      const { x, y, routes } = layered(drawing);
      expectNoOverlap(asScene(drawing), { x, y, routes });
      for (let e = 0; e < drawing.from.length; e++) {
        const [a, b] = [drawing.from[e]!, drawing.to[e]!];
        expect(y[a]!).toBeLessThan(y[b]!);
        const points = routes.points.subarray(routes.start[e], routes.start[e + 1]);
        if (points.length === 0) continue;
        expect(Math.abs(points[0]! - x[a]!)).toBeLessThanOrEqual(drawing.width[a]! / 2 + 40);
        expect(points[1]!).toBeCloseTo(y[a]! + 16, 3);
        expect(points[points.length - 1]!).toBeCloseTo(y[b]! - 16, 3);
        expect(points.every(Number.isFinite)).toBe(true);
      }
    },
  );

  test("the same graph gets the same picture", () => {
    const drawing = randomDrawing(11, 120);
    expect(layered(drawing)).toEqual(layered(drawing));
  });

  test("parts that no edge joins fill a picture about as wide as a window instead of one long row", () => {
    const one = randomDrawing(5, 40);
    const pairs = 80;
    const count = one.count + 2 * pairs;
    const drawing: Drawing = {
      count,
      width: Float64Array.from({ length: count }, (_, i) => one.width[i] ?? 140),
      right: Float64Array.from({ length: count }, (_, i) => one.right[i] ?? 0),
      from: Int32Array.from([...one.from, ...Array.from({ length: pairs }, (_, i) => one.count + 2 * i)]),
      to: Int32Array.from([...one.to, ...Array.from({ length: pairs }, (_, i) => one.count + 2 * i + 1)]),
    };
    const placement = layered(drawing);
    expectNoOverlap(asScene(drawing), placement);
    const { x, y, routes } = placement;
    const wide = Math.max(...x) - Math.min(...x);
    const high = Math.max(...y) - Math.min(...y);
    expect(wide / high).toBeGreaterThan(0.4);
    expect(wide / high).toBeLessThan(3);
    for (let e = 0; e < drawing.from.length; e++) {
      const points = routes.points.subarray(routes.start[e], routes.start[e + 1]);
      if (points.length > 0) expect(points[points.length - 1]!).toBeCloseTo(y[drawing.to[e]!]! - 16, 2);
    }
    for (const place of y) expect(place % 50).toBe(0); // whole rows: what later matches bring must find room
  });

  test("cycles, loops, lonely boxes and nothing at all are drawn", () => {
    const loop = {
      count: 4,
      width: new Float64Array(4).fill(100),
      right: new Float64Array(4),
      from: Int32Array.of(0, 1, 2, 2),
      to: Int32Array.of(1, 2, 0, 2),
    };
    const placement = layered(loop);
    expectNoOverlap(asScene(loop), placement);
    const none = {
      count: 0,
      width: new Float64Array(0),
      right: new Float64Array(0),
      from: new Int32Array(0),
      to: new Int32Array(0),
    };
    expect(layered(none).x.length).toBe(0);
  });

  // A bound a little above what was measured when the layout was last changed. On the drawn curves Graphviz dot 2.43
  // stood at 13.7, 9.4 and 0.21 crossings an edge for these three, this layout at 4.6, 11.9 and 0.17 (edges without a
  // curve left out).
  test.each([
    ["a kernel of 500", kernel(2, 24), 5.5],
    ["a kernel of 1,400", kernel(4, 24), 14],
    ["a schedule of 1,000", schedule(1000), 0.25],
  ])("%s has few crossings", (_name, graph, most) => {
    const drawn = scene(graph, folding());
    const dag = simplify(drawn.count, drawn.from, drawn.to);
    const graphLayers = layers(dag, ranks(dag, 24));
    const ordered = order(graphLayers, { sweeps: 40, transpose: true });
    expect(crossings(graphLayers, ordered) / dag.from.length).toBeLessThan(most);
  });

  test("time grows with the graph, not with its square", () => {
    const time = (size: number): number => {
      const drawn = scene(schedule(size), folding());
      const began = performance.now();
      layered(drawn);
      return performance.now() - began;
    };
    time(3000);
    const grown = (): number => time(32_000) / time(8000); // each of the two has what else the machine does
    expect(Math.min(grown(), grown(), grown())).toBeLessThan(12);
  });
});

describe("crossings", () => {
  test("are counted as a brute force counts them", () => {
    const drawing = randomDrawing(5, 60);
    const dag = simplify(drawing.count, drawing.from, drawing.to);
    const graph = layers(dag, ranks(dag, 8));
    const ordered = order(graph, { sweeps: 2, transpose: false });
    let brute = 0;
    const lines: [number, number, number, number][] = [];
    for (let v = 0; v < graph.total; v++) {
      for (let i = graph.down.start[v]!; i < graph.down.start[v + 1]!; i++) {
        lines.push([
          graph.rank[v]!,
          ordered.place[v]!,
          ordered.place[graph.down.node[i]!]!,
          graph.load[graph.down.edge[i]!]!,
        ]);
      }
    }
    for (let i = 0; i < lines.length; i++) {
      for (let j = i + 1; j < lines.length; j++) {
        const [a, b] = [lines[i]!, lines[j]!];
        if (a[0] === b[0] && (a[1] - b[1]) * (a[2] - b[2]) < 0) brute += a[3] * b[3];
      }
    }
    expect(crossings(graph, ordered)).toBe(brute);
  });
});
