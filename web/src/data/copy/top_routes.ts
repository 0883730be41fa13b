/** The Top view's requests, answered from the file: what `server/routes/top.py` answers from a capture. */
import type { RunsWire, TopWire } from "../../wire/top.ts";
import { numberOf, rangedOf, tracksOf, type Route } from "./asked.ts";
import { firstAbove } from "./buckets.ts";
import { byFunction, callTree } from "./call_tree.ts";
import { contextSerials, KernelFunctions } from "./kernel_functions.ts";
import type { Lanes } from "./lanes.ts";
import { jsonReply, Refused } from "./raw_reply.ts";
import { isInside, objectIn, type Interval, type Tables } from "./tables.ts";

const GROUPS = ["kernels", "copies", "host", "messages"];
const BINS = 16;
const SLOWEST = 8;

export const TOP_ROUTES: Record<string, Route> = { top: table, "top/runs": runs };

/** The slices of these tracks that overlap an interval: row, and how long it is inside. */
function* slicesOf(lanes: Lanes, tracks: ReadonlySet<number>, interval: Interval): Generator<[number, number]> {
  for (const lane of lanes.lanes) {
    if (!tracks.has(lane.track)) continue;
    for (let row = lane.first; row < lane.past; row++) {
      const [start, end] = [lanes.start[row]!, lanes.end[row]!];
      if (!isInside(start, end, interval)) continue;
      yield [row, interval ? Math.min(end, interval[1]) - Math.max(start, interval[0]) : end - start];
    }
  }
}

async function groupOf(asked: URLSearchParams): Promise<string> {
  const group = asked.get("group") ?? "kernels";
  if (!GROUPS.includes(group)) throw new Refused(`group must be one of ${GROUPS.join(", ")}.`, 400);
  return Promise.resolve(group);
}

async function table(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const [lanes, names, interval] = [await tables.slices(), await tables.names(), await rangedOf(tables, asked)];
  const group = await groupOf(asked);
  const every = await tracksOf(tables, group);
  const only = asked.get("tracks")?.split(",").map(Number);
  const wanted = new Set(every.map((row) => row.id).filter((id) => only?.includes(id) ?? true));
  const functions = new KernelFunctions(lanes, names.text.length);
  const blank = names.text.indexOf("");
  const functionOf = (row: number): number => {
    if (group === "kernels") return functions.of(row);
    const name = lanes.name[row]!;
    return name >= 0 ? name : blank >= 0 ? blank : names.text.length;
  };
  const tree = callTree(lanes, [...wanted], interval, functionOf);
  const { sums, length } = byFunction(tree);
  const durations = new Map<number, number[]>();
  const work = await rated(tables, group);
  const rates = new Map<number, Record<string, [number, number]>>();
  for (const [row, inside] of slicesOf(lanes, wanted, interval)) {
    const called = functionOf(row);
    const own = durations.get(called);
    if (own) own.push(inside);
    else durations.set(called, [inside]);
    if (!work || (lanes.context[row] ?? -1) < 0) continue;
    const known = rates.get(called) ?? {};
    rates.set(called, known);
    for (const [fact, rate] of Object.entries(work(row))) {
      const sum = (known[fact] ??= [0, 0]);
      sum[0] += rate * inside;
      sum[1] += inside;
    }
  }
  const serials = group === "kernels" ? await contextSerials(tables) : new Map<number, number>();
  const order = sums.order().slice(1);
  const called = order.map((node) => sums.function[node]!);
  const text = called.map((one) => functions.nameOf(one));
  const sorted = called.map((one) => Float64Array.from(durations.get(one) ?? []).sort());
  const share = (part: number): number[] => sorted.map((durs) => durs[Math.ceil(part * durs.length) - 1] ?? 0);
  const rate = (fact: string): number[] =>
    called.map((one) => {
      const sum = rates.get(one)?.[fact];
      return sum && sum[1] !== 0 ? sum[0] / sum[1] : -1;
    });
  const of = (column: readonly number[]): number[] => order.map((node) => column[node]!);
  const known = await Promise.all(GROUPS.map(async (one) => [one, (await tracksOf(tables, one)).length] as const));
  const answer: TopWire = {
    group,
    groups: known.filter(([, many]) => many > 0).map(([one]) => one),
    names: order.length,
    total: tree.total[0]!,
    count: tree.count[0]!,
    exact: true,
    sampled: [], // a copy does not hold the manifest that says so
    bins: BINS,
    tracks: { id: every.map((row) => row.id), name: every.map((row) => row.title) },
    name: text.map((number) => names.text[number] ?? ""),
    serial: of(sums.context).map((context) => serials.get(context) ?? 1),
    number: text.map((number) => (number < names.text.length ? number : -1)),
    colour: text.map((number) => names.colour[number] ?? 12),
    sum: of(sums.total),
    self: of(sums.self),
    mean: order.map((node) => length[node]! / sums.count[node]!),
    runs: of(sums.count),
    shortest: of(sums.shortest),
    longest: of(sums.longest),
    median: share(0.5),
    p95: share(0.95),
    context: of(sums.context),
    flops: rate("flops"),
    bytesPerS: rate("bytes_per_s"),
    histogram: sorted.flatMap((durs) => histogram(durs)),
  };
  return jsonReply(answer);
}

