import { describe, expect, it } from "vitest";
import { CallModel, familyOf, formatPath, formatPaths, paletteOf, parsePath, parsePaths } from "../src/data/calls.ts";
import { labelFor } from "../src/draw/flame_draw.ts";
import { boxAt, flameBoxes, flameLevels } from "../src/layout/flame.ts";
import type { CallsWire } from "../src/wire/calls.ts";

/** thread 100: f 90 (g 60 (f 40), h 20), g 10 */
function wire(change: Partial<CallsWire> = {}): CallsWire {
  const names = ["f", "g", "h/x, y"];
  const none = names.map(() => 0);
  return {
    title: "main",
    mode: "tree",
    depth: [0, 1, 2, 3, 2, 1],
    function: [-1, 0, 1, 0, 2, 1],
    count: [0, 1, 1, 4, 2, 1],
    total: [100, 90, 60, 40, 20, 10],
    self: [0, 10, 20, 40, 20, 10],
    width: [100, 90, 60, 40, 20, 10],
    folded: [0, 0, 0, 0, 0, 0],
    path: { function: [], total: [] },
    functions: {
      name: names,
      place: ["", "", ""],
      number: none,
      colour: [3, 4, 5],
      total: none,
      self: [50, 30, 20],
      count: none,
    },
    ...change,
  } as unknown as CallsWire;
}

const NONE = new Set<string>();

describe("a call tree", () => {
  const model = new CallModel(wire());

  it("knows callers and what they call", () => {
    expect([...model.parent]).toEqual([-1, 0, 1, 2, 1, 0]);
    expect([...model.past]).toEqual([6, 5, 4, 4, 5, 6]);
    expect(model.children(1)).toEqual([2, 4]);
  });

  it("finds a node by its names, whatever letters they have", () => {
    for (let node = 1; node < 6; node++) {
      const text = formatPath(model.path(node));
      expect(model.find(parsePath(text))).toBe(node);
    }
    expect(formatPath(model.path(4))).toBe("f/h%2Fx%2C%20y");
    expect(model.find(["f", "nothing"])).toBe(-1);
    expect(parsePath("%E0%A4%A")).toEqual(["%E0%A4%A"]);
    const some = new Set([formatPath(["a,b", "c"]), formatPath(["d"])]);
    expect(parsePaths(formatPaths(some)!)).toEqual(some);
  });

  it("opens what is large, and what the user says", () => {
    expect(model.rows(NONE, NONE)).toEqual([1, 2, 3, 4, 5]);
    expect(model.rows(NONE, new Set(["f"]))).toEqual([1, 5]);
    expect(model.rows(NONE, new Set(["f"]), 3)).toEqual([1, 2, 3, 4, 5]);
    const small = new CallModel(wire({ total: [100, 90, 4, 3, 2, 1] }));
    expect(small.rows(NONE, NONE)).toEqual([1, 2, 4, 5]);
    expect(small.rows(new Set(["f/g"]), NONE)).toEqual([1, 2, 3, 4, 5]);
  });

  it("begins with the function that is focused", () => {
    const part = new CallModel(
      wire({ depth: [0, 1, 2, 1], function: [0, 1, 0, 2], path: { function: [-1, 1], total: [100, 95] } }),
    );
    expect(part.top).toEqual(["g", "f"]);
    expect(part.rows(NONE, NONE)[0]).toBe(0);
    expect(part.path(2)).toEqual(["g", "f", "g", "f"]);
    expect(part.find(["g", "f", "g"])).toBe(1);
    expect(part.find(["f"])).toBe(-1);
  });

  it("says what a call is made of and who calls it", () => {
    expect(model.parts(1).map((part) => [part.name, part.time])).toEqual([
      ["g", 60],
      ["h/x, y", 20],
      ["self", 10],
    ]);
    expect(model.callers(2).map((caller) => [caller.name, caller.time])).toEqual([
      ["f", 20],
      ["main", 10],
    ]);
  });
});

describe("a flame graph", () => {
  it("puts calls side by side within their caller, and leaves out what cannot be seen", () => {
    const boxes = flameBoxes(new CallModel(wire()), 1000);
    expect(boxes.map((box) => [box.node, box.x, box.width, box.level])).toEqual([
      [0, 0, 1000, 0],
      [1, 0, 900, 1],
      [2, 0, 600, 2],
      [3, 0, 400, 3],
      [4, 600, 200, 2],
      [5, 900, 100, 1],
    ]);
    expect(flameLevels(boxes)).toBe(4);
    expect(boxAt(boxes, 650, 2)?.node).toBe(4);
    expect(boxAt(boxes, 450, 3)).toBeNull();
    expect(flameBoxes(new CallModel(wire()), 4).map((box) => box.node)).toEqual([0, 1, 2, 3, 4]);
  });

  it("never cuts a number", () => {
    expect(labelFor("forward", "12.3 ms", 20)).toBe("forward  12.3 ms");
    expect(labelFor("forward", "12.3 ms", 12)).toBe("forward");
    expect(labelFor("forward", "12.3 ms", 5)).toBe("forw…");
    expect(labelFor("forward", "12.3 ms", 3)).toBe("");
  });
});

describe("colours", () => {
  it("are those of families, and stay when others are left out", () => {
    expect(familyOf("f", "/a/tinygrad/uop/ops.py:12")).toBe("uop/ops");
    expect(familyOf("aten::mm", "")).toBe("aten");
    expect(familyOf("step", "")).toBe("");
    const functions = { ...wire().functions, name: ["aten::mm", "c10d::x", "plain"] };
    const all = paletteOf(wire({ functions }));
    expect(all.legend.map(({ name }) => name)).toEqual(["aten", "c10d"]);
    expect(all.colour[2]).toBe(0);
    const fewer = paletteOf(wire({ functions: { ...functions, self: [1, 30, 0] } }));
    expect(fewer.colour).toEqual(all.colour);
  });

  it("are those of the timeline where nothing tells families", () => {
    expect(paletteOf(wire())).toEqual({ colour: [3, 4, 5], legend: [] });
  });
});
