/** Boxes in the colours of something else than their family. */
import type { BirthsWire } from "../../wire/capture.ts";
import type { GraphWire } from "../../wire/graph.ts";

export const COLOURINGS = ["family", "dtype", "rule", "birth", "time"] as const;
export type Colouring = (typeof COLOURINGS)[number];

/** Colours of data that are given to names; the last of the twelve is for everything else. */
const NAMED = 11;
const OTHER = 12;
/** The first colour of heat, behind those of data (`Theme.cat`). */
export const HEAT = 13;
/** A match that took less than so many ns has the colour at this place of the five. */
const STEPS: readonly [number, string][] = [
  [1e3, "under 1 µs"],
  [1e4, "1 to 10 µs"],
  [1e5, "10 to 100 µs"],
  [1e6, "0.1 to 1 ms"],
  [Infinity, "1 ms or more"],
];

export interface LegendEntry {
  colour: number;
  label: string;
  count: number;
}

export interface Tints {
  /** Number of a colour by identity. */
  of: Map<number, number>;
  legend: LegendEntry[];
}

/** Whether a colouring needs to know what made the boxes. */
export function needsBirths(by: Colouring): boolean {
  return by === "rule" || by === "birth" || by === "time";
}

/** The colours of a graph's boxes; `births` are those of this graph, by its identities. */
export function tints(graph: GraphWire, by: Colouring, births: BirthsWire | null): Tints {
  const names = new Map<number, string>();
  const rows = new Map<number, number>();
  births?.identity.forEach((identity, row) => rows.set(identity, row));
  const told = (identity: number, dtype: string): string => {
    if (by === "dtype") return dtype === "" ? "no type" : dtype;
    const row = rows.get(identity);
    if (births === null || row === undefined) return "";
    if (by === "birth") return births.names[births.name[row]!] ?? "";
    if (by === "rule") return births.rules[births.rule[row]!] ?? "";
    const dur = births.dur[row]!;
    return dur < 0 ? "" : STEPS.find(([most]) => dur < most)![1];
  };
  graph.identity.forEach((identity, v) => names.set(identity, told(identity, graph.dtypes[graph.dtype[v]!] ?? "")));
  for (const { identity, dtype } of graph.removed) names.set(identity, by === "dtype" ? told(identity, dtype) : "");
  const counts = new Map<string, number>();
  for (const name of names.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const colours =
    by === "time"
      ? heat()
      : named(
          [...counts.keys()].filter((name) => name !== ""),
          counts,
        );
  const of = new Map<number, number>();
  for (const [identity, name] of names) of.set(identity, colours.get(name) ?? OTHER);
  return { of, legend: legendOf(counts, colours, by) };
}

/** What the families of a graph are, by the ops that they have most. */
export function familyLegend(graph: GraphWire): LegendEntry[] {
  const ops = new Map<number, Map<string, number>>();
  graph.look.forEach((look, v) => {
    const family = graph.looks.family[look]!;
    const own = ops.get(family) ?? new Map<string, number>();
    const op = graph.ops[graph.op[v]!] ?? "";
    own.set(op, (own.get(op) ?? 0) + 1);
    ops.set(family, own);
  });
  return [...ops]
    .map(([colour, own]) => {
      const most = [...own].sort((a, b) => b[1] - a[1]).map(([op]) => op);
      const label = `${most.slice(0, 2).join(", ")}${most.length > 2 ? " …" : ""}`;
      return { colour, label, count: [...own.values()].reduce((sum, one) => sum + one, 0) };
    })
    .sort((a, b) => b.count - a.count);
}

function heat(): Map<string, number> {
  return new Map(STEPS.map(([, label], at) => [label, HEAT + at]));
}

/**
 * A colour for each name: by the name itself, so that it has the same in every graph; where two would share one, the
 * rarer takes the next that is free. When all are taken, names share the last.
 */
function named(names: string[], counts: ReadonlyMap<string, number>): Map<string, number> {
  const colours = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of names.sort((a, b) => counts.get(b)! - counts.get(a)! || (a < b ? -1 : 1))) {
    let hash = 7;
    for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
    let colour = hash % NAMED;
    for (let tries = 0; tries < NAMED && taken.has(colour); tries++) colour = (colour + 1) % NAMED;
    if (taken.has(colour)) break;
    taken.add(colour);
    colours.set(name, colour + 1);
  }
  return colours;
}

function legendOf(
  counts: ReadonlyMap<string, number>,
  colours: ReadonlyMap<string, number>,
  by: Colouring,
): LegendEntry[] {
  const unknown = { rule: "no rule here", birth: "went in", time: "no match here", dtype: "", family: "" }[by];
  const entries: LegendEntry[] = [];
  let others = 0;
  for (const [name, count] of [...counts].sort((a, b) => b[1] - a[1])) {
    const colour = colours.get(name);
    if (colour !== undefined) entries.push({ colour, label: name, count });
    else if (name === "") entries.push({ colour: OTHER, label: unknown, count });
    else others += count;
  }
  if (by === "time") entries.sort((a, b) => a.colour - b.colour);
  if (others > 0) entries.push({ colour: OTHER, label: "others", count: others });
  return entries;
}
