/** Memory as the server sends it: src/peephole/server/routes/memory.py. Times are ns from the begin of the timeline. */
import { readArrays } from "./arrays.ts";

export interface DeviceWire {
  name: string;
  buffers: number;
  /** Never freed. */
  living: number;
  peak: number;
  peakTime: number;
  /** Its first allocation, and its last free; the end of the trace when something was never freed. */
  first: number;
  last: number;
  spark: number[];
  /** The device whose buffers are what is reserved for this one; empty when that is not known. */
  reserved: string;
  /** Moments at which there was no memory left. */
  ooms: number[];
}

export interface MemoryWire {
  duration: number;
  uses: number;
  /** Whether the buffers belong to several processes. */
  several: boolean;
  devices: DeviceWire[];
}

/** What a device held right after a moment, largest first. */
export interface AliveWire {
  count: number;
  total: number;
  id: number[];
  bytes: number[];
  dtype: number[];
  dtypes: string[];
  producer: number[];
  producers: string[];
}

export interface TouchWire {
  row: number;
  track: number;
  start: number;
  dur: number;
  name: string;
  mode: string;
  position: number;
}

export interface BufferWire {
  id: number;
  device: string;
  alloc: number;
  /** null: it was never freed. */
  free: number | null;
  bytes: number;
  dtype: string;
  name: string;
  /** Where it lies and who asked for it, innermost first; empty when that is not known. */
  address: string;
  stack: string[];
  offset: number;
  /** Of its device. */
  peak: number;
  atPeak: boolean;
  /** Neighbours by allocation, -1 for none. */
  before: number;
  after: number;
  producer: TouchWire | null;
  /** Who read it, the last one first, and how many there are: the list may hold fewer. */
  readers: TouchWire[];
  reads: number;
  /** Who wrote it again after its producer, the last one first. */
  writers: TouchWire[];
  writes: number;
  unknown: number;
  untouched: { begin: number; end: number; after: TouchWire | null; before: TouchWire | null } | null;
}

/** Bands by column; `free` is infinite for a buffer that was never freed. */
export interface BandColumns {
  alloc: Float64Array;
  free: Float64Array;
  offset: Float64Array;
  bytes: Float64Array;
  id: Float64Array;
  dtype: Int32Array;
  name: Int32Array;
}

/** The total, pixel by pixel. */
export interface TotalColumns {
  start: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

interface MemoryFacts {
  /** ns of a pixel */
  width: number;
  folded: number;
  foldedBytes: number;
  left: number;
  leftBytes: number;
  dtypes: string[];
  names: string[];
}

export interface MemoryWindow extends MemoryFacts {
  bands: BandColumns;
  total: TotalColumns;
  /** What was reserved, pixel by pixel; empty when that is not known. */
  reserved: { start: Float64Array; high: Float64Array };
}

interface MemoryHead extends MemoryFacts {
  /** How many there are of each column. */
  bands: number;
  pixels: number;
  reserved: number;
}

/** A window out of the reply of …/memory/window. */
export function decodeMemory(buffer: ArrayBuffer): MemoryWindow {
  const { head, f64, i32 } = readArrays<MemoryHead>(buffer);
  const { bands: n, pixels: m, reserved: r, ...facts } = head;
  const bands = { alloc: f64(n), free: f64(n), offset: f64(n), bytes: f64(n), id: f64(n) };
  const total = { start: f64(m), low: f64(m), high: f64(m) };
  const reserved = { start: f64(r), high: f64(r) };
  return { ...facts, bands: { ...bands, dtype: i32(n), name: i32(n) }, total, reserved };
}

interface SegmentsFacts {
  /** When something changed last before the moment, and next after it. */
  before: number | null;
  after: number | null;
  /** How many segments and blocks there are, also those that did not come. */
  count: number;
  held: number;
  left: number;
  reserved: number;
  allocated: number;
  /** Bytes that blocks have more than was asked for, as far as that is known. */
  rounded: number;
  /** The largest free piece. */
  largest: number;
  /** Bytes of buffers that lie in no segment. */
  lost: number;
  address: string[];
  name: string[];
}

/** The segments of a moment, largest first, and their blocks, segment by segment, by address. */
export interface SegmentsWindow extends SegmentsFacts {
  bytes: Float64Array;
  used: Float64Array;
  largestFree: Float64Array;
  blocks: {
    offset: Float64Array;
    size: Float64Array;
    /** With what was rounded up. */
    taken: Float64Array;
    id: Float64Array;
    segment: Int32Array;
    /** 1: to be freed as soon as a stream is done. */
    pending: Int32Array;
  };
}

/** The reply of …/memory/segments. */
export function decodeSegments(buffer: ArrayBuffer): SegmentsWindow {
  const { head, f64, i32 } = readArrays<SegmentsFacts & { segments: number; blocks: number }>(buffer);
  const { segments: n, blocks: m, ...facts } = head;
  const own = { bytes: f64(n), used: f64(n), largestFree: f64(n) };
  const floats = { offset: f64(m), size: f64(m), taken: f64(m), id: f64(m) };
  return { ...facts, ...own, blocks: { ...floats, segment: i32(m), pending: i32(m) } };
}
