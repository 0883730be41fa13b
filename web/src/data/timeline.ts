/** The timeline's data in the page: what is asked, what is kept, what is still on its way. */
import { plain } from "../base/ansi.ts";
import {
  decodeOverview,
  decodeSeries,
  decodeWindow,
  type LaneWindow,
  type NamesWire,
  type SeriesWindow,
  type TimelineWire,
} from "../wire/timeline.ts";
import type { CaptureClient } from "./client.ts";
import { gridFor, PIXELS, tileKey, TileStore, type Grid, type Tile } from "./timeline_tiles.ts";
import { WindowSource, type Piece } from "./window_source.ts";

/** A lane: track and depth. */
export interface LaneKey {
  track: number;
  depth: number;
}

export const laneId = (lane: LaneKey): string => `${lane.track}:${lane.depth}`;

/** A counter by its track, or the memory of a device by name. */
export type SeriesKey = { counter: number } | { memory: string };

export const seriesId = (key: SeriesKey): string => ("counter" in key ? `c${key.counter}` : `m${key.memory}`);

/** Names and colours of slices, a page at a time. */
export class Names {
  private readonly texts: (string | undefined)[] = [];
  private readonly colours: number[] = [];
  private readonly asked = new Map<number, Promise<void>>();
  private page = 8192;

  constructor(
    private readonly client: CaptureClient,
    private readonly onLoaded: () => void,
  ) {}

  /** Asks for the page that a name is on, once; waits until it is there. */
  load(first: number): Promise<void> {
    const page = Math.floor(first / this.page);
    const known = this.asked.get(page);
    if (known) return known;
    const answer = this.fetch(page).catch(() => {
      this.asked.delete(page);
    });
    this.asked.set(page, answer);
    return answer;
  }

  private async fetch(page: number): Promise<void> {
    const wire = await this.client.get<NamesWire>(`timeline/names?first=${page * this.page}`);
    this.page = wire.page;
    wire.text.forEach((text, at) => {
      this.texts[wire.first + at] = plain(text);
      this.colours[wire.first + at] = wire.colour[at]!;
    });
    this.onLoaded();
  }

  text(number: number): string {
    if (number < 0) return "";
    const text = this.texts[number];
    if (text === undefined) void this.load(number);
    return text ?? "";
  }

  colour(number: number): number {
    return number < 0 ? 12 : (this.colours[number] ?? 12);
  }
}

/** Fetches tiles for what is on the screen; what is no longer wanted is cancelled. */
export class TimelineSource {
  readonly lanes = new TileStore<LaneWindow>();
  readonly series = new TileStore<SeriesWindow>(8 << 20);
  names: Names;
  private readonly laneTiles: WindowSource<Tile<LaneWindow>>;
  private readonly seriesTiles: WindowSource<Tile<SeriesWindow>>;
  /** What was wanted last: a frame that wants the same again has nothing to ask. */
  private wantedFor = "";
  /** Milliseconds of the last replies of …/window, for the status and the benchmark. */
  readonly replies: number[] = [];

  constructor(
    readonly client: CaptureClient,
    public whole: TimelineWire,
    private readonly onData: () => void,
    private readonly onStale: () => void,
    onError: (error: unknown) => void,
  ) {
    const failed = (error: unknown): void => {
      this.wantedFor = "";
      onError(error);
    };
    this.laneTiles = new WindowSource(client, this.lanes, onData, failed);
    this.seriesTiles = new WindowSource(client, this.series, onData, failed);
    this.names = new Names(client, onData);
    if (whole.names > 0) void this.names.load(0);
  }

  /** A live capture has grown: rows, names and tiles are numbered anew. What is drawn stays until the new ones come. */
  renew(whole: TimelineWire): void {
    const moved = whole.origin !== this.whole.origin;
    this.whole = whole;
    if (moved) {
      // what is on its way counts from another moment; else it is drawn when it comes, and then asked for anew: were
      // it cancelled, nothing at all would be drawn of what takes longer than the capture takes to grow
      this.laneTiles.cancel();
      this.seriesTiles.cancel();
      this.lanes.clear();
      this.series.clear();
    }
    // names that are known stay until the new ones are here: labels do not flicker
    const fresh = new Names(this.client, this.onData);
    void fresh.load(0).then(() => {
      if (this.whole === whole) this.names = fresh;
      this.onData();
    });
    this.wantedFor = "";
  }

  get waiting(): boolean {
    return this.laneTiles.waiting || this.seriesTiles.waiting;
  }

  /** Makes sure that a window of these lanes is there or on its way. */
  want(lanes: readonly LaneKey[], series: readonly SeriesKey[], t0: number, t1: number, pixels: number): void {
    const grid = gridFor(t0, t1, pixels);
    const last = Math.max(1, Math.ceil(this.whole.span / grid.width));
    const shown = { ...grid, first: Math.max(0, grid.first), past: Math.min(last, grid.past) };
    const key = [
      grid.level,
      shown.first,
      shown.past,
      this.whole.generation,
      ...lanes.map(laneId),
      ...series.map(seriesId),
    ].join();
    if (key === this.wantedFor) return;
    this.wantedFor = key;
    this.laneTiles.keepOnly(tileKeys(lanes.map(laneId), shown));
    this.seriesTiles.keepOnly(tileKeys(series.map(seriesId), shown));
    if (shown.first >= shown.past) return;
    // one tile more on both sides, so that a pan finds something
    const wide = { ...grid, first: Math.max(0, shown.first - 1), past: Math.min(last, shown.past + 1) };
    this.fetchMissing(this.laneTiles, lanes, laneId, shown, wide, (some, part) => this.askLanes(some, part));
    this.fetchMissing(this.seriesTiles, series, seriesId, shown, wide, (some, part) => this.askSeries(some, part));
  }

