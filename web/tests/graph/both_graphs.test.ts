import { expect, test } from "vitest";
import { placeBoth } from "../../src/layout/both_graphs.ts";
import { BOX } from "../../src/layout/layered/drawing.ts";
import type { BothNodeWire } from "../../src/wire/compare.ts";

const node = (key: string, side: BothNodeWire["side"], ...src: string[]): BothNodeWire => ({
  key,
  side,
  op: key,
  type: "float",
  arg: "",
  src,
  id_a: 0,
  id_b: 0,
});

// one line past three boxes, and a side branch of either side
const NODES = [
  node("load", "both"),
  node("two", "a", "load"),
  node("three", "b", "load"),
  node("mul", "both", "two", "three"),
  node("exp", "both", "mul", "mul"),
  node("add", "both", "exp", "load"),
];

test("lines run around the boxes between their ends", () => {
  const { placed, edges, width, height } = placeBoth(NODES);
  expect(edges).toHaveLength(7); // a source that is read twice has one line
  let checked = 0;
  for (const { from, to, path } of edges) {
    const numbers = path.match(/-?[\d.]+/g)!.map(Number);
    for (let at = 0; at + 7 < numbers.length; at += 6) {
      const [x0, y0, x1, y1, x2, y2, x3, y3] = numbers.slice(at, at + 8);
      for (let t = 0; t <= 1; t += 0.05) {
        const mix = (a: number, b: number, c: number, d: number): number =>
          a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t * t * (1 - t) + d * t ** 3;
        const [x, y] = [mix(x0!, x1!, x2!, x3!), mix(y0!, y1!, y2!, y3!)];
        expect(x >= 0 && x <= width && y >= 0 && y <= height).toBe(true);
        for (const box of placed) {
          if (box.node === from || box.node === to) continue;
          checked++;
          const inside = x > box.x + 1 && x < box.x + box.width - 1 && y > box.y + 1 && y < box.y + BOX - 1;
          expect(inside, `${from.key} to ${to.key} runs through ${box.node.key}`).toBe(false);
        }
      }
    }
  }
  expect(checked).toBeGreaterThan(100);
});

test("boxes of two sides have places of their own", () => {
  const { placed } = placeBoth(NODES);
  for (const one of placed)
    for (const other of placed)
      if (one !== other && one.y === other.y)
        expect(one.x >= other.x + other.width || other.x >= one.x + one.width).toBe(true);
});
