/** What the server says about the timeline. Times are ns from `origin`. See docs/api.md. */

export interface TracksWire {
  id: number[];
  name: string[];
  kind: string[];
  group: string[];
  depths: number[][];
  slices: number[];
  parent: number[];
  /** The device whose copies these are, -1 for none. */
  under: number[];
  unit: string[];
  /** What tells a track from another of its name; empty for most. */
  where: string[];
}

export interface MarkersWire {
  time: number[];
  name: string[];
  kind: string[];
  track: number[];
  colour: string[];
}

export interface TimelineWire {
  origin: string;
  span: number;
  generation: number;
  live: boolean;
  slices: number;
  flows: number;
  names: number;
  trackCount: number;
  tracks: TracksWire;
  markerCount: number;
  markers: MarkersWire;
}

export interface NamesWire {
  first: number;
  total: number;
  page: number;
  text: string[];
  colour: number[];
}

export interface StackLine {
  file: string;
  line: number;
  function: string;
  source: string;
}

export interface SliceWire {
  row: number;
  track: number;
  trackName: string;
  depth: number;
  start: number;
  dur: number;
  name: string;
  context: number;
  contextName: string;
  args: Record<string, unknown>;
  stack: StackLine[];
  before: number;
  after: number;
}

export interface FlowEndWire {
  row: number;
  track: number;
  depth: number;
  start: number;
  dur: number;
  name: string;
}

export interface FlowWire {
  from: FlowEndWire;
  to: FlowEndWire;
  bytes: number;
  kind: string;
}

export interface UsedBufferWire {
  id: number;
  device: string;
  bytes: number;
  dtype: string;
  name: string;
  mode: string;
  position: number;
}

export interface LinksWire {
  row: number;
  rank: number;
  of: number;
  runs: number;
  buffers: UsedBufferWire[];
  /** Whether buffers of the capture belong to several processes. */
  several: boolean;
  flows: FlowWire[];
}

export interface FlowsWire {
  total: number;
  flows: FlowWire[];
}

export interface RangeWire {
  t0: number;
  t1: number;
  tracks: { track: number; name: string; busy: number; count: number }[];
  top: { name: string; number: number; total: number; count: number }[];
  names: number;
  kernels: number;
  copies: number;
  copied: number;
  exact: boolean;
}

export interface HitsWire {
  query: string;
  total: number;
  names: number[];
  place: number;
  row: number;
  start: number;
  near: string[];
}

export interface GapWire {
  track: number;
  trackName: string;
  start: number;
  dur: number;
  before: string;
  after: string;
}

export interface GapsWire {
  gaps: GapWire[];
  tracks: { track: number; busy: number; idle: number; gaps: number }[];
}

/** Entries of one lane in order of time: slices where `width` is 0, else buckets of `width` ns. */
export interface LaneWindow {
  width: number;
  start: Float64Array;
  end: Float64Array;
  busy: Float32Array;
  count: Uint32Array;
  row: Uint32Array;
  name: Int32Array;
}

export interface WindowReply {
  generation: number;
  lanes: LaneWindow[];
}

export interface SeriesWindow {
  start: Float64Array;
  low: Float64Array;
  high: Float64Array;
  mean: Float64Array;
  peak: number;
  peakTime: number;
  /** Smallest value of the whole series. */
  least: number;
}

export interface SeriesReply {
  generation: number;
  series: SeriesWindow[];
}

interface Raw<Head> {
  head: Head;
  body: number;
}

/** The JSON head of a reply of raw arrays, and where the arrays begin. */
function headOf<Head>(buffer: ArrayBuffer): Raw<Head> {
  const length = new Uint32Array(buffer, 0, 1)[0]!;
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  return { head: JSON.parse(text) as Head, body: 4 + length };
}

/** Lanes out of the reply of …/timeline/window; nothing is copied. */
export function decodeWindow(buffer: ArrayBuffer): WindowReply {
  const { head, body } = headOf<{ generation: number; n: number[]; width: number[] }>(buffer);
  const total = head.n.reduce((sum, n) => sum + n, 0);
  const start = new Float64Array(buffer, body, total);
  const end = new Float64Array(buffer, body + 8 * total, total);
  const busy = new Float32Array(buffer, body + 16 * total, total);
  const count = new Uint32Array(buffer, body + 20 * total, total);
  const row = new Uint32Array(buffer, body + 24 * total, total);
  const name = new Int32Array(buffer, body + 28 * total, total);
  let at = 0;
  const lanes = head.n.map((n, lane): LaneWindow => {
    const a = at;
    const b = (at += n);
    return {
      width: head.width[lane]!,
      start: start.subarray(a, b),
      end: end.subarray(a, b),
      busy: busy.subarray(a, b),
      count: count.subarray(a, b),
      row: row.subarray(a, b),
      name: name.subarray(a, b),
    };
  });
  return { generation: head.generation, lanes };
}

/** Series out of the reply of …/timeline/series. */
export function decodeSeries(buffer: ArrayBuffer): SeriesReply {
  const { head, body } = headOf<{ generation: number; n: number[]; peak: number[]; peakTime: number[]; low: number[] }>(
    buffer,
  );
  const total = head.n.reduce((sum, n) => sum + n, 0);
  const column = (place: number): Float64Array => new Float64Array(buffer, body + 8 * place * total, total);
  const [start, low, high, mean] = [column(0), column(1), column(2), column(3)];
  let at = 0;
  const series = head.n.map((n, one): SeriesWindow => {
    const a = at;
    const b = (at += n);
    return {
      start: start.subarray(a, b),
      low: low.subarray(a, b),
      high: high.subarray(a, b),
      mean: mean.subarray(a, b),
      peak: head.peak[one]!,
      peakTime: head.peakTime[one]!,
      least: head.low[one]!,
    };
  });
  return { generation: head.generation, series };
}

/** Busy shares of the whole trace, pixel by pixel: devices and host. */
export function decodeOverview(buffer: ArrayBuffer): { devices: Float32Array; host: Float32Array } {
  const { head, body } = headOf<{ pixels: number }>(buffer);
  return {
    devices: new Float32Array(buffer, body, head.pixels),
    host: new Float32Array(buffer, body + 4 * head.pixels, head.pixels),
  };
}
