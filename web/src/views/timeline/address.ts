/** What the timeline keeps in the address, read and changed. */
import type { Span } from "../../layout/span.ts";
import { plain } from "../../base/ansi.ts";
import { numberParam, type Params } from "../../state/place.ts";
import { NO_RUNS, runsParams } from "../../state/runs.ts";
import type { SliceWire, TracksWire } from "../../wire/timeline.ts";

/** A span of time out of two parameters; null when there is none. */
export function spanOf(params: Params, a: string, b: string): Span | null {
  if (params[a] === undefined || params[b] === undefined) return null;
  const t0 = numberParam(params, a, 0);
  const t1 = numberParam(params, b, 0);
  return t1 > t0 ? { t0, t1 } : null;
}

/** The range that a key selects: of the focused slice, else what is in sight; or the one there is up to the slice. */
export function keyRange(
  range: Span | null,
  slice: Pick<SliceWire, "start" | "dur"> | null,
  seen: Span,
  extend: boolean,
): { r0: number; r1: number } {
  const own = slice === null ? seen : { t0: slice.start, t1: slice.start + Math.max(1, slice.dur) };
  const base = extend && range !== null ? range : own;
  return { r0: Math.floor(Math.min(base.t0, own.t0)), r1: Math.ceil(Math.max(base.t1, own.t1)) };
}

const SEPARATOR = "~";

/** Ids of groups and tracks out of a parameter. */
export function idSet(text: string | undefined): Set<string> {
  return new Set((text ?? "").split(SEPARATOR).filter((id) => id !== ""));
}

/** The parameter with an id added, or taken out. */
export function toggled(text: string | undefined, id: string): string {
  const ids = idSet(text);
  if (!ids.delete(id)) ids.add(id);
  return [...ids].join(SEPARATOR);
}

/** The window that shows a span with a little room on both sides. */
export function around({ t0, t1 }: Span): { t0: number; t1: number; follow: null } {
  const margin = 0.05 * Math.max(t1 - t0, 20);
  return { t0: Math.round(t0 - margin), t1: Math.round(t1 + margin), follow: null };
}

/** All that is one kernel with a slice on a device, else all that has its name. */
export function runsOfSlice(slice: SliceWire, tracks: TracksWire): Record<string, string | null> {
  const kernel = tracks.group[tracks.id.indexOf(slice.track)] === "Devices" && slice.context >= 0;
  const own = { text: slice.name, group: "kernels", context: slice.context };
  return { ...NO_RUNS, ...(kernel ? runsParams(own) : { find: plain(slice.name) }), slice: null };
}
