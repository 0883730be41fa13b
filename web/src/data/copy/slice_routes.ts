/** Single slices, answered from the file: facts, links, arrows, hits of a search. */
import { plain } from "../../base/ansi.ts";
import type { ContextWire } from "../../wire/capture.ts";
import type { LinksWire, SliceWire } from "../../wire/timeline.ts";
import { fits, parseQuery } from "../grammar.ts";
import { intervalOf, numberOf, tracksOf, type Route } from "./asked.ts";
import { firstAbove } from "./buckets.ts";
import { devicesOf } from "./devices.ts";
import type { Lanes } from "./lanes.ts";
import { linksOf } from "./links.ts";
import { jsonReply, Refused } from "./raw_reply.ts";
import { objectIn, type Tables } from "./tables.ts";

export const SLICE_ROUTES: Record<string, Route> = {
  "timeline/slice": slice,
  "timeline/links": sliceLinks,
  "timeline/flows": flows,
  "timeline/at": sliceAt,
  "timeline/search": search,
};

function checked(lanes: Lanes, row: number): number {
  if (!(row >= 0 && row < lanes.start.length))
    throw new Refused(`This copy has ${lanes.start.length} slices; there is no row ${row}.`);
  return row;
}

async function slice(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const [lanes, names, args] = [await tables.slices(), await tables.names(), await tables.args()];
  const row = checked(lanes, numberOf(asked, "row", 0));
  const lane = lanes.at(row)!;
  const context = lanes.context[row] ?? -1;
  const made = context >= 0 ? await tables.replies.json<ContextWire>(`contexts/${context}`) : null;
  const text = args?.texts[args.code[row]!];
  const title = (await tables.tracks()).find((track) => track.id === lane.track)?.title ?? "";
  const answer: SliceWire = {
    row,
    track: lane.track,
    trackName: title,
    depth: lane.depth,
    start: lanes.start[row]!,
    dur: lanes.dur[row]!,
    name: names.text[lanes.name[row]!] ?? "",
    context,
    contextName: plain(made?.name ?? ""),
    args: text === undefined || text === "" ? {} : (objectIn(text) ?? { args: text }),
    stack: made?.stack ?? [],
    before: row > lane.first ? row - 1 : -1,
    after: row + 1 < lane.past ? row + 1 : -1,
  };
  return jsonReply(answer);
}

async function sliceLinks(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const [lanes, links] = [await tables.slices(), await linksOf(tables)];
  const row = checked(lanes, numberOf(asked, "row", 0));
  const track = lanes.at(row)!.track;
  const kernels = (await tracksOf(tables, "kernels")).map((one) => one.id);
  const [context, name, dur] = [lanes.context[row] ?? -1, lanes.name[row]!, lanes.dur[row]!];
  const byKernel = context >= 0 && kernels.includes(track);
  let [longer, of, runs] = [0, 0, 0];
  for (const lane of lanes.lanes) {
    if (byKernel && !kernels.includes(lane.track)) continue;
    for (let other = lane.first; other < lane.past; other++) {
      if (byKernel ? lanes.context[other] !== context : lanes.name[other] !== name) continue;
      runs++;
      if (lane.track !== track) continue;
      of++;
      if (lanes.dur[other]! > dur) longer++;
    }
  }
  const devices = await devicesOf(tables);
  const buffers = links.usesOf(row).flatMap(({ buffer, mode, position }) => {
    for (const device of devices.values()) {
      const at = device.find(buffer);
      if (at >= 0) return [{ ...device.facts(at), mode, position }];
    }
    return [];
  });
  buffers.sort((a, b) => a.position - b.position);
  const answer: LinksWire = {
    row,
    rank: name < 0 ? 0 : longer + 1,
    of: name < 0 ? 0 : of,
    runs: name < 0 ? 0 : runs,
    buffers,
    several: buffers.length > 0 && (await tables.replies.json<{ several: boolean }>("memory"))?.several === true,
    flows: links.flowsOf(row),
  };
  return jsonReply(answer);
}

async function flows(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const [t0, t1] = intervalOf(asked, await tables.timeline());
  return jsonReply((await linksOf(tables)).flowsIn(t0, t1, Math.min(numberOf(asked, "most", 300), 2000)));
}

