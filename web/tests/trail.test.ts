import { describe, expect, test } from "vitest";
import { stationsOf, Trail } from "../src/state/trail.ts";

const walk = (trail: Trail, ...matches: number[]): Trail => {
  for (const match of matches) trail.add({ step: 7, match });
  return trail;
};

const begun = (match: number): Trail => {
  const trail = new Trail();
  trail.begin({ step: 7, match });
  return trail;
};

describe("the way to a layout", () => {
  test("a graph that was laid out by itself has none", () => {
    expect(begun(5).format(7)).toBeNull();
    expect(walk(begun(5), 6, 5).format(7)).toBeNull(); // there and back
  });

  test("keys are one leg, a jump begins another", () => {
    const trail = walk(begun(0), 1, 2, 3, 57, 58);
    expect(trail.format(7)).toBe("0-3,57-58");
    expect(trail.length).toBe(6);
    expect(stationsOf("0-3,57-58", 7).map((at) => at.match)).toEqual([0, 1, 2, 3, 57, 58]);
    expect(walk(trail, 57, 56).format(7)).toBe("0-3,57-56");
    expect(stationsOf("5-3", 7).map((at) => at.match)).toEqual([5, 4, 3]);
  });

  test("other passes are named", () => {
    const trail = walk(begun(0), 1);
    trail.add({ step: 8, match: 0 });
    expect(trail.format(8)).toBe("7.0-1,0");
    expect(stationsOf("7.0-1,0", 8)).toEqual([
      { step: 7, match: 0 },
      { step: 7, match: 1 },
      { step: 8, match: 0 },
    ]);
  });

  test("what is too long is not told, and what is no way is none", () => {
    const trail = begun(0);
    for (let match = 1; match <= 400; match++) trail.add({ step: 7, match });
    expect(trail.format(7)).toBeNull();
    expect(trail.isFull({ step: 7, match: 900 })).toBe(true);
    expect(trail.isFull({ step: 7, match: 401 })).toBe(false); // a key never lays out anew
    for (const text of ["", "x", "1-", "0-999999999", "1,,2"]) expect(stationsOf(text, 7)).toEqual([]);
  });
});
