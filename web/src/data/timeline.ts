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
import { isAbort, type CaptureClient } from "./client.ts";
import { gridFor, PIXELS, TileStore, type Grid } from "./timeline_tiles.ts";

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

interface Flight {
  abort: AbortController;
  keys: Set<string>;
}

/** Fetches tiles for what is on the screen; what is no longer wanted is cancelled. */
export class TimelineSource {
  readonly lanes = new TileStore<LaneWindow>();
  readonly series = new TileStore<SeriesWindow>(8 << 20);
  names: Names;
  private flights: Flight[] = [];
  private disposed = false;
  /** What was wanted last: a frame that wants the same again has nothing to ask. */
  private wantedFor = "";
  /** Milliseconds of the last replies of …/window, for the status and the benchmark. */
  readonly replies: number[] = [];

  constructor(
    readonly client: CaptureClient,
    public whole: TimelineWire,
    private readonly onData: () => void,
    private readonly onStale: () => void,
    private readonly onError: (error: unknown) => void,
  ) {
    this.names = new Names(client, onData);
    if (whole.names > 0) void this.names.load(0);
  }

  /** A live capture has grown: rows, names and tiles are numbered anew. What is drawn stays until the new ones come. */
  renew(whole: TimelineWire): void {
    const moved = whole.origin !== this.whole.origin;
    this.whole = whole;
    if (moved) {
      this.lanes.clear();
      this.series.clear();
    }
    // names that are known stay until the new ones are here: labels do not flicker
    const fresh = new Names(this.client, this.onData);
    void fresh.load(0).then(() => {
      if (this.whole === whole) this.names = fresh;
      this.onData();
    });
    for (const flight of this.flights.splice(0)) flight.abort.abort();
    this.wantedFor = "";
  }

  get waiting(): boolean {
    return this.flights.length > 0;
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
    const wanted = new Set<string>();
    for (const lane of lanes)
      for (let i = shown.first; i < shown.past; i++) wanted.add(`${laneId(lane)}/${grid.level}/${i}`);
    for (const one of series)
      for (let i = shown.first; i < shown.past; i++) wanted.add(`${seriesId(one)}/${grid.level}/${i}`);
    this.cancel(wanted);
    if (shown.first >= shown.past) return;
    const flying = new Set(this.flights.flatMap((flight) => [...flight.keys]));
    // one tile more on both sides, so that a pan finds something
    const wide = { ...grid, first: Math.max(0, shown.first - 1), past: Math.min(last, shown.past + 1) };
    this.fetchAll(
      lanes,
      laneId,
      (lane, place) => this.lanes.has(laneId(lane), grid.level, place, this.whole.generation),
      flying,
      shown,
      wide,
      (some, part) => this.askLanes(some, part),
    );
    this.fetchAll(
      series,
      seriesId,
      (one, place) => this.series.has(seriesId(one), grid.level, place, this.whole.generation),
      flying,
      shown,
      wide,
      (some, part) => this.askSeries(some, part),
    );
  }

  async overview(pixels: number): Promise<{ devices: Float32Array; host: Float32Array }> {
    return decodeOverview(await this.client.bytes(`timeline/overview?px=${pixels}`));
  }

  dispose(): void {
    this.disposed = true;
    for (const flight of this.flights) flight.abort.abort();
    this.lanes.clear();
    this.series.clear();
  }

  /** Ends requests of which nothing is wanted any more. */
  private cancel(wanted: Set<string>): void {
    this.flights = this.flights.filter((flight) => {
      for (const key of flight.keys) if (wanted.has(key)) return true;
      flight.abort.abort();
      return false;
    });
  }

  /** Groups what misses the same tiles into one request. */
  private fetchAll<K>(
    keys: readonly K[],
    id: (key: K) => string,
    has: (key: K, place: number) => boolean,
    flying: Set<string>,
    shown: Grid,
    wide: Grid,
    ask: (keys: K[], part: Grid) => void,
  ): void {
    const groups = new Map<string, { keys: K[]; part: Grid }>();
    for (const key of keys) {
      const missing = (place: number): boolean => !has(key, place) && !flying.has(`${id(key)}/${wide.level}/${place}`);
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
    const query = `${this.times(part)}&lanes=${lanes.map(laneId).join(",")}`;
    const keys = lanes.flatMap((lane) => places(part).map((place) => `${laneId(lane)}/${part.level}/${place}`));
    const begun = performance.now();
    this.fly(keys, `timeline/window?${query}`, (buffer) => {
      const reply = decodeWindow(buffer);
      this.replies.push(performance.now() - begun);
      if (reply.generation !== this.whole.generation) return this.onStale();
      lanes.forEach((lane, at) => {
        for (const place of places(part)) {
          // all tiles of a reply share its arrays: ten thousand views of them would cost a frame
          const data = reply.lanes[at]!;
          const entries =
            bound(data.start, (place + 1) * part.width, true) - bound(data.start, place * part.width, true);
          this.lanes.put(laneId(lane), part.level, place, {
            data,
            generation: reply.generation,
            bytes: 32 * entries + 200,
          });
        }
      });
    });
  }

  private askSeries(wanted: SeriesKey[], part: Grid): void {
    const ids = wanted.map((one) =>
      "counter" in one ? `counters=${one.counter}` : `memory=${encodeURIComponent(one.memory)}`,
    );
    const counters = wanted.filter((one) => "counter" in one);
    const memory = wanted.filter((one) => "memory" in one);
    const order = [...counters, ...memory];
    const query = [
      `counters=${counters.map((one) => one.counter).join(",")}`,
      ...ids.filter((id) => id.startsWith("memory")),
    ].join("&");
    const keys = order.flatMap((one) => places(part).map((place) => `${seriesId(one)}/${part.level}/${place}`));
    this.fly(keys, `timeline/series?${this.times(part)}&${query}`, (buffer) => {
      const reply = decodeSeries(buffer);
      if (reply.generation !== this.whole.generation) return this.onStale();
      order.forEach((one, at) => {
        for (const place of places(part)) {
          const data = cutSeries(reply.series[at]!, place * part.width, (place + 1) * part.width);
          this.series.put(seriesId(one), part.level, place, {
            data,
            generation: reply.generation,
            bytes: 32 * data.start.length + 200,
          });
        }
      });
    });
  }

  private times(part: Grid): string {
    return `t0=${part.first * part.width}&t1=${part.past * part.width}&px=${(part.past - part.first) * PIXELS}`;
  }

  private fly(keys: string[], path: string, take: (buffer: ArrayBuffer) => void): void {
    const flight = { abort: new AbortController(), keys: new Set(keys) };
    this.flights.push(flight);
    this.client
      .bytes(path, flight.abort.signal)
      .then((buffer) => {
        this.flights = this.flights.filter((one) => one !== flight);
        if (this.disposed || flight.abort.signal.aborted) return;
        take(buffer);
        this.onData();
      })
      .catch((error: unknown) => {
        this.flights = this.flights.filter((one) => one !== flight);
        if (isAbort(error) || this.disposed) return;
        this.wantedFor = "";
        this.onError(error);
      });
  }
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
