import { describe, expect, test } from "vitest";
import type { Picture } from "../../src/draw/renderer.ts";
import { around, opening } from "../../src/views/graph/camera.ts";

/** Boxes at these places, nothing changed. */
function picture(places: [number, number][]): Picture {
  const x = Float64Array.from(places, ([at]) => at);
  const y = Float64Array.from(places, ([, at]) => at);
  const bounds = {
    left: Math.min(...x) - 60,
    right: Math.max(...x) + 60,
    top: Math.min(...y) - 16,
    bottom: Math.max(...y) + 16,
  };
  return {
    scene: { count: places.length, state: new Uint8Array(places.length) },
    placement: { x, y },
    bounds,
  } as unknown as Picture;
}

describe("the view of a new graph that is too large to be read whole", () => {
  const column = Array.from({ length: 60 }, (_, i): [number, number] => [0, i * 60]);

  test("has the result in its middle", () => {
    expect(opening(picture(column), 59, 900, 700).x).toBe(0);
  });

  test("is where most boxes are when it has no result", () => {
    const crowd = Array.from({ length: 40 }, (_, i): [number, number] => [
      2000 + (i % 5) * 120,
      Math.floor(i / 5) * 60,
    ]);
    const { x, y, zoom } = opening(picture([...column, ...crowd]), -1, 900, 700);
    const seen = crowd.filter(([at, down]) => Math.abs(at - x) * zoom < 450 && Math.abs(down - y) * zoom < 350);
    expect(zoom).toBeCloseTo(0.86);
    expect(seen).toHaveLength(40);
  });

  test("moves aside where the result stands alone, and keeps it in sight and off the map", () => {
    const crowd = Array.from({ length: 40 }, (_, i): [number, number] => [
      -300 - (i % 5) * 120,
      3540 - Math.floor(i / 5) * 60,
    ]);
    const { x, zoom } = opening(picture([...column, ...crowd]), 59, 900, 700);
    expect(x).toBeLessThan(-100);
    const shown = 450 + (0 - x) * zoom;
    expect(shown).toBeGreaterThan(100);
    expect(shown).toBeLessThan(900 - 250);
  });
});

/** A root at the bottom and rows of boxes above it, the first row so far away. */
function rooted(gap: number, state = 0): Picture {
  const x = [0];
  const y = [0];
  for (let i = 0; i < 400; i++) {
    x.push(((i % 20) - 10) * 150);
    y.push(-gap - Math.floor(i / 20) * 60);
  }
  const scene = { count: x.length, state: new Uint8Array(x.length), width: new Float64Array(x.length).fill(100) };
  scene.state[0] = state;
  const placement = { x: Float64Array.from(x), y: Float64Array.from(y) };
  const bounds = { left: -1560, right: 1410, top: -gap - 1160, bottom: 20 };
  return { scene, placement, bounds } as unknown as Picture;
}

function seen(made: Picture): { zoom: number; boxes: number; root: boolean } {
  const { x, y, zoom } = opening(made, 0, 800, 600);
  const inside = Array.from(
    made.placement.x,
    (own, box) => Math.abs(own - x) < 400 / zoom && Math.abs(made.placement.y[box]! - y) < 300 / zoom,
  );
  return { zoom, boxes: inside.filter(Boolean).length, root: inside[0]! };
}

describe("how near that view is", () => {
  test("is as near as can be read well", () => {
    const { zoom, boxes, root } = seen(rooted(60));
    expect(zoom).toBeCloseTo(0.86);
    expect(boxes).toBeGreaterThan(20);
    expect(root).toBe(true);
  });

  test("goes back where the root would stand alone", () => {
    const { zoom, boxes, root } = seen(rooted(900));
    expect(zoom).toBeLessThan(0.7);
    expect(boxes).toBeGreaterThanOrEqual(8);
    expect(root).toBe(true);
  });

  test("stays near where nothing is gained", () => {
    expect(seen(rooted(5000))).toMatchObject({ boxes: 1, root: true });
    expect(seen(rooted(5000)).zoom).toBeCloseTo(0.86);
  });

  test("is at what changed, near enough to read it", () => {
    expect(seen(rooted(900, 1)).zoom).toBeCloseTo(0.86);
  });
});

describe("the view of a part around a box", () => {
  const column = picture(Array.from({ length: 60 }, (_, i): [number, number] => [0, i * 60]));

  test("stays as it is when the box is in sight, or there is none", () => {
    const from = { x: 0, y: 600, zoom: 0.9 };
    expect(around(column, 8, from, 900, 700)).toEqual(from);
    expect(around(column, -1, from, 900, 700)).toEqual(from);
  });

  test("goes to a box that is outside, and shows all of a part that can be read", () => {
    const far = { x: 4000, y: -3000, zoom: 0.9 };
    expect(around(column, 30, far, 900, 700)).toEqual({ x: 0, y: 1800, zoom: 0.9 });
    const few = picture([0, 60, 120].map((y): [number, number] => [0, y]));
    expect(around(few, 0, far, 900, 700)).toMatchObject({ x: 0, y: 60, zoom: 1 });
  });
});
