/** The Calls view's requests, answered from the file: what `server/routes/calls.py` answers from a capture. */
import { plain } from "../../base/ansi.ts";
import type { CaptureInfo } from "../../wire/capture.ts";
import type { CallSlicesWire, CallsWire } from "../../wire/calls.ts";
import { parsePath } from "../calls.ts";
import { fits, parseQuery } from "../grammar.ts";
import { numberOf, rangedOf, type Route } from "./asked.ts";
import { byFunction, callTree, invertedTree, searchedTree, type CallTree } from "./call_tree.ts";
import { jsonReply, Refused } from "./raw_reply.ts";
import { isInside, objectIn, type CopiedTrack, type Tables } from "./tables.ts";

/** Nodes that are given at most; the smallest are folded. */
const NODES = 20_000;
const LONGEST = 6;
/** The last row of a track. */
const DEEPEST = 32_000;
/** f (file.py:12), and file.py(12): f */
const IN_NAME = [/^.+? \(([^()]*\.\w+):(\d+)\)$/, /^([^():]*\.\w+)\((\d+)\): .+$/];

export const CALLS_ROUTES: Record<string, Route> = { calls, "calls/slices": slices };

/** All threads, and those that are asked for by title: else the one with most slices. */
async function threadsOf(tables: Tables, asked: URLSearchParams): Promise<[CopiedTrack[], CopiedTrack[]]> {
  const used = (await tables.tracks()).filter((row) => row.depths.length > 0);
  const nested = used.filter((row) => row.group === "Host" || row.depths.length > 1);
  const threads = nested.length > 0 ? nested : used;
  const title = asked.get("thread");
  if (title === "*" || threads.length === 0) return [threads, threads];
  if (title === null) {
    const deep = threads.filter((row) => row.depths.length > 1);
    const some = deep.length > 0 ? deep : threads;
    return [threads, [some.reduce((best, row) => (row.slices > best.slices ? row : best))]];
  }
  const chosen = threads.filter((row) => row.title === title);
  if (chosen.length === 0)
    throw new Refused(`No thread of this copy is called '${title.slice(0, 80)}'; choose one from the list.`);
  return [threads, chosen];
}

async function calls(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const [lanes, names, args] = [await tables.slices(), await tables.names(), await tables.args()];
  const [threads, chosen] = await threadsOf(tables, asked);
  const interval = await rangedOf(tables, asked);
  const mode = asked.get("mode") ?? "tree";
  const title = chosen.length === 1 ? chosen[0]!.title : "All threads";
  const query = parseQuery(asked.get("q") ?? "");
  if (query.wrong !== "") throw new Refused(query.wrong, 400);
  const blank = names.text.indexOf("");
  const functions = new Places(names.text, blank, asked.get("place") === "1");
  const argsOf = (row: number): string => args?.texts[args.code[row]!] ?? "";
  const ids = chosen.map((row) => row.id);
  const whole = callTree(lanes, ids, interval, (row) => functions.of(lanes.name[row]!, () => argsOf(row)));
  const sought =
    query.terms.length === 0 ? whole : searchedTree(whole, (called) => fits(query, plain(functions.name(called))));
  const tree = mode === "inverted" ? invertedTree(sought) : sought;
  const view = seen(tree, parsePath(asked.get("focus") ?? undefined), (called) => plain(functions.name(called)));
  const used = [...new Set([...view.kept, ...view.path].map((node) => tree.function[node]!))]
    .filter((called) => called >= 0)
    .sort((a, b) => a - b);
  const number = new Map(used.map((called, at) => [called, at]));
  const numberOfNode = (node: number): number => number.get(tree.function[node]!) ?? -1;
  const sums = tree.inverted ? tree : byFunction(tree).sums;
  const top = new Map<number, number>();
  for (let node = 1; node < sums.size; node++) if (sums.depth[node] === 1) top.set(sums.function[node]!, node);
  const figure = (column: readonly number[]): number[] => used.map((called) => column[top.get(called)!] ?? 0);
  const of = (column: readonly number[]): number[] => view.kept.map((node) => column[node]!);
  const own = used.map((called) => functions.number(called));
  const answer: CallsWire = {
    threads: {
      title: threads.map((row) => row.title),
      slices: threads.map((row) => row.slices),
      nested: threads.map((row) => row.depths.length > 1),
    },
    threadCount: threads.length,
    thread: chosen.length > 1 ? "*" : chosen.length > 0 ? title : "",
    title,
    mode,
    busy: tree.total[0]!,
    slices: tree.count[0]!,
    known: new Set(tree.function.slice(1)).size,
    found: view.found,
    unfinished: lastOnes(lanes, ids).filter((row) => objectIn(argsOf(row))?.["open"] === true).length,
    leftOut: 0,
    depthCut: (await cutShort(tables)) && chosen.some((row) => row.depths.includes(DEEPEST)) ? DEEPEST : 0,
    depth: view.kept.map((node) => tree.depth[node]! - tree.depth[view.kept[0]!]!),
    function: view.kept.map(numberOfNode),
    count: of(tree.count),
    total: of(tree.total),
    self: of(tree.self),
    width: of(view.width),
    row: of(tree.row),
    context: of(tree.context),
    folded: view.folded,
    path: {
      function: view.path.slice(0, -1).map(numberOfNode),
      total: view.path.slice(0, -1).map((node) => tree.total[node]!),
    },
    functions: {
      name: used.map((called) => functions.name(called)),
      place: used.map((called) => functions.place(called) || placeIn(argsOf(sums.row[top.get(called)!] ?? -1))),
      number: own,
      colour: own.map((name) => names.colour[name] ?? 12),
      total: figure(sums.total),
      self: figure(sums.self),
      count: figure(sums.count),
    },
  };
  return jsonReply(answer);
}

