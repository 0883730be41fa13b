import { describe, expect, it } from "vitest";
import { label, listing, removedLines } from "../src/data/listing.ts";
import { callersOf, drawable, isNamed } from "../src/layout/instructions.ts";
import { LISTS, type GraphWire, type LooksWire } from "../src/wire/graph.ts";

/** Looks that say the op and nothing else. */
function looksOf(ops: string[]): LooksWire {
  const every = <T>(value: T): T[] => ops.map(() => value);
  return {
    name: [...ops],
    arg: every(""),
    type: every(""),
    family: every(12),
    bodies: every(0),
    space: every(""),
    wholeArg: every(null),
    wholeType: every(null),
  };
}

/** main lists x, f and out, and something dead; f calls a body of one instruction. */
function graph(): GraphWire {
  const ops = ["parameter", "neg", "computation", "fusion", "output", "exp"];
  const names = ["x", "n", "body", "fusion.1", "dead", "out", "main"];
  const src = [[], [], [1], [0, 2], [0], [3], [0, 3, 4, 5]];
  const srcStart = [0];
  for (const list of src) srcStart.push(srcStart.at(-1)! + list.length);
  const none = names.map(() => -1);
  return {
    step: 7, match: 1, matches: 1, root: 6, id: [10, 11, 12, 13, 14, 15, 16], identity: [0, 1, 2, 3, 4, 5, 6],
    op: [0, 1, 2, 3, 5, 4, 2], ops, dtype: none, dtypes: [], arg: none, args: [], shape: none, shapes: [], tag: none, tags: [],
    srcStart, src: src.flat(), added: [1, 2, 3], changed: [5], error: null, name: [0, 1, 2, 3, 4, 5, 6], names,
    kind: "rule", graphs: [6], look: [0, 1, 2, 3, 5, 4, 2], looks: looksOf(ops), inside: none, insides: [], fold: [0, 0, LISTS, 0, 0, 0, LISTS],
    removed: [{ id: 9, identity: 9, op: "neg", dtype: "", arg: "", shape: "", tag: null, src: [0], users: [5], name: "a", body: -1, look: 1, fold: 0 },
      { id: 8, identity: 8, op: "abs", dtype: "", arg: "", shape: "", tag: null, src: [], users: [], name: "b", body: 77, look: 1, fold: 0 }],
  }; // prettier-ignore
}
const words = (wire: GraphWire): string[] =>
  wire.look.map((look) => `${wire.looks.name[look]} ${wire.looks.arg[look]}`.trimEnd());
const sources = (wire: GraphWire, v: number): number[] => wire.src.slice(wire.srcStart[v], wire.srcStart[v + 1]);

describe("named instructions as a drawing", () => {
  it("are called by their names, with the op where the name does not say it", () => {
    const wire = drawable(graph(), false, -5);
    expect(words(wire)).toEqual(["x parameter", "fusion.1", "dead exp", "out output", "main graph"]);
    const whole = wire.look.map((look) => wire.looks.wholeArg[look]);
    expect(whole).toEqual(["parameter", "fusion", "exp", "output", "graph"]);
    expect(wire.fold).toEqual([0, 0, 0, 0, 4]);
    expect(wire.step).toBe(-5);
    expect(wire.removed.map(({ look }) => [wire.looks.name[look], wire.looks.arg[look]])).toEqual([["a", "neg"]]);
  });

  it("hang on the graph only where nobody reads them", () => {
    const wire = drawable(graph(), false, -5);
    expect(sources(wire, 4)).toEqual([2, 3]);
    expect([wire.added, wire.changed, wire.root]).toEqual([[1], [3], 4]);
  });

  it("have the bodies of calls when they are asked for", () => {
    const wire = drawable(graph(), true, -5);
    expect(words(wire)).toContain("body graph");
    expect(wire.id).toHaveLength(7);
    expect(sources(wire, 3)).toEqual([0, 2]);
    expect(wire.removed).toHaveLength(2);
  });

  it("have the body of one call when that is asked for, and say which have one", () => {
    const closed = drawable(graph(), new Set(), -5);
    expect(closed.bodied).toEqual([0, 1, 0, 0, 0]);
    const open = drawable(graph(), new Set([3]), -5);
    expect([open.id, open.bodied]).toEqual([drawable(graph(), true, -5).id, [0, 0, 0, 2, 0, 0, 0]]);
    expect(callersOf(graph(), 1)).toEqual([3]);
    expect(callersOf(graph(), 5)).toEqual([]);
  });

  it("are known by having names", () => {
    expect(isNamed(graph())).toBe(true);
    expect(isNamed({ ...graph(), names: [] })).toBe(false);
  });
});

describe("named instructions as text", () => {
  it("are lines of each graph, with the names of what they read", () => {
    expect(listing(graph()).map(({ text }) => text)).toEqual([
      "graph main",
      "  x = parameter()",
      "  fusion.1 = fusion(x, body)",
      "  dead = exp(x)",
      "  out = output(fusion.1)",
      "graph body",
      "  n = neg()",
    ]);
  });

  it("have their name in front where one is named alone", () => {
    expect(label(graph(), 4)).toBe("dead  exp");
  });

  it("say what those that went had read", () => {
    expect(removedLines(graph())).toEqual(["a = neg(x)", "b = abs()"]);
    const list = { ...graph().removed[0]!, op: "computation", name: "old", fold: LISTS };
    expect(removedLines({ ...graph(), removed: [list] })).toEqual(["graph old"]);
  });
});
