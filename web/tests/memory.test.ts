import { describe, expect, it } from "vitest";
import { byteTicks, clock, elements, highest, planBands } from "../src/layout/memory_bands.ts";
import { homeSpan, sameSpan } from "../src/layout/memory_span.ts";

describe("bands of buffers", () => {
  const lives = {
    alloc: [0, 5, 5, 8],
    free: [100, 20, Infinity, 9],
    offset: [0, 100, 150, 400],
    bytes: [100, 50, 10, 7],
  };

  it("takes unused offsets out and keeps heights and order", () => {
    const plan = planBands(lives, -1, 50);
    expect([...plan.low]).toEqual([0, 100, 150, 160]);
    expect(plan).toMatchObject({ height: 167, folded: 0 });
  });

  it("folds what lives through the window", () => {
    const plan = planBands(lives, 6, 50);
    expect([...plan.low]).toEqual([NaN, 0, NaN, 50]);
    expect(plan).toMatchObject({ height: 57, folded: 2, foldedBytes: 110 });
  });

  it("draws the small ones as one, but for the chosen one", () => {
    const plan = planBands(lives, -1, 50, 20, 3);
    expect(plan.small).toEqual([2]);
    expect([...plan.low]).toEqual([0, 100, NaN, 150]);
    expect(planBands(lives, 6, 50, 20).small).toEqual([3]);
  });

  it("never lets two bands of one time overlap, whatever is folded", () => {
    let seed = 7;
    const next = (below: number): number => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
    for (let round = 0; round < 50; round++) {
      // slots that cannot overlap: each has an offset of its own
      const n = 30;
      const offset = Array.from({ length: n }, (_, i) => i * 40 + next(10));
      const bytes = offset.map(() => 1 + next(30));
      const alloc = offset.map(() => next(50));
      const free = alloc.map((time) => time + next(60));
      const { low } = planBands({ alloc, free, offset, bytes }, 25, 30);
      const kept = offset
        .map((_, i) => i)
        .filter((i) => !Number.isNaN(low[i]!))
        .sort((a, b) => low[a]! - low[b]!);
      for (let k = 1; k < kept.length; k++)
        expect(low[kept[k]!]!).toBeGreaterThanOrEqual(low[kept[k - 1]!]! + bytes[kept[k - 1]!]!);
    }
  });
});

describe("the total", () => {
  it("has a highest point in the window, also when it began before", () => {
    expect(highest([0, 10, 20, 30], [5, 9, 7, 50], 12, 25)).toEqual({ time: 12, value: 9 });
    expect(highest([], [], 0, 10)).toEqual({ time: 0, value: 0 });
  });
});

describe("figures", () => {
  it("labels bytes and moments as exactly as the picture is", () => {
    const ticks = byteTicks(9.7e6, 16.2e6, 400, 56);
    expect(ticks.values.map((value) => ticks.label(value))).toEqual([
      "10 MB",
      "11 MB",
      "12 MB",
      "13 MB",
      "14 MB",
      "15 MB",
      "16 MB",
    ]);
    expect(clock(219_000_000, 400_000, 470e6)).toBe("219.0 ms");
    expect(clock(1_234_567_891, 10, 20_000_000)).toBe("1,234.56789 ms");
    expect(elements(524288, "float")).toBe(131072);
    expect(elements(10, "float")).toBeNull();
    expect(elements(10, "mystery")).toBeNull();
  });
});

describe("where the memory of a device opens", () => {
  it("is what it held, when that is a small part of the trace", () => {
    expect(homeSpan({ first: 2_000_000, last: 3_000_000 }, 100_000_000)).toEqual({ t0: 1_960_000, t1: 3_040_000 });
  });

  it("is all of the trace, when that is not much more", () => {
    expect(homeSpan({ first: 0, last: 100 }, 100)).toEqual({ t0: 0, t1: 100 });
    expect(homeSpan({ first: 20_000, last: 90_000 }, 100_000)).toEqual({ t0: 0, t1: 100_000 });
  });

  it("holds a moment", () => {
    const { t0, t1 } = homeSpan({ first: 5000, last: 5000 }, 100_000);
    expect(t0).toBeLessThan(5000);
    expect(t1).toBeGreaterThan(5000);
  });

  it("is known by its nanoseconds", () => {
    expect(sameSpan({ t0: 0.2, t1: 10 }, { t0: 0, t1: 10.3 })).toBe(true);
    expect(sameSpan({ t0: 0, t1: 10 }, { t0: 0, t1: 11 })).toBe(false);
  });
});
