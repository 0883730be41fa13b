import { describe, expect, test } from "vitest";
import { FROM_SCHEDULE, isKnown, lineMarks, sameRule } from "../src/data/line_origin.ts";
import type { LinesWire, LineWire } from "../src/wire/code.ts";

function line(number: number, change: Partial<LineWire>): LineWire {
  return {
    line: number,
    kind: "op",
    ops: ["ADD"],
    node: number,
    step: -1,
    stepName: "",
    match: 0,
    rule: null,
    handler: null,
    operations: [],
    row: -1,
    alike: 0,
    ...change,
  };
}

const RULE = { file: "/x/site-packages/tinygrad/uop/symbolic.py", line: 88, source: "(UPat.var(…)" };
const OTHER = { file: "/x/site-packages/tinygrad/codegen/__init__.py", line: 231, source: "(UPat(Ops.REDUCE)" };

const WIRE: LinesWire = {
  context: 1,
  artifact: 2,
  note: null,
  operations: [],
  lines: [
    line(1, { kind: "none", ops: [] }),
    line(2, { kind: "signature", ops: ["PARAM"] }),
    line(3, { step: 7, stepName: "early symbolic", match: 3, rule: RULE, handler: "fold" }),
    line(4, { step: 7, stepName: "early symbolic", match: 4, rule: RULE }),
    line(5, {}),
    line(6, { step: 7, stepName: "early symbolic", match: 9, rule: RULE }),
    line(7, { step: 9, stepName: "remove reduces", match: 1, rule: OTHER }),
    line(8, { kind: "brace", ops: [] }),
  ],
};

describe("what stands beside a line", () => {
  const marks = lineMarks(WIRE);

  test("the rule is named where it changes", () => {
    expect(marks.map((mark) => mark.rule)).toEqual([
      "",
      "",
      "symbolic.py:88",
      "",
      "",
      "symbolic.py:88",
      "codegen/__init__.py:231",
      "",
    ]);
    expect(marks.map((mark) => mark.pass)).toEqual([
      "",
      "",
      "early symbolic",
      "early symbolic",
      FROM_SCHEDULE,
      "early symbolic",
      "remove reduces",
      "",
    ]);
  });

  test("a pass has one colour, two passes have two, and what no pass made has its own", () => {
    const colours = marks.map((mark) => mark.colour);
    expect(colours[0]).toBe(0);
    expect(colours[4]).toBe(12);
    expect(new Set([colours[2], colours[3], colours[5]]).size).toBe(1);
    expect(colours[6]).not.toBe(colours[2]);
    for (const colour of colours) expect(colour).toBeLessThanOrEqual(12);
  });

  test("eleven passes have eleven colours", () => {
    const lines = Array.from({ length: 11 }, (_, at) => line(at + 1, { step: at, stepName: `pass ${at}` }));
    expect(new Set(lineMarks({ ...WIRE, lines }).map((mark) => mark.colour)).size).toBe(11);
  });

  test("the tooltip has match, rule and what it calls", () => {
    expect(marks[2]!.full).toBe(
      "ADD\nearly symbolic › match 3\n/x/site-packages/tinygrad/uop/symbolic.py:88 calls fold",
    );
  });
});

test("lines of one rule belong together, those of none to nobody", () => {
  expect(sameRule(WIRE, 4)).toEqual([3, 4, 6]);
  expect(sameRule(WIRE, 5)).toEqual([]);
  expect(sameRule(WIRE, 99)).toEqual([]);
  expect(WIRE.lines.filter(isKnown).length).toBe(6);
});
