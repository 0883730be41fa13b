/** The figures of a range and its gaps, answered from the file. */
import { plain } from "../../base/ansi.ts";
import type { GapWire, RangeWire } from "../../wire/timeline.ts";
import { intervalOf, numberOf, rangedOf, type Route } from "./asked.ts";
import { byFunction, callTree } from "./call_tree.ts";
import { contextSerials, KernelFunctions, kernelsApart } from "./kernel_functions.ts";
import type { Lanes } from "./lanes.ts";
import { jsonReply } from "./raw_reply.ts";
import { objectIn, type CopiedTrack, type Interval, type Tables } from "./tables.ts";

/** Names of a range that are given. */
const TOP = 12;

export const RANGE_ROUTES: Record<string, Route> = {
  "timeline/range": range,
  "timeline/gaps": gaps,
};

async function range(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const [lanes, whole] = [await tables.slices(), await tables.timeline()];
  const [t0, t1] = intervalOf(asked, whole);
  const rows = (await tables.tracks()).filter((row) => row.depths.length > 0);
  const names = (await tables.names()).text;
  const args = await tables.args();
  const sums = [0, 1].map(() => ({ time: new Float64Array(names.length), count: new Float64Array(names.length) }));
  const tracks: RangeWire["tracks"] = [];
  let [kernels, copies, copied] = [0, 0, 0];
  for (const row of rows) {
    const copy = row.kind === "copy";
    const into = copy ? null : sums[row.group === "Devices" ? 0 : 1]!;
    let [busy, count] = [0, 0];
    row.depths.forEach((depth, place) => {
      const lane = lanes.find(row.id, depth);
      if (lane === null) return;
      const [first, past] = lanes.within(lane, t0, t1);
      count += past - first;
      for (let at = first; at < past; at++) {
        const inside = Math.min(lanes.end[at]!, t1) - Math.max(lanes.start[at]!, t0);
        if (place === 0) busy += inside;
        const name = lanes.name[at]!;
        if (into && name >= 0) {
          into.time[name]! += inside;
          into.count[name]!++;
        }
        if (!copy || !args) continue;
        const bytes = objectIn(args.texts[args.code[at]!])?.["bytes"];
        const dur = lanes.dur[at]!;
        if (typeof bytes === "number" && Number.isInteger(bytes))
          copied += inside === dur ? bytes : Math.round((bytes * inside) / dur);
      }
    });
    if (copy) copies += count;
    else if (row.group === "Devices") kernels += count;
    tracks.push({ track: row.id, name: row.title, busy, count });
  }
  const kind = sums[0]!.time.some((time) => time !== 0) ? 0 : 1;
  const { time, count } = sums[kind]!;
  let top: RangeWire["top"] = [...time.keys()]
    .filter((name) => time[name]! > 0)
    .sort((a, b) => time[b]! - time[a]!)
    .slice(0, TOP)
    .map((name) => ({
      name: plain(names[name]!),
      number: name,
      total: time[name]!,
      count: count[name]!,
      context: -1,
      serial: 1,
    }));
  let named = count.filter((many) => many > 0).length;
  if (kind === 0 && (await kernelsApart(tables))) {
    const own = rows.filter((row) => row.kind !== "copy" && row.group === "Devices").map((row) => row.id);
    const functions = new KernelFunctions(lanes, names.length);
    const { sums: found } = byFunction(callTree(lanes, own, [t0, t1], (row) => functions.of(row)));
    const serials = await contextSerials(tables);
    const order = found.order().slice(1);
    named = order.filter((node) => functions.nameOf(found.function[node]!) < names.length).length;
    top = order
      .filter((node) => functions.nameOf(found.function[node]!) < names.length)
      .slice(0, TOP)
      .map((node) => {
        const number = functions.nameOf(found.function[node]!);
        const context = functions.contextOf(found.function[node]!);
        return {
          name: plain(names[number]!),
          number,
          total: found.total[node]!,
          count: found.count[node]!,
          context,
          serial: serials.get(context) ?? 1,
        };
      });
  }
  const answer: RangeWire = { t0, t1, tracks, top, names: named, kernels, copies, copied, exact: true };
  return jsonReply(answer);
}

async function gaps(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const lanes = await tables.slices();
  const names = (await tables.names()).text;
  const interval = await rangedOf(tables, asked);
  const limit = Math.min(numberOf(asked, "limit", 100), 1000);
  const every = (await tables.tracks()).filter((row) => row.depths.length > 0);
  const devices = every.filter((row) => row.kind === "device" || row.kind === "worker");
  const found: GapWire[] = [];
  const sums = (devices.length > 0 ? devices : every).map((track) => {
    const rows = lanes.ofTrack(track.id).flatMap((lane) => span(lane.first, lane.past));
    rows.sort((a, b) => lanes.start[a]! - lanes.start[b]! || a - b);
    return idle(lanes, names, track, rows, interval, found);
  });
  found.sort((a, b) => b.dur - a.dur || a.start - b.start);
  return jsonReply({ gaps: found.slice(0, limit), tracks: sums });
}

const span = (first: number, past: number): number[] => Array.from({ length: past - first }, (_, at) => first + at);

/** The stretches in which a track did nothing, into `found`; how it spent its time. */
function idle(
  lanes: Lanes,
  names: readonly string[],
  track: CopiedTrack,
  rows: readonly number[],
  interval: Interval,
  found: GapWire[],
): { track: number; busy: number; idle: number; gaps: number } {
  const nameOf = (row: number): string => plain(names[lanes.name[row]!] ?? "");
  const first = lanes.start[rows[0]!]!;
  const last = rows.reduce((most, row) => Math.max(most, lanes.end[row]!), -Infinity);
  const [low, high] = interval ?? [first, last];
  let [raised, waited, many] = [rows[0]!, 0, 0];
  for (const row of rows.slice(1)) {
    const begin = Math.max(lanes.end[raised]!, low);
    const dur = Math.min(lanes.start[row]!, high) - begin;
    if (dur > 0) {
      waited += dur;
      many++;
      found.push({
        track: track.id,
        trackName: track.title,
        start: begin,
        dur,
        before: nameOf(raised),
        after: nameOf(row),
      });
    }
    if (lanes.end[row]! >= lanes.end[raised]!) raised = row;
  }
  const whole = Math.max(Math.min(high, last) - Math.max(low, first), 0);
  return { track: track.id, busy: whole - waited, idle: waited, gaps: many };
}
