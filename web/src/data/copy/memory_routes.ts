/** The memory view's requests, answered from the file: what `server/routes/memory.py` answers from a capture. */
import type { AliveWire, BufferWire, TouchWire } from "../../wire/memory.ts";
import { numberOf, pixelsOf, type Route } from "./asked.ts";
import { devicesOf, type DeviceMemory } from "./devices.ts";
import type { Lanes } from "./lanes.ts";
import { linksOf, type CopiedUse, type Links } from "./links.ts";
import { jsonReply, rawReply, Refused } from "./raw_reply.ts";
import type { Tables } from "./tables.ts";

const BANDS = 4000;
const ALIVE = 2000;
const USES = 1000;
/** Characters of a text that a label can show. */
const LONGEST = 200;

export const MEMORY_ROUTES: Record<string, Route> = { "memory/window": window_, "memory/alive": alive };

async function deviceOf(tables: Tables, asked: URLSearchParams): Promise<DeviceMemory> {
  const name = asked.get("device") ?? "";
  const found = (await devicesOf(tables)).get(name);
  if (!found) throw new Refused(`No buffer of this copy lies on a device called '${name.slice(0, 80)}'.`);
  return found;
}

async function window_(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const device = await deviceOf(tables, asked);
  const t0 = numberOf(asked, "t0", 0);
  const t1 = Math.max(t0 + 1, numberOf(asked, "t1", (await tables.timeline()).span));
  const pixels = pixelsOf(asked);
  const seen = [numberOf(asked, "v0", t0), numberOf(asked, "v1", t1)] as const;
  const most = Math.min(numberOf(asked, "most", BANDS), BANDS);
  const found = device.bands(t0, t1, most, seen, Math.max(1, Math.floor((t1 - t0) / pixels)));
  const total = device.total.window(t0, t1, pixels);
  const kept = (await devicesOf(tables)).get(`${asked.get("device") ?? ""} segments`);
  const reserved = kept?.total.window(t0, t1, pixels) ?? { start: [], high: [] };
  const { alloc, free, offset, bytes, id, dtype, name } = device.columns;
  const [dtypes, dtypeCodes] = occurring(found.drawn, dtype, (at) => device.dtype(at));
  const [names, nameCodes] = occurring(found.drawn, name, (at) => device.name(at));
  const head = {
    bands: found.drawn.length,
    pixels: total.start.length,
    width: total.width,
    reserved: reserved.start.length,
    folded: found.folded.length,
    foldedBytes: found.folded.reduce((sum, at) => sum + bytes[at]!, 0),
    left: found.left,
    leftBytes: found.leftBytes,
    dtypes,
    names,
  };
  const drawn = (column: Float64Array): number[] => found.drawn.map((at) => column[at]!);
  const until = drawn(free).map((time) => (Number.isNaN(time) ? Infinity : time));
  return rawReply(head, [
    ["f64", drawn(alloc)],
    ["f64", until],
    ["f64", drawn(offset)],
    ["f64", drawn(bytes)],
    ["f64", drawn(id)],
    ["f64", total.start],
    ["f64", total.low],
    ["f64", total.high],
    ["f64", reserved.start],
    ["f64", reserved.high],
    ["i32", dtypeCodes],
    ["i32", nameCodes],
  ]);
}

/** The texts that occur, by their code, and the place of each one's among them. */
function occurring(places: readonly number[], codes: Int32Array, textOf: (at: number) => string): [string[], number[]] {
  const known = [...new Set(places.map((at) => codes[at]!))].sort((a, b) => a - b);
  const place = new Map(known.map((code, number) => [code, number]));
  const first = new Map(places.map((at) => [codes[at]!, at]));
  return [known.map((code) => textOf(first.get(code)!).slice(0, LONGEST)), places.map((at) => place.get(codes[at]!)!)];
}

