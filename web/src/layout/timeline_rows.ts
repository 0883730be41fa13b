/** Rows of the timeline from top to bottom: groups, tracks with their lanes, counters, memory. */
import { count } from "../base/format.ts";
import { laneId, type LaneKey, type SeriesKey } from "../data/timeline.ts";
import type { TracksWire } from "../wire/timeline.ts";

export const LANE = 22;
const NESTED = 18;
export const COPY = 12;
export const GROUP = 22;
const NARROW = { lane: 18, copy: 10, gap: 3, group: 18, memory: 44 };
const WIDE = { lane: LANE, copy: COPY, gap: 6, group: GROUP, memory: 48 };
/** With more lanes than this, tracks of the host show their first lane until they are opened. */
const MANY = 100;
/** Lanes of one track that are shown before the user asks for all. */
const DEEP = 12;

/** How slices of a lane are coloured: by their name, or all in one colour (0: neutral). */
export type Paint = "name" | number;

export interface LaneBox extends LaneKey {
  id: string;
  /** Offset from the row's top. */
  y: number;
  h: number;
  paint: Paint;
  kernel: boolean;
}

export interface RowBox {
  kind: "group" | "track" | "series";
  /** Stable name, for the address: "g:Host", "t:12", "m:CPU". */
  id: string;
  title: string;
  /** The end of the title that tells it from others of its name. */
  where: string;
  note: string;
  group: string;
  track: number;
  y: number;
  h: number;
  lanes: LaneBox[];
  series: SeriesKey | null;
  unit: string;
  pinned: boolean;
  /** Groups, and tracks that have more than one lane: whether they are folded. */
  shut: boolean;
  foldable: boolean;
  /** What shows all lanes of a deep track, or fewer again; null for a track that is not deep. */
  more: string | null;
}

export interface RowOptions {
  /** Ids of groups and tracks that the user folded, or opened where many are folded. */
  shut: ReadonlySet<string>;
  pinned: ReadonlySet<string>;
  /** Tracks whose name has this text; empty for all. */
  filter: string;
  /** Below 700 px of height rows are smaller. */
  small: boolean;
}

export interface RowLayout {
  rows: RowBox[];
  height: number;
  tracks: number;
  hidden: number;
  /** Lane to its row and box: where an arrow begins and ends. */
  places: Map<string, { row: RowBox; lane: LaneBox }>;
}

/** The rows that are shown, with their places. */
export function layoutRows(tracks: TracksWire, options: RowOptions): RowLayout {
  const size = options.small ? NARROW : WIDE;
  const copies = new Map<number, number[]>();
  const known = new Set(tracks.id);
  tracks.under.forEach((under, at) => {
    if (under >= 0) push(copies, under, at);
  });
  const hasDevices = tracks.kind.some((kind) => kind === "device" || kind === "worker");
  const words = options.filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const matches = (at: number): boolean => words.every((word) => titleOf(tracks, at).toLowerCase().includes(word));
  // a filter that is no track's name is about slices: then every track stays
  const some = words.length > 0 && tracks.name.some((_, at) => matches(at));
  const many = tracks.depths.reduce((sum, depths) => sum + depths.length, 0) > MANY;
  const made: RowBox[] = [];
  let hidden = 0;
  tracks.id.forEach((_, at) => {
    if (tracks.under[at]! >= 0 && known.has(tracks.under[at]!)) return;
    const kin = copies.get(tracks.id[at]!) ?? [];
    if (some && !matches(at) && !kin.some(matches)) hidden++;
    else made.push(trackRow(tracks, at, kin, options, size, hasDevices, many));
  });
  return stack(made, options, size.group, hidden);
}

function stack(made: RowBox[], options: RowOptions, groupHeight: number, hidden: number): RowLayout {
  const rows: RowBox[] = [];
  const places = new Map<string, { row: RowBox; lane: LaneBox }>();
  let y = 0;
  const add = (row: RowBox): void => {
    row.y = y;
    y += row.h;
    rows.push(row);
    for (const lane of row.lanes) places.set(lane.id, { row, lane });
  };
  const pinned = made.filter((row) => row.pinned);
  const groups = new Map<string, RowBox[]>();
  if (pinned.length > 0) groups.set("Pinned", pinned);
  for (const row of made) if (!row.pinned) push(groups, row.group, row);
  for (const [title, own] of groups) {
    const id = `g:${title}`;
    const shut = options.shut.has(id);
    const lanes = own.reduce((sum, row) => sum + tracksOf(row), 0);
    add({
      kind: "group",
      id,
      title,
      where: "",
      note: count(lanes),
      group: title,
      track: -1,
      y: 0,
      h: groupHeight,
      lanes: [],
      series: null,
      unit: "",
      pinned: false,
      shut,
      foldable: true,
      more: null,
    });
    if (!shut) own.forEach(add);
  }
  return { rows, height: y, tracks: made.length, hidden, places };
}

