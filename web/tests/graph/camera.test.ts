import { describe, expect, test } from "vitest";
import type { Picture } from "../../src/draw/renderer.ts";
import { opening } from "../../src/views/graph/camera.ts";

/** Boxes at these places, nothing changed. */
function picture(places: [number, number][]): Picture {
  const x = Float64Array.from(places, ([at]) => at);
  const y = Float64Array.from(places, ([, at]) => at);
  const bounds = { left: Math.min(...x) - 60, right: Math.max(...x) + 60, top: Math.min(...y) - 16, bottom: Math.max(...y) + 16 };
  return { scene: { count: places.length, state: new Uint8Array(places.length) }, placement: { x, y }, bounds } as unknown as Picture;
}

describe("the view of a new graph that is too large to be read whole", () => {
  const column = Array.from({ length: 60 }, (_, i): [number, number] => [0, i * 60]);

  test("has the result in its middle", () => {
    expect(opening(picture(column), 59, 900, 700).x).toBe(0);
  });

  test("moves aside where the result stands alone, and keeps it in sight and off the map", () => {
    const crowd = Array.from({ length: 40 }, (_, i): [number, number] => [-300 - (i % 5) * 120, 3540 - Math.floor(i / 5) * 60]);
    const { x, zoom } = opening(picture([...column, ...crowd]), 59, 900, 700);
    expect(x).toBeLessThan(-100);
    const shown = 450 + (0 - x) * zoom;
    expect(shown).toBeGreaterThan(100);
    expect(shown).toBeLessThan(900 - 250);
  });
});
