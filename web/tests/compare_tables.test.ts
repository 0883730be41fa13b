import { describe, expect, it } from "vitest";
import { passColumns } from "../src/views/compare/tables.ts";
import type { PassCountWire } from "../src/wire/compare.ts";

const pass = (name: string, ns_a: number, ns_b: number): PassCountWire => ({
  name,
  ns_a,
  ns_b,
  steps_a: 1,
  steps_b: 1,
  matches_a: 0,
  matches_b: 0,
  differs: false,
});

/** long: +10%, 1 ms; short: +900%, 0.9 ms; halved: −50%, 0.5 ms; new: no share */
const PASSES = [pass("long", 10e6, 11e6), pass("short", 1e5, 1e6), pass("halved", 1e6, 5e5), pass("new", 0, 7e5)];

function ordered(id: string): string[] {
  const value = passColumns().find((column) => column.id === id)!.value as (row: PassCountWire) => number;
  return [...PASSES].sort((p, q) => value(q) - value(p)).map((row) => row.name);
}

describe("the passes of a comparison", () => {
  it("are sorted by the shares that Change shows", () => {
    expect(ordered("change")).toEqual(["short", "halved", "long", "new"]);
  });
  it("are sorted by the times that Difference shows", () => {
    expect(ordered("total")).toEqual(["long", "short", "new", "halved"]);
  });
});