function histogram(sorted: Float64Array): number[] {
  const bins = new Array<number>(BINS).fill(0);
  const least = sorted[0] ?? 0;
  const length = Math.max((sorted.at(-1) ?? 0) - least, 1);
  for (const dur of sorted) bins[Math.min(Math.trunc(((dur - least) / length) * BINS), BINS - 1)]!++;
  return bins;
}

/** What a slice says that it did a second; null when that was left out. */
async function rated(tables: Tables, group: string): Promise<((row: number) => Record<string, number>) | null> {
  const args = group === "kernels" ? await tables.args() : null;
  if (!args) return null;
  const read = new Map<number, Record<string, number>>();
  return (row) => {
    const code = args.code[row]!;
    let found = read.get(code);
    if (!found) {
      const told = Object.entries(objectIn(args.texts[code]) ?? {});
      found = Object.fromEntries(
        told.filter(([fact, value]) => ["flops", "bytes_per_s"].includes(fact) && typeof value === "number"),
      ) as Record<string, number>;
      read.set(code, found);
    }
    return found;
  };
}

async function runs(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const [lanes, names, whole] = [await tables.slices(), await tables.names(), await tables.timeline()];
  const interval = await rangedOf(tables, asked);
  const name = numberOf(asked, "name", 0);
  if (name >= names.text.length)
    throw new Refused(`This copy has ${names.text.length} names; there is no number ${name}.`);
  const context = asked.has("context") ? numberOf(asked, "context", -1) : null;
  const tracks: RunsWire["tracks"] = [];
  const found: RunsWire["slowest"] = [];
  for (const track of await tracksOf(tables, await groupOf(asked))) {
    let [count, total] = [0, 0];
    for (const [row, dur] of slicesOf(lanes, new Set([track.id]), interval)) {
      if (lanes.name[row] !== name || (context !== null && (lanes.context[row] ?? -1) !== context)) continue;
      count++;
      total += dur;
      found.push({ row, track: track.id, start: lanes.start[row]!, dur, marker: "" });
    }
    if (count > 0) tracks.push({ track: track.id, name: track.title, count, total });
  }
  found.sort((a, b) => b.dur - a.dur || a.start - b.start);
  const slowest = found.slice(0, SLOWEST).map((run) => {
    const at = firstAbove(whole.markers.time, run.start, false) - 1;
    return { ...run, marker: whole.markers.name[at] ?? "" };
  });
  const answer: RunsWire = { name: names.text[name]!, tracks, slowest };
  return jsonReply(answer);
}
