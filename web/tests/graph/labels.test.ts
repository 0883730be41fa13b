import { describe, expect, test } from "vitest";
import { Maker } from "../../dev/samples.ts";
import { fullLabel, isCall, labelOf, textOf } from "../../src/layout/graph/labels.ts";
import { scene } from "../../src/layout/graph/scene.ts";
import { folding } from "./helpers.ts";

function product(): ReturnType<Maker["graph"]> {
  const m = new Maker();
  return m.graph(m.add("MUL", [m.add("PARAM", [], "data 0"), m.constant(4)], "", "float", "(4)", "'mergeable'"));
}

describe("labels", () => {
  test("come with the graph: constants stand in them while they are folded", () => {
    const graph = product();
    expect(labelOf(graph, graph.root, true)).toEqual({ name: "MUL", arg: "× 4", type: "float (4)" });
    expect(labelOf(graph, graph.root, false).arg).toBe("");
    const opened = folding();
    opened.opened.add(graph.identity[graph.root]!);
    expect(scene(graph, opened).labels.map(({ arg }) => arg)).toEqual(["data 0", "4", ""]);
  });

  test("a constant that one opened user shows stays in the labels of the others", () => {
    const m = new Maker();
    const four = m.constant(4);
    const [a, b] = [m.add("MUL", [m.add("PARAM", [], "a"), four]), m.add("ADD", [m.add("PARAM", [], "b"), four])];
    const graph = m.graph(m.add("SUB", [a, b]));
    const opened = folding();
    opened.opened.add(graph.identity[graph.op.findIndex((code) => graph.ops[code] === "MUL")]!);
    const drawn = scene(graph, opened);
    const box = (name: string): number => drawn.labels.findIndex((label) => label.name === name);
    expect([box("MUL"), box("ADD")].map((at) => drawn.labels[at]!.arg)).toEqual(["", "4"]);
    expect([...drawn.to].filter((_, e) => drawn.from[e] === box("CONST"))).toEqual([box("MUL")]);
  });

  test("what the graph around a node says stands in its full label and its box", () => {
    const graph = product();
    const around = graph.id.map((_, v) => (v === graph.root ? 0 : -1));
    Object.assign(graph, { space: around, spaces: ["REG"], open: around, opens: ["0,1"] });
    Object.assign(graph, { index: around, indexes: ["[r1*8+r0]"] });
    expect(fullLabel(graph, graph.look[graph.root]!, textOf(graph, graph.root), graph.root)).toBe(
      "MUL\nfloat (4)\ntag 'mergeable'\n[r1*8+r0]\nopen ranges 0,1\naddress space REG",
    );
    expect(scene(graph, folding()).spaces).toEqual(["", "REG"]);
  });

  test("the full label has everything; a look says what is a call and what colour it has", () => {
    const graph = product();
    graph.looks.space[graph.look[graph.root]!] = "LOCAL";
    graph.looks.wholeType[graph.look[graph.root]!] = "float (4) and more";
    expect(fullLabel(graph, graph.look[graph.root]!, textOf(graph, graph.root))).toBe(
      "MUL\nfloat (4) and more\ntag 'mergeable'\naddress space LOCAL",
    );
    expect([isCall(graph, graph.root), isCall(graph, -1)]).toEqual([false, false]);
    graph.looks.bodies[graph.look[graph.root]!] = 1;
    expect(isCall(graph, graph.root)).toBe(true);
    graph.looks.family[graph.look[graph.root]!] = 7;
    expect(scene(graph, folding({ calls: true })).family.includes(7)).toBe(true);
  });

  test("no op has a meaning of its own here: what the server did not mark is drawn as any other node", () => {
    const m = new Maker();
    const graph = m.graph(m.add("SINK", [m.add("CALL", [m.add("CONST", [], "4", "weakint")])]));
    graph.fold.fill(0);
    graph.looks.bodies.fill(0);
    graph.inside.fill(-1);
    expect(scene(graph, folding()).labels.map(({ name }) => name)).toEqual(["CONST", "CALL", "SINK"]);
  });
});
