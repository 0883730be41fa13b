import { describe, expect, it } from "vitest";
import { laneOf, reasonShares, runAt, stallRows } from "../src/layout/stall_rows.ts";
import type { Stalls } from "../src/wire/stalls.ts";

const lane = (sm: number, wave: number, samples: number, runs: number) => ({ gpc: 0, tpc: 2, sm, wave, samples, runs });
const LANES = [lane(0, 1, 3, 2), lane(0, 4, 1, 1), lane(1, 0, 1, 1)];
const STALLS: Stalls = {
  head: {
    samples: 5,
    shown: 5,
    lost: 0,
    cycles: 32,
    reasons: ["OTHER", "SYNC"],
    totals: [
      [1, 4],
      [0, 1],
    ],
    lanes: LANES,
    places: [],
    sites: 0,
  },
  from: Int32Array.of(0, 2, 3, 4),
  start: Float64Array.of(0, 96, 64, 0),
  end: Float64Array.of(64, 128, 96, 32),
  pc: new Float64Array(4),
  reason: Int32Array.of(1, 0, 1, 1),
  active: new Int32Array(4),
};

describe("rows of stall samples", () => {
  it("are multiprocessors with their waves, which a folded one hides", () => {
    const names = (folded: string[]): string[] => stallRows(LANES, new Set(folded)).rows.map((row) => row.label);
    expect(names([])).toEqual(["GPC:0 TPC:2 SM:0", "WAVE:1", "WAVE:4", "GPC:0 TPC:2 SM:1", "WAVE:0"]);
    expect(names(["GPC:0 TPC:2 SM:0"])).toEqual(["GPC:0 TPC:2 SM:0", "GPC:0 TPC:2 SM:1", "WAVE:0"]);
    const { rows, height } = stallRows(LANES, new Set());
    expect(rows[0]!.note).toBe("4 samples");
    expect(rows.at(-1)!.y + rows.at(-1)!.height).toBe(height);
  });

  it("give each pixel the cycles of each reason, what goes over its edge to both", () => {
    expect([...reasonShares(STALLS, { first: 0, last: 2 }, 0, 128, 2)]).toEqual([0, 64, 32, 32]);
    expect([...reasonShares(STALLS, { first: 0, last: 1 }, 48, 112, 1)]).toEqual([16, 16]);
  });

  it("are found at a cycle, or near it", () => {
    const unit = { first: 0, last: 2 };
    expect(runAt(STALLS, unit, 64, 4)).toBe(2);
    expect(runAt(STALLS, { first: 0, last: 1 }, 70, 10)).toBe(0);
    expect(runAt(STALLS, { first: 0, last: 1 }, 80, 10)).toBe(-1);
    expect([0, 1, 2, 3].map((run) => laneOf(STALLS, run))).toEqual([0, 0, 1, 2]);
  });
});
