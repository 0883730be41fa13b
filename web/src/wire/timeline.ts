/** What the server says about the timeline. Times are ns from `origin`. See docs/api.md. */
import { perLane, readArrays, sum } from "./arrays.ts";

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
  /** The names that took most; of kernels of which several have one name, by the context that made them. */
  top: { name: string; number: number; total: number; count: number; context: number; serial: number }[];
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
  /** From the first to the last of the runs that a row of Top stands for; null of words. */
  extent: [number, number] | null;
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
  /** What its times count from. */
  origin: string;
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
  /** What its times count from. */
  origin: string;
  series: SeriesWindow[];
}

interface WindowHead {
  generation: number;
  origin: string;
  /** Of each lane: how many entries it has, and ns of one, 0 for slices. */
  n: number[];
  width: number[];
}

/** Lanes out of the reply of …/timeline/window. */
export function decodeWindow(buffer: ArrayBuffer): WindowReply {
  const { head, f64, f32, u32, i32 } = readArrays<WindowHead>(buffer);
  const n = sum(head.n);
  const columns = { start: f64(n), end: f64(n), busy: f32(n), count: u32(n), row: u32(n), name: i32(n) };
  const lanes = perLane(head.n, columns).map((lane, at) => ({ ...lane, width: head.width[at]! }));
  return { generation: head.generation, origin: head.origin, lanes };
}

interface SeriesHead {
  generation: number;
  origin: string;
  n: number[];
  peak: number[];
  peakTime: number[];
  low: number[];
}

/** Series out of the reply of …/timeline/series. */
export function decodeSeries(buffer: ArrayBuffer): SeriesReply {
  const { head, f64 } = readArrays<SeriesHead>(buffer);
  const n = sum(head.n);
  const columns = { start: f64(n), low: f64(n), high: f64(n), mean: f64(n) };
  const series = perLane(head.n, columns).map((one, at) => ({
    ...one,
    peak: head.peak[at]!,
    peakTime: head.peakTime[at]!,
    least: head.low[at]!,
  }));
  return { generation: head.generation, origin: head.origin, series };
}

interface OverviewHead {
  pixels: number;
}

/** Busy shares of the whole trace, pixel by pixel: devices and host. */
export function decodeOverview(buffer: ArrayBuffer): { devices: Float32Array; host: Float32Array } {
  const { head, f32 } = readArrays<OverviewHead>(buffer);
  return { devices: f32(head.pixels), host: f32(head.pixels) };
}