async function sliceAt(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const lanes = await tables.slices();
  const lane = lanes.find(numberOf(asked, "track", 0), numberOf(asked, "depth", 0));
  const time = numberOf(asked, "time", 0);
  if (lane === null) return jsonReply({ row: -1 });
  const [first, past] = lanes.within(lane, time, time + 1);
  if (past > first) return jsonReply({ row: first });
  const away = (row: number): number => Math.max(lanes.start[row]! - time, time - lanes.end[row]!);
  const near = [first - 1, first].filter((row) => row >= lane.first && row < lane.past);
  const row = near.length === 2 && away(near[1]!) < away(near[0]!) ? near[1]! : (near[0] ?? -1);
  return jsonReply({ row });
}

async function search(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const lanes = await tables.slices();
  const names = (await tables.names()).text;
  const text = (asked.get("q") ?? "").slice(0, 200);
  const group = asked.get("group") ?? "";
  const found = await tables.once(`search ${group} ${text} ${asked.get("name")} ${asked.get("context")}`, () =>
    group === "" ? named(tables, lanes, names, text) : runsOf(tables, lanes, asked),
  );
  const { rows, end } = found;
  const [place, time] = [numberOf(asked, "place", -1), numberOf(asked, "time", 0)];
  let at = -1;
  if (rows.length > 0) {
    const starts = rows.map((row) => lanes.start[row]!);
    at = (place >= 0 ? place : firstAbove(starts, time, true)) % rows.length;
  }
  const row = at >= 0 ? rows[at]! : -1;
  return jsonReply({
    query: text,
    total: rows.length,
    names: found.names,
    place: at,
    row,
    start: row >= 0 ? lanes.start[row]! : 0,
    near: [],
    extent: end >= 0 ? [lanes.start[rows[0]!]!, end] : null,
  });
}

interface Found {
  names: number[];
  rows: number[];
  end: number;
}

async function named(tables: Tables, lanes: Lanes, names: readonly string[], text: string): Promise<Found> {
  const query = parseQuery(text);
  if (query.wrong !== "") throw new Refused(query.wrong, 400);
  const ofTracks = query.terms.filter((term) => term.field === "track" || term.field === "kind");
  const ofNames = { ...query, terms: query.terms.filter((term) => !ofTracks.includes(term)) };
  const wanted = new Set(
    query.terms.length === 0 ? [] : [...names.keys()].filter((name) => fits(ofNames, plain(names[name]!))),
  );
  const tracks = new Set(
    (await tables.tracks())
      .filter((row) => fits({ ...query, terms: ofTracks }, row.title, { track: row.title, kind: row.kind }))
      .map((row) => row.id),
  );
  const rows: number[] = [];
  for (const lane of lanes.lanes) {
    if (ofTracks.length > 0 && !tracks.has(lane.track)) continue;
    for (let row = lane.first; row < lane.past; row++) if (wanted.has(lanes.name[row]!)) rows.push(row);
  }
  rows.sort((a, b) => lanes.start[a]! - lanes.start[b]! || a - b);
  return { names: [...wanted], rows, end: -1 };
}

async function runsOf(tables: Tables, lanes: Lanes, asked: URLSearchParams): Promise<Found> {
  const tracks = await tracksOf(tables, asked.get("group")!);
  const [name, context] = [numberOf(asked, "name", NaN), numberOf(asked, "context", NaN)];
  const rows: number[] = [];
  const seen = new Set<number>(Number.isNaN(name) ? [] : [name]);
  let end = -1;
  for (const track of tracks)
    for (const lane of lanes.ofTrack(track.id))
      for (let row = lane.first; row < lane.past; row++) {
        if (!Number.isNaN(name) && lanes.name[row] !== name) continue;
        if (!Number.isNaN(context) && (lanes.context[row] ?? -1) !== context) continue;
        rows.push(row);
        seen.add(lanes.name[row]!);
        end = Math.max(end, lanes.end[row]!);
      }
  rows.sort((a, b) => lanes.start[a]! - lanes.start[b]! || a - b);
  return { names: [...seen].filter((one) => one >= 0).sort((a, b) => a - b), rows, end };
}
