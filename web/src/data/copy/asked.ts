/** What a request asks for: numbers, an interval, tracks of a group. */
import type { TimelineWire } from "../../wire/timeline.ts";
import type { CopiedTrack, Interval, Tables } from "./tables.ts";

/** Answers one request from what is in the file. */
export type Route = (tables: Tables, asked: URLSearchParams) => Promise<Response>;

export function numberOf(asked: URLSearchParams, name: string, otherwise: number): number {
  return asked.has(name) ? Number(asked.get(name)) : otherwise;
}

/** What a request asks for with t0 and t1; the whole span when it says nothing. */
export function intervalOf(asked: URLSearchParams, whole: TimelineWire): [number, number] {
  const t0 = numberOf(asked, "t0", 0);
  return [t0, Math.max(numberOf(asked, "t1", whole.span), t0 + 1)];
}

/** The same, null when a request names no times. */
export async function rangedOf(tables: Tables, asked: URLSearchParams): Promise<Interval> {
  return asked.has("t0") || asked.has("t1") ? intervalOf(asked, await tables.timeline()) : null;
}

export const pixelsOf = (asked: URLSearchParams): number => Math.min(numberOf(asked, "px", 1000), 8192);

/** The tracks of kernels, copies, the host or messages. */
export async function tracksOf(tables: Tables, group: string): Promise<CopiedTrack[]> {
  const rows = (await tables.tracks()).filter((row) => row.depths.length > 0);
  if (group === "copies") return rows.filter((row) => ["copy", "disk"].includes(row.kind));
  if (group === "kernels")
    return rows.filter((row) => row.group === "Devices" && !["copy", "disk", "batch"].includes(row.kind));
  return rows.filter((row) => row.group === (group === "messages" ? "Messages" : "Host"));
}
