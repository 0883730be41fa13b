import { describe, expect, it } from "vitest";
import { listing } from "../src/data/listing.ts";
import { ContextTree, NO_FILTER } from "../src/data/tree.ts";
import type { ContextsWire, StepsWire } from "../src/wire/capture.ts";
import type { GraphWire } from "../src/wire/graph.ts";

const contexts: ContextsWire = {
  id: [7, 9],
  name: ["Schedule", "\x1b[31mr_4\x1b[0m"],
  kind: ["schedule", "kernel"],
  parent: [-1, -1],
  steps: [3, 1],
  matches: [5, 0],
  start: [-1, -1],
  dur: [-1, -1],
  code: [0, 1],
};
const steps: StepsWire = {
  id: [10, 11, 12, 20],
  context: [7, 7, 7, 9],
  depth: [0, 1, 0, 0],
  name: [0, 1, 2, 0],
  names: ["outer", "inner symbolic", "last"],
  file: [0, 0, 0, 0],
  files: ["f.py"],
  line: [1, 2, 3, 4],
  matches: [0, 5, 0, 0],
  dur: [1, 1, 1, 1],
  root: [0, 0, 0, 0],
  after: [-1, -1, -1, -1],
  flags: [0, 0, 0, 0],
};
const shape = (tree: ContextTree, filter = NO_FILTER): string[] =>
  tree
    .rows(filter)
    .map((row) => `${row.kind[0]}${row.at}@${row.level}${row.open === null ? "" : row.open ? "v" : ">"}`);

describe("the tree", () => {
  it("opens contexts and folds steps", () => {
    const tree = new ContextTree(contexts, steps);
    expect(shape(tree)).toEqual(["c0@0>", "c1@0>"]);
    tree.openContexts.add(7);
    expect(shape(tree)).toEqual(["c0@0v", "s0@1v", "s1@2", "s2@1", "c1@0>"]);
    tree.foldedSteps.add(10);
    expect(shape(tree)).toEqual(["c0@0v", "s0@1>", "s2@1", "c1@0>"]);
  });

  it("shows halves and kernels below their compile id, and what a kernel was made of below it", () => {
    const nested = {
      ...contexts,
      id: [1, 2, 7, 9, 11],
      name: ["0/0", "1/0", "0/0 forward", "k", "builtin.module @k"],
      kind: ["graph", "graph", "half", "kernel", "module"],
      parent: [-1, -1, 1, 7, 9],
      steps: [0, 0, 3, 1, 0],
      matches: [0, 0, 5, 0, 0],
      start: [-1, -1, -1, -1, -1],
      dur: [-1, -1, -1, -1, -1],
      code: [0, 0, 0, 1, 0],
    };
    const tree = new ContextTree(nested, steps);
    expect(shape(tree)).toEqual(["c0@0>", "c1@0"]);
    expect(tree.open(9)).toBe(true);
    expect(tree.open(9)).toBe(false);
    expect(shape(tree)).toEqual(["c0@0v", "c2@1v", "s0@2v", "s1@3", "s2@2", "c3@2v", "s3@3", "c4@3", "c1@0"]);
    expect(shape(tree, { ...NO_FILTER, matchesOnly: true })).toEqual(["c0@0v", "c2@1v", "s0@2v", "s1@3"]);
  });

  it("filters by words over context and step, by matches and by kind", () => {
    const tree = new ContextTree(contexts, steps);
    expect(shape(tree, { ...NO_FILTER, text: "symb" })).toEqual(["c0@0v", "s1@2"]);
    expect(shape(tree, { ...NO_FILTER, text: "schedule inner" })).toEqual(["c0@0v", "s1@2"]);
    expect(shape(tree, { ...NO_FILTER, text: "r_4" })).toEqual(["c1@0>"]);
    expect(shape(tree, { ...NO_FILTER, kernelsOnly: true })).toEqual(["c1@0>"]);
    expect(shape(tree, { ...NO_FILTER, matchesOnly: true })).toEqual(["c0@0>"]);
    expect(shape(tree, { ...NO_FILTER, text: "nothing" })).toEqual([]);
  });
});

describe("a graph as text", () => {
  it("prints each node once and stays whole in a deep graph", () => {
    const deep = 20_000;
    const graph: GraphWire = {
      step: 0,
      match: 0,
      matches: 0,
      root: deep - 1,
      id: [],
      identity: [],
      op: [],
      ops: ["ADD"],
      dtype: [],
      dtypes: ["float"],
      arg: [],
      args: [],
      shape: [],
      shapes: [],
      tag: [],
      tags: [],
      srcStart: [0],
      src: [],
      added: [],
      changed: [],
      removed: [],
      error: null,
      look: [],
      looks: { name: [], arg: [], type: [], family: [], bodies: [], space: [], wholeArg: [], wholeType: [] },
      inside: [],
      insides: [],
      fold: [],
    };
    for (let at = 0; at < deep; at++) {
      for (const column of [graph.id, graph.identity]) column.push(at);
      graph.op.push(0);
      graph.dtype.push(0);
      for (const column of [graph.arg, graph.shape, graph.tag]) column.push(-1);
      if (at > 0) graph.src.push(at - 1, at - 1);
      graph.srcStart.push(graph.src.length);
    }
    const lines = listing(graph);
    expect(lines.filter((line) => !line.again)).toHaveLength(deep);
    expect(lines.filter((line) => line.again)).toHaveLength(deep - 1);
    expect(lines[0]!.text).toBe("0 ADD  float");
  });
});
