import { describe, expect, it } from "vitest";
import { cellText, isNumeric, leadsOf, readHistory, remember, sqlCsv, widthsOf, type Asked } from "../src/data/sql.ts";
import type { SqlCell, SqlWire } from "../src/wire/sql.ts";

function answer(columns: Record<string, SqlCell[]>, types: string[] = []): SqlWire {
  const names = Object.keys(columns);
  return {
    error: null,
    columns: names,
    types: names.map((_, at) => types[at] ?? "VARCHAR"),
    rows: columns[names[0]!]!.length,
    more: false,
    took: 1,
    values: Object.values(columns),
  };
}

const asked = (sql: string, name = ""): Asked => ({ sql, name, note: "1 row", failed: false });

describe("the history of queries", () => {
  it("has each query once, the newest first, with its name", () => {
    const history = remember(remember(remember([], asked("a", "A")), asked("b")), asked("a"));
    expect(history.map((one) => [one.sql, one.name])).toEqual([
      ["a", "A"],
      ["b", ""],
    ]);
  });
  it("forgets what has no name before what has one", () => {
    let history = remember([], asked("kept", "mine"));
    for (let at = 0; at < 200; at++) history = remember(history, asked(`q${at}`));
    expect(history.length).toBe(60);
    expect(history.some((one) => one.sql === "kept")).toBe(true);
    expect(history[0]!.sql).toBe("q199");
  });
  it("survives whatever storage holds", () => {
    for (const text of ["", "{", "null", '[1, {"sql": 3}]', '{"sql": "a"}']) expect(readHistory(text)).toEqual([]);
    expect(readHistory(JSON.stringify([asked("a")]))).toEqual([asked("a")]);
  });
});

describe("an answer", () => {
  it("writes numbers in threes and leaves texts alone", () => {
    expect([1234567, -5, 0.125, 1e-9, null, "1234567", true].map((value) => cellText(value))).toEqual([
      "1,234,567",
      "-5",
      "0.125",
      "1e-9",
      "NULL",
      "1234567",
      "true",
    ]);
    expect([cellText(1099511627776, "id"), cellText(1099511627776, "dur")]).toEqual([
      "1099511627776",
      "1,099,511,627,776",
    ]);
    expect(["BIGINT", "INTEGER", "UBIGINT", "DECIMAL(18,3)", "DOUBLE"].every(isNumeric)).toBe(true);
    expect(["VARCHAR", "BLOB", "BIGINT[]", "INTERVAL"].some(isNumeric)).toBe(false);
  });
  it("becomes CSV that can be read again", () => {
    expect(sqlCsv(answer({ a: ['x,"y"', null], b: [1, 2] }))).toBe('a,b\n"x,""y""",1\n,2\n');
  });
  it("knows where its rows lead by the names of their columns", () => {
    const rows = answer({ track: [3], start: ["17000000000000001"], context: [7], step: [-1], buffer: ["x"] });
    expect(leadsOf(rows, 0)).toEqual({ slice: "track=3&start=17000000000000001", context: "7" });
    expect(leadsOf(answer({ correlation: [0, 9] }), 0)).toEqual({});
    expect(leadsOf(answer({ correlation: [0, 9] }), 1)).toEqual({ slice: "correlation=9" });
    expect(leadsOf(answer({ start: [1] }), 0)).toEqual({});
  });
  it("has columns wide enough for its numbers", () => {
    const [width] = widthsOf(answer({ n: ["1700000000000000000"] }, ["BIGINT"]));
    expect(width).toBeGreaterThanOrEqual(19);
    expect(widthsOf(answer({ t: ["x".repeat(500)] }))).toEqual([48]);
  });
});