/** Whether calls of the capture were deeper than a track has rows: `CUT_SHORT` of store/tables/lanes.py. */
async function cutShort(tables: Tables): Promise<boolean> {
  const info = await tables.replies.json<CaptureInfo>("");
  return info?.problems.some((one) => /^slices that overlap more than .*, cut short$/.test(one.reason)) ?? false;
}

/** The last slices of lanes, which may have been open when the recording ended. */
function lastOnes(lanes: Awaited<ReturnType<Tables["slices"]>>, tracks: readonly number[]): number[] {
  return lanes.lanes.filter((lane) => tracks.includes(lane.track)).map((lane) => lane.past - 1);
}

/** What is one function: a name, or a name at a place of the program. */
class Places {
  private readonly keys = new Map<string, number>();
  private readonly known: [name: number, place: string][] = [];

  constructor(
    private readonly names: readonly string[],
    private readonly blank: number,
    private readonly byPlace: boolean,
  ) {}

  of(name: number, args: () => string): number {
    const own = name >= 0 ? name : this.blank >= 0 ? this.blank : this.names.length;
    if (!this.byPlace) return own;
    const place = placeIn(args()) || placeInName(this.names[own] ?? "");
    const key = `${own}/${place}`;
    let found = this.keys.get(key);
    if (found === undefined) {
      found = this.known.length;
      this.keys.set(key, found);
      this.known.push([own, place]);
    }
    return found;
  }

  name(called: number): string {
    return this.names[this.byPlace ? this.known[called]![0] : called] ?? "";
  }

  /** Number of its name, -1 for none. */
  number(called: number): number {
    const own = this.byPlace ? this.known[called]![0] : called;
    return own < this.names.length ? own : -1;
  }

  place(called: number): string {
    return this.byPlace ? this.known[called]![1] : placeInName(this.names[called] ?? "");
  }
}

function placeIn(args: string): string {
  const place = args.includes('"location"') ? objectIn(args)?.["location"] : undefined;
  return typeof place === "string" ? place : "";
}

function placeInName(name: string): string {
  for (const form of IN_NAME) {
    const found = form.exec(name);
    if (found) return `${found[1]!}:${found[2]!}`;
  }
  return "";
}

interface Seen {
  kept: number[];
  path: number[];
  width: number[];
  folded: number[];
  found: boolean;
}

/** The part of a tree that begins with these functions, at most so many nodes of it. */
function seen(tree: CallTree, focus: readonly string[], nameOf: (called: number) => string): Seen {
  const order = tree.order();
  const width = tree.widths();
  const depth = order.map((node) => tree.depth[node]!);
  const past = (from: number): number => {
    let to = from + 1;
    while (to < order.length && depth[to]! > depth[from]!) to++;
    return to;
  };
  let [at, path] = [0, [0]];
  for (const name of focus) {
    let inner = at + 1;
    const end = past(at);
    while (inner < end && !(depth[inner] === depth[at]! + 1 && nameOf(tree.function[order[inner]!]!) === name)) inner++;
    if (inner >= end) {
      [at, path] = [0, [0]];
      break;
    }
    at = inner;
    path.push(order[at]!);
  }
  const own = order.slice(at, past(at));
  let least = -Infinity;
  if (own.length > NODES) least = own.map((node) => width[node]!).sort((a, b) => a - b)[own.length - NODES]!;
  const kept: number[] = [];
  const folded: number[] = [];
  const stack: number[] = [];
  own.forEach((node, place) => {
    while (stack.length > 0 && tree.depth[kept[stack.at(-1)!]!]! >= tree.depth[node]!) stack.pop();
    if (place > 0 && width[node]! <= least) {
      folded[stack.at(-1) ?? 0]!++;
      return;
    }
    stack.push(kept.length);
    kept.push(node);
    folded.push(0);
  });
  return { kept, path, width, folded, found: path.length === focus.length + 1 };
}

async function slices(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const lanes = await tables.slices();
  const [, chosen] = await threadsOf(tables, asked);
  const interval = await rangedOf(tables, asked);
  const name = numberOf(asked, "name", 0);
  const found: CallSlicesWire["slices"] = [];
  for (const track of chosen)
    for (const lane of lanes.ofTrack(track.id))
      for (let row = lane.first; row < lane.past; row++) {
        const [start, end] = [lanes.start[row]!, lanes.end[row]!];
        if (lanes.name[row] !== name || !isInside(start, end, interval)) continue;
        const dur = interval ? Math.min(end, interval[1]) - Math.max(start, interval[0]) : end - start;
        found.push({ row, thread: track.title, start, dur });
      }
  found.sort((a, b) => b.dur - a.dur || a.start - b.start);
  return jsonReply({ slices: found.slice(0, LONGEST) });
}