  async overview(pixels: number): Promise<{ devices: Float32Array; host: Float32Array }> {
    return decodeOverview(await this.client.bytes(`timeline/overview?px=${pixels}`));
  }

  dispose(): void {
    this.laneTiles.dispose();
    this.seriesTiles.dispose();
  }

  /** Groups what misses the same tiles into one request. */
  private fetchMissing<K, T>(
    source: WindowSource<Tile<T>>,
    keys: readonly K[],
    id: (key: K) => string,
    shown: Grid,
    wide: Grid,
    ask: (keys: K[], part: Grid) => void,
  ): void {
    const groups = new Map<string, { keys: K[]; part: Grid }>();
    for (const key of keys) {
      const missing = (place: number): boolean => {
        const tile = tileKey(id(key), wide.level, place);
        return source.kept.peek(tile)?.generation !== this.whole.generation && !source.isComing(tile);
      };
      let first = -1;
      let past = -1;
      for (let place = shown.first; place < shown.past; place++) {
        if (!missing(place)) continue;
        if (first < 0) first = place;
        past = place + 1;
      }
      if (first < 0) continue;
      while (first > wide.first && missing(first - 1) && first >= shown.first) first--;
      while (past < wide.past && missing(past) && past <= shown.past) past++;
      const group = `${first}/${past}`;
      const known = groups.get(group);
      if (known) known.keys.push(key);
      else groups.set(group, { keys: [key], part: { ...wide, first, past } });
    }
    for (const { keys: some, part } of groups.values()) ask(some, part);
  }

  private askLanes(lanes: LaneKey[], part: Grid): void {
    const ids = lanes.map(laneId);
    const begun = performance.now();
    const asked = this.whole;
    this.laneTiles.ask({
      path: `timeline/window?${this.times(part)}&lanes=${ids.join(",")}`,
      keys: [...tileKeys(ids, part)],
      read: (buffer) => {
        const reply = decodeWindow(buffer);
        this.replies.push(performance.now() - begun);
        return this.tiles(ids, part, reply, asked, (at, place) => {
          // all tiles of a reply share its arrays: ten thousand views of them would cost a frame
          const data = reply.lanes[at]!;
          const past = bound(data.start, (place + 1) * part.width, true);
          return { data, entries: past - bound(data.start, place * part.width, true) };
        });
      },
    });
  }

  private askSeries(wanted: SeriesKey[], part: Grid): void {
    const counters = wanted.filter((one) => "counter" in one);
    const memory = wanted.filter((one) => "memory" in one);
    const ids = [...counters, ...memory].map(seriesId);
    const query = [
      `counters=${counters.map((one) => one.counter).join(",")}`,
      ...memory.map((one) => `memory=${encodeURIComponent(one.memory)}`),
    ].join("&");
    const asked = this.whole;
    this.seriesTiles.ask({
      path: `timeline/series?${this.times(part)}&${query}`,
      keys: [...tileKeys(ids, part)],
      read: (buffer) => {
        const reply = decodeSeries(buffer);
        return this.tiles(ids, part, reply, asked, (at, place) => {
          const data = cutSeries(reply.series[at]!, place * part.width, (place + 1) * part.width);
          return { data, entries: data.start.length };
        });
      },
    });
  }

  /**
   * The tiles of a reply. When the capture has grown meanwhile they are drawn until those of now come, which are asked
   * for; of another origin there are none.
   */
  private tiles<T>(
    ids: readonly string[],
    part: Grid,
    { generation, origin }: { generation: number; origin: string },
    asked: TimelineWire,
    tile: (at: number, place: number) => { data: T; entries: number },
  ): Piece<Tile<T>>[] {
    if (generation !== this.whole.generation) {
      if (asked === this.whole) this.onStale();
      else this.wantedFor = "";
    }
    if (origin !== this.whole.origin) return [];
    return ids.flatMap((id, at) =>
      places(part).map((place) => {
        const { data, entries } = tile(at, place);
        return { key: tileKey(id, part.level, place), value: { data, generation }, bytes: 32 * entries + 200 };
      }),
    );
  }

  private times(part: Grid): string {
    return `t0=${part.first * part.width}&t1=${part.past * part.width}&px=${(part.past - part.first) * PIXELS}`;
  }
}

function tileKeys(ids: readonly string[], part: Grid): Set<string> {
  return new Set(ids.flatMap((id) => places(part).map((place) => tileKey(id, part.level, place))));
}

function places(part: Grid): number[] {
  return Array.from({ length: part.past - part.first }, (_, i) => part.first + i);
}

/** The first entry whose value is above (or, `equal`, at least) a bound. */
export function bound(values: Float64Array, limit: number, equal: boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (equal ? values[middle]! >= limit : values[middle]! > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

function cutSeries(one: SeriesWindow, t0: number, t1: number): SeriesWindow {
  const a = bound(one.start, t0, true);
  const b = bound(one.start, t1, true);
  return {
    ...one,
    start: one.start.subarray(a, b),
    low: one.low.subarray(a, b),
    high: one.high.subarray(a, b),
    mean: one.mean.subarray(a, b),
  };
}
