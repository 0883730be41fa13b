import { describe, expect, it } from "vitest";
import {
  busyShares,
  hardwareRows,
  occupancyHeight,
  ranges,
  tickStep,
  type RowSource,
} from "../src/layout/hardware_rows.ts";

const LANES: RowSource[] = [
  { label: "Wave 0", group: "waves", events: 5, busy: 0 },
  { label: "Other SIMDs", group: "waves", events: 2, busy: 0 },
  { label: "VALU", group: "units", events: 3, busy: 0.034 },
  { label: "CU 0 SIMD 0", group: "all", events: 1, busy: 0 },
];

describe("rows of a hardware trace", () => {
  it("stand below each other: waves of the traced unit, units, clock, all waves", () => {
    const { rows, height } = hardwareRows(LANES, new Set(), "2.96 GHz", "CU 3, SIMD 1");
    expect(rows.map((row) => row.label)).toEqual([
      "Waves",
      "Wave 0",
      "Other SIMDs",
      "Units",
      "VALU",
      "Clock",
      "All waves",
      "CU 0 SIMD 0",
    ]);
    expect(rows[0]!.note).toBe("CU 3, SIMD 1");
    expect(rows.find((row) => row.label === "VALU")!.note).toBe("3.4%");
    let y = 0;
    for (const row of rows) {
      expect(row.y).toBe(y);
      y += row.height;
    }
    expect(height).toBe(y);
  });

  it("are lower where units and clock would just be out of sight, and as high as ever where that does not help", () => {
    const full = hardwareRows(LANES, new Set(), "2.96 GHz", "");
    const clockEnd = (room: number): number => {
      const clock = hardwareRows(LANES, new Set(), "2.96 GHz", "", room).rows.find((row) => row.label === "Clock")!;
      return clock.y + clock.height;
    };
    const whole = clockEnd(Infinity);
    for (let room = whole - 28; room < whole; room++) expect(clockEnd(room)).toBeLessThanOrEqual(room);
    expect(clockEnd(whole - 29)).toBe(whole);
    expect(hardwareRows(LANES, new Set(), "2.96 GHz", "", whole).rows).toEqual(full.rows);
  });

  it("fold to their head", () => {
    const { rows } = hardwareRows(LANES, new Set(["waves", "all"]), "", "");
    expect(rows.map((row) => row.label)).toEqual(["Waves", "Units", "VALU", "All waves"]);
  });

  it("give many engines the room of a few", () => {
    expect(occupancyHeight(6)).toBe(26);
    expect(occupancyHeight(32)).toBe(5);
    expect(occupancyHeight(12) * 12).toBeLessThanOrEqual(168);
  });
});

describe("narrow events", () => {
  it("keep the share of their pixels, none of it lost", () => {
    const shares = busyShares([0.25, 2, 2.5, 9.5], [4, 1, 2, 8], 8, 10);
    expect([...shares].map((share) => Number(share.toFixed(4)))).toEqual([
      0.375, 0.125, 0.25, 0.125, 0, 0, 0, 0, 0, 0.5,
    ]);
    expect(busyShares([1], [20], 8, 2)[1]).toBe(1);
    expect([...busyShares([-0.5, -3, 7], [8, 8, 8], 8, 2)]).toEqual([0.5, 0]);
  });
});

describe("words and steps", () => {
  it("name runs of numbers", () => {
    expect(ranges([])).toBe("");
    expect(ranges([4])).toBe("4");
    expect(ranges([2, 3, 4, 5])).toBe("2–5");
    expect(ranges([0, 1, 3, 5, 6, 7])).toBe("0, 1, 3, 5–7");
  });

  it("take round steps with room for a label", () => {
    expect(tickStep(1, 90)).toBe(100);
    expect(tickStep(0.37, 90)).toBe(50);
    expect(tickStep(0.001, 90)).toBe(1);
  });
});
