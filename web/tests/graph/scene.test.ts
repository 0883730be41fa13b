import { describe, expect, test } from "vitest";
import { kernel, Maker, rewrite, schedule } from "../../dev/samples.ts";
import { BLOCKS, divide, isLarge, neighbourhood, openBlock } from "../../src/layout/graph/blocks.ts";
import { topologicalOrder } from "../../src/layout/layered/adjacency.ts";
import { ADDED, CHANGED, scene } from "../../src/layout/graph/scene.ts";
import { folding } from "./helpers.ts";

/** PARAM and a call whose body is one node, an index and a constant under a SINK. */
function small(): ReturnType<Maker["graph"]> {
  const m = new Maker();
  const body = m.add("SQRT", [m.add("PARAM", [], "ParamArg(7, dtypes.float)")]);
  const data = m.add(
    "PARAM",
    [m.add("CONST", [], "256", "weakint")],
    "ParamArg(0, dtypes.float, device='NULL')",
    "float",
    "(256)",
  );
  const range = m.add("RANGE", [m.add("CONST", [], "64", "weakint")], "r3", "weakint");
  const at = m.add("INDEX", [data, m.add("MUL", [range, m.add("CONST", [], "4", "weakint")], "", "weakint")]);
  return m.graph(m.add("SINK", [m.add("CALL", [body, at], "", "void")], "", "void"));
}

const names = (graph: ReturnType<typeof small>, switches = {}): string[] =>
  scene(graph, folding(switches))
    .labels.map(({ name, arg }) => (arg === "" ? name : `${name} ${arg}`))
    .sort();

describe("scene", () => {
  test("constants stand in labels, the call's body and SINK are hidden, and the words say so", () => {
    expect(names(small())).toEqual(["CALL", "INDEX", "MUL × 4", "PARAM data0", "RANGE r3 64"]);
    const drawn = scene(small(), folding());
    expect([drawn.shown, drawn.total, drawn.hidden]).toEqual([5, 11, "3 constants, 2 in calls and SINK"]);
  });

  test("each switch shows what it names", () => {
    expect(names(small(), { indexing: false })).toEqual(["CALL", "INDEX", "PARAM data0"]);
    expect(names(small(), { calls: true })).toContain("SQRT");
    expect(names(small(), { sink: true })).toContain("SINK");
    expect(names(small(), { constants: true }).filter((name) => name.startsWith("CONST"))).toHaveLength(3);
  });

  test("opening one node shows its constants alone; closing one folds what only it uses", () => {
    const graph = small();
    const mul = graph.identity[graph.op.findIndex((code) => graph.ops[code] === "MUL")]!;
    const opened = folding();
    opened.opened.add(mul);
    expect(scene(graph, opened).labels.filter(({ name }) => name === "CONST")).toEqual([
      { name: "CONST", arg: "4", type: "weakint ()" },
    ]);
    const closed = folding();
    closed.closed.add(graph.identity[graph.op.findIndex((code) => graph.ops[code] === "INDEX")]!);
    const drawn = scene(graph, closed);
    expect(drawn.labels.map(({ name }) => name).sort()).toEqual(["CALL", "INDEX"]);
    expect(Math.max(...drawn.members)).toBe(4);
  });

  test("states of nodes and edges follow the match", () => {
    const graph = rewrite(kernel(2, 6), 5);
    const drawn = scene(graph, folding());
    const count = (state: number): number => drawn.state.filter((value) => value === state).length;
    expect(count(ADDED)).toBe(graph.added.length);
    expect(count(CHANGED)).toBe(graph.changed.length);
    drawn.edgeState.forEach((state, e) => {
      const touches = drawn.state[drawn.from[e]!] === ADDED || drawn.state[drawn.to[e]!] === ADDED;
      if (state === ADDED) expect(touches).toBe(true);
    });
  });

  test("names are data: markup, quotes and ten thousand characters stay short text", () => {
    const m = new Maker();
    const nasty = `<img src=x onerror=alert(1)>"'\u202e${"x".repeat(10_000)}`;
    const drawn = scene(m.graph(m.add("ADD", [m.add(nasty, [], nasty, nasty, nasty, nasty)])), folding());
    for (const { name, arg, type } of drawn.labels)
      for (const text of [name, arg, type]) expect(text.length).toBeLessThan(60);
    expect(Math.max(...drawn.width)).toBeLessThan(700);
  });
});

describe("blocks", () => {
  const graph = schedule(12_010);

  test("a large graph starts with at most two thousand boxes, and says how many nodes are hidden", () => {
    const fold = folding();
    expect(isLarge(graph, fold)).toBe(true);
    fold.blocks = divide(graph, fold, new Set());
    const drawn = scene(graph, fold);
    expect(drawn.count).toBeLessThanOrEqual(2000);
    expect(drawn.count).toBeGreaterThan(BLOCKS / 4);
    const inside = drawn.members.reduce((sum, members) => sum + members, 0);
    const shown = scene(graph, folding()).count;
    expect(inside).toBe(shown);
    expect(drawn.hidden).toMatch(/^[\d,]+ in blocks/);
  });

  test("the graph of the blocks has no cycle, also after one was opened", () => {
    const fold = folding();
    fold.blocks = divide(graph, fold, new Set([200, 5000, 9000]));
    for (let round = 0; round < 3; round++) {
      const drawn = scene(graph, fold);
      const place = new Int32Array(drawn.count);
      topologicalOrder(drawn.count, drawn.from, drawn.to).forEach((box, i) => (place[box] = i));
      for (let e = 0; e < drawn.from.length; e++) expect(place[drawn.from[e]!]!).toBeLessThan(place[drawn.to[e]!]!);
      const largest = drawn.members.indexOf(Math.max(...drawn.members));
      fold.blocks = openBlock(graph, fold, drawn.block[largest]!);
      expect(scene(graph, fold).count).toBeGreaterThan(drawn.count);
    }
  });

  test("what changed stands by itself with its neighbours", () => {
    const next = rewrite(graph, 2);
    const fold = folding();
    const near = neighbourhood(next, [...next.added, ...next.changed], 60);
    expect(near.size).toBe(60);
    fold.blocks = divide(next, fold, near);
    const drawn = scene(next, fold);
    for (const v of next.added) expect(drawn.members[drawn.boxOf[v]!]).toBe(1);
    expect(drawn.count).toBeLessThan(600);
  });
});
