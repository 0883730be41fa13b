import { describe, expect, it } from "vitest";
import { BothCalls, withoutFound } from "../src/data/both_calls.ts";
import type { CallRowWire } from "../src/wire/compare.ts";

function row(name: string, depth: number, total_a: number, name_b = name): CallRowWire {
  return { name, name_b, depth, total_a, total_b: 0, self_a: 0, self_b: 0, calls_a: 1, calls_b: 1 };
}

/** main (load (read), train (compile r_4 → r_8, step (read))), idle */
function tree(): [BothCalls, CallRowWire[]] {
  const rows = [
    row("main", 0, 90),
    row("load", 1, 20),
    row("read", 2, 10),
    row("train", 1, 70),
    row("compile r_4", 2, 30, "compile r_8"),
    row("step", 2, 40),
    row("read", 3, 5),
    row("idle", 0, 5),
  ];
  return [new BothCalls(rows), rows];
}

const none = new Set<string>();
const names = (rows: readonly CallRowWire[]): string => rows.map((one) => one.name).join(", ");

describe("the call trees of both sides", () => {
  it("are shown whole, as they come", () => {
    const [calls, rows] = tree();
    expect(calls.shown("", null, none)).toEqual(rows);
    expect(calls.isOpen(rows[0]!)).toBe(true);
    expect(calls.isOpen(rows[2]!)).toBe(null);
  });

  it("close and open a branch", () => {
    const [calls, rows] = tree();
    calls.shown("", null, none);
    const shut = calls.toggled(rows[3]!);
    expect([...shut]).toEqual(["main/train"]);
    expect(names(calls.shown("", null, shut))).toBe("main, load, read, train, idle");
    expect(calls.isOpen(rows[3]!)).toBe(false);
    expect(calls.toggled(rows[3]!)).toEqual(none);
  });

  it("keep the callers of what a filter finds, by the name of either side", () => {
    const [calls, rows] = tree();
    expect(names(calls.shown("R_8", null, none))).toBe("main, train, compile r_4");
    expect(calls.isOpen(rows[4]!)).toBe(null);
    expect(names(calls.shown("read", null, none))).toBe("main, load, read, train, step, read");
    expect(calls.shown("nowhere", null, none)).toEqual([]);
  });

  it("open a closed branch for a filter, and leave it closed behind it", () => {
    const [calls, rows] = tree();
    calls.shown("", null, none);
    const shut = calls.toggled(rows[0]!);
    expect(names(calls.shown("step", null, shut))).toBe("main, train, step");
    const more = calls.toggled(rows[3]!);
    expect(names(calls.shown("step", null, more))).toBe("main, train");
    expect(names(calls.shown("", null, more))).toBe("main, idle");
    expect(withoutFound(more)).toEqual(shut);
  });

  it("are sorted among what one function calls", () => {
    const [calls] = tree();
    const order = (p: CallRowWire, q: CallRowWire): number => p.total_a - q.total_a;
    expect(names(calls.shown("", order, none))).toBe("idle, main, load, read, train, compile r_4, step, read");
    const back = (p: CallRowWire, q: CallRowWire): number => q.total_a - p.total_a;
    expect(names(calls.shown("", back, none))).toBe("main, train, step, read, compile r_4, load, read, idle");
  });
});
