/** Windows of the timeline, answered from the file: lanes, counters and memory, the whole trace on a few pixels. */
import { intervalOf, pixelsOf, type Route } from "./asked.ts";
import { devicesOf } from "./devices.ts";
import type { LaneWindow } from "./lanes.ts";
import { rawReply } from "./raw_reply.ts";
import { Series } from "./series.ts";
import type { CopiedTrack, Tables } from "./tables.ts";

/** Lanes that make the picture of the whole trace. */
const OVERVIEW = 64;

export const WINDOW_ROUTES: Record<string, Route> = {
  "timeline/window": window_,
  "timeline/series": series,
  "timeline/overview": overview,
};

async function window_(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const [lanes, whole] = [await tables.lanes(), await tables.timeline()];
  const [t0, t1] = intervalOf(asked, whole);
  const wanted = (asked.get("lanes") ?? "").split(",").filter((lane) => lane !== "");
  const found = wanted.map((lane) => {
    const [track, depth] = lane.split(":");
    return lanes.window(Number(track), Number(depth ?? 0), t0, t1, pixelsOf(asked));
  });
  const head = {
    generation: whole.generation,
    origin: whole.origin,
    n: found.map((lane) => lane.start.length),
    width: found.map((lane) => lane.width),
  };
  const all = (name: Exclude<keyof LaneWindow, "width">): number[] => found.flatMap((lane) => lane[name]);
  return rawReply(head, [
    ["f64", all("start")],
    ["f64", all("end")],
    ["f32", all("busy")],
    ["u32", all("count")],
    ["u32", all("row")],
    ["i32", all("name")],
  ]);
}

async function series(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const whole = await tables.timeline();
  const [t0, t1] = intervalOf(asked, whole);
  const counters = (asked.get("counters") ?? "").split(",").filter((track) => track !== "");
  const found = await Promise.all([
    ...counters.map((track) => counter(tables, Number(track))),
    ...asked.getAll("memory").map(async (device) => (await devicesOf(tables)).get(device)?.drawn ?? NOTHING),
  ]);
  const windows = found.map((one) => one.window(t0, t1, pixelsOf(asked)));
  const head = {
    generation: whole.generation,
    origin: whole.origin,
    n: windows.map((one) => one.start.length),
    peak: found.map((one) => one.peak),
    peakTime: found.map((one) => one.peakTime),
    low: found.map((one) => one.least),
  };
  return rawReply(
    head,
    (["start", "low", "high", "mean"] as const).map((name) => ["f64", windows.flatMap((one) => one[name])] as const),
  );
}

const NOTHING = new Series([], [], 0, 0n);

async function counter(tables: Tables, track: number): Promise<Series> {
  const columns = await tables.table<{ tracks: number[]; counts: number[]; end: number }>("counters");
  const at = columns?.facts.tracks.indexOf(track) ?? -1;
  if (!columns || at < 0) return NOTHING;
  return tables.once(`counter ${track}`, async () => {
    const time = await tables.once("counter times", () => Promise.resolve(columns.numbers("time")));
    const value = await tables.once("counter values", () => Promise.resolve(columns.floats("value")));
    const first = columns.facts.counts.slice(0, at).reduce((sum, count) => sum + count, 0);
    const past = first + columns.facts.counts[at]!;
    const origin = BigInt((await tables.timeline()).origin);
    return new Series(time.subarray(first, past), value.subarray(first, past), columns.facts.end, origin);
  });
}

async function overview(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const [lanes, whole] = [await tables.lanes(), await tables.timeline()];
  const rows = (await tables.tracks()).filter((row) => row.depths.length > 0);
  const pixels = pixelsOf(asked);
  const device = rows.filter((row) => row.kind === "device" || row.kind === "worker").slice(0, OVERVIEW);
  const host = rows
    .filter((row) => (row.group === "Host" || row.group === "Messages") && row.kind !== "worker")
    .slice(0, OVERVIEW);
  const busy = (row: CopiedTrack): Float64Array =>
    shares(lanes.window(row.id, row.depths[0]!, 0, Math.max(1, whole.span), pixels), whole.span, pixels);
  const mean = new Float64Array(pixels);
  for (const row of device) busy(row).forEach((share, at) => (mean[at]! += share / device.length));
  const most = new Float64Array(pixels);
  for (const row of host) busy(row).forEach((share, at) => (most[at] = Math.max(most[at]!, share)));
  const capped = (values: Float64Array): Float64Array => values.map((share) => Math.min(share, 1));
  const head = { pixels, generation: whole.generation };
  return rawReply(head, [
    ["f32", capped(mean)],
    ["f32", capped(most)],
  ]);
}

/** Busy share of each pixel: busy time as a function of time is made of straight lines. */
function shares(lane: LaneWindow, span: number, pixels: number): Float64Array {
  const found = new Float64Array(pixels);
  const length = Math.max(1, span);
  const edge = (at: number): number => Math.floor((at * length) / pixels);
  let at = 0;
  for (let entry = 0; entry < lane.start.length; entry++) {
    const [start, end] = [lane.start[entry]!, lane.end[entry]!];
    while (at + 1 < pixels && edge(at + 1) <= start) at++;
    for (let pixel = at; pixel < pixels && edge(pixel) < end; pixel++) {
      const part = Math.min(end, edge(pixel + 1)) - Math.max(start, edge(pixel));
      if (part > 0) found[pixel]! += (part * lane.busy[entry]!) / Math.max(1, edge(pixel + 1) - edge(pixel));
    }
  }
  return found;
}