async function alive(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const device = await deviceOf(tables, asked);
  const places = device.at(numberOf(asked, "time", 0));
  const shown = places.slice(0, ALIVE);
  const links = await linksIfThere(tables);
  const { id, bytes } = device.columns;
  const [dtype, dtypes] = coded(shown.map((at) => device.dtype(at)));
  const [producer, producers] = coded(shown.map((at) => device.name(at) || (links?.makerOf(id[at]!) ?? "")));
  const answer: AliveWire = {
    count: places.length,
    total: places.reduce((sum, at) => sum + bytes[at]!, 0),
    id: shown.map((at) => id[at]!),
    bytes: shown.map((at) => bytes[at]!),
    dtype,
    dtypes,
    producer,
    producers,
  };
  return jsonReply(answer);
}

function coded(texts: readonly string[]): [number[], string[]] {
  const seen = new Map<string, number>();
  const codes = texts.map((text) => {
    if (!seen.has(text)) seen.set(text, seen.size);
    return seen.get(text)!;
  });
  return [codes, [...seen.keys()]];
}

/** Who used what; null in a copy that holds no single slices. */
async function linksIfThere(tables: Tables): Promise<Links | null> {
  return (await tables.lanes()).exact ? linksOf(tables) : null;
}

/** A buffer with its producer, its readers, who wrote it again and the longest time that nobody used it. */
export async function buffer(tables: Tables, number: number): Promise<Response> {
  for (const device of (await devicesOf(tables)).values()) {
    const at = device.find(number);
    if (at >= 0) return jsonReply(await told(tables, device, at));
  }
  throw new Refused(`There is no buffer ${number} in this copy.`);
}

async function told(tables: Tables, device: DeviceMemory, at: number): Promise<BufferWire> {
  const { id, alloc, free, offset } = device.columns;
  const [lanes, links] = [await tables.lanes(), await linksIfThere(tables)];
  const { uses, unknown } = links?.usersOf(id[at]!) ?? { uses: [], unknown: 0 };
  const touch = (use: CopiedUse | null): TouchWire | null => {
    if (use === null) return null;
    const { row, track, start, dur, name } = links!.end(use.row);
    return { row, track, start, dur, name, mode: use.mode, position: use.position };
  };
  const made = uses.findIndex((use) => use.mode.includes("write"));
  const others = uses.filter((_, place) => place !== made).reverse();
  const readers = others.filter((use) => use.mode !== "write");
  const writers = others.filter((use) => use.mode.includes("write"));
  const end = Number.isNaN(free[at]!) ? (await tables.timeline()).span : free[at]!;
  const gap = untouched(lanes, uses, alloc[at]!, end);
  return {
    ...device.facts(at),
    address: "", // the events that say so may not be in the copy
    stack: [],
    alloc: alloc[at]!,
    free: Number.isNaN(free[at]!) ? null : free[at]!,
    offset: offset[at]!,
    peak: device.peak,
    atPeak: alloc[at]! <= device.peakTime && device.peakTime < device.ends[at]!,
    before: at > 0 ? id[at - 1]! : -1,
    after: at + 1 < device.size ? id[at + 1]! : -1,
    producer: touch(uses[made] ?? null),
    readers: readers.slice(0, USES).map((use) => touch(use)!),
    reads: readers.length,
    writers: writers.slice(0, USES).map((use) => touch(use)!),
    writes: writers.length,
    unknown,
    untouched: gap && { begin: gap.begin, end: gap.end, after: touch(gap.after), before: touch(gap.before) },
  };
}

interface Untouched {
  begin: number;
  end: number;
  after: CopiedUse | null;
  before: CopiedUse | null;
}

function untouched(lanes: Lanes, uses: readonly CopiedUse[], alloc: number, end: number): Untouched | null {
  const [first, ...rest] = uses;
  if (!first) return null;
  let best: Untouched = { begin: alloc, end: Math.max(lanes.start[first.row]!, alloc), after: null, before: first };
  let [last, until] = [first, lanes.end[first.row]!];
  for (const use of rest) {
    const start = lanes.start[use.row]!;
    if (start - until > best.end - best.begin) best = { begin: until, end: start, after: last, before: use };
    if (lanes.end[use.row]! >= until) [last, until] = [use, lanes.end[use.row]!];
  }
  return end - until > best.end - best.begin ? { begin: until, end, after: last, before: null } : best;
}