function push<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function tracksOf(row: RowBox): number {
  return row.series === null ? new Set(row.lanes.map((lane) => lane.track)).size : 1;
}

function trackRow(
  tracks: TracksWire,
  at: number,
  copies: number[],
  options: RowOptions,
  size: typeof WIDE,
  hasDevices: boolean,
  many: boolean,
): RowBox {
  const kind = tracks.kind[at]!;
  const track = tracks.id[at]!;
  const memory = kind === "memory" && track < 0;
  const id = memory ? `m:${tracks.name[at]!}` : `t:${track}`;
  const row: RowBox = {
    kind: "track",
    id,
    title: titleOf(tracks, at),
    where: tracks.where[at]!,
    note: "",
    group: tracks.group[at]!,
    track,
    y: 0,
    h: 0,
    lanes: [],
    series: null,
    unit: tracks.unit[at] ?? "",
    pinned: options.pinned.has(id),
    shut: options.shut.has(id),
    foldable: false,
    more: null,
  };
  if (memory || kind === "counter") {
    row.kind = "series";
    row.series = memory ? { memory: tracks.name[at]! } : { counter: track };
    row.h = size.memory;
    return row;
  }
  const device = tracks.group[at] === "Devices";
  const depths = tracks.depths[at]!;
  row.foldable = depths.length > 1;
  // the address names what differs from the usual
  if (many && row.foldable && !device) row.shut = !row.shut;
  const all = options.shut.has(`a:${track}`);
  const shown = row.shut ? depths.slice(0, 1) : all ? depths : depths.slice(0, DEEP);
  row.more = depths.length > DEEP && !row.shut ? `a:${track}` : null;
  const height = device ? size.lane : NESTED;
  let y = device ? 3 : 2;
  for (const depth of shown) {
    const paint = paintOf(kind, depth, hasDevices);
    row.lanes.push({
      track,
      depth,
      id: laneId({ track, depth }),
      y,
      h: device ? height : height - 1,
      paint,
      kernel: device,
    });
    y += height;
  }
  if (depths.length > 1)
    row.note =
      shown.length > 1 && shown.length < depths.length
        ? `${shown.length} of ${depths.length}`
        : `${depths.length} deep`;
  for (const copy of copies) {
    const under = tracks.id[copy]!;
    for (const depth of tracks.depths[copy]!.slice(0, row.shut ? 1 : 3)) {
      row.lanes.push({
        track: under,
        depth,
        id: laneId({ track: under, depth }),
        y: y + 1,
        h: size.copy - 2,
        paint: 9,
        kernel: false,
      });
      y += size.copy;
    }
  }
  row.h = y + (device ? size.gap - 3 : 2);
  return row;
}

/** The name of a track, and what it takes to tell it from others. */
function titleOf(tracks: TracksWire, at: number): string {
  return [tracks.name[at]!, tracks.where[at]!].filter((part) => part !== "").join(" · ");
}

/** The user's own ranges are neutral, copies are sky, compiler passes by depth, kernels and messages by name. */
function paintOf(kind: string, depth: number, hasDevices: boolean): Paint {
  if (kind === "copy" || kind === "disk") return 9;
  if (kind === "tiny") return depth === 0 ? 5 : depth === 1 ? 1 : 9;
  if (kind === "gc") return 12;
  if (kind === "device" || kind === "batch" || kind === "worker" || kind === "client" || kind === "dispatcher")
    return "name";
  return kind === "user" || hasDevices ? 0 : "name";
}

/** The row at a height, by halves. */
export function rowAt(rows: readonly RowBox[], y: number): RowBox | null {
  let low = 0;
  let high = rows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const row = rows[middle]!;
    if (y < row.y) high = middle - 1;
    else if (y >= row.y + row.h) low = middle + 1;
    else return row;
  }
  return null;
}
