/** Memory as the server sends it: src/peephole/server/routes_memory.py. Times are ns from the begin of the timeline. */

export interface DeviceWire {
  name: string;
  buffers: number;
  /** Never freed. */
  living: number;
  peak: number;
  peakTime: number;
  spark: number[];
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
  offset: number;
  /** Of its device. */
  peak: number;
  atPeak: boolean;
  /** Neighbours by allocation, -1 for none. */
  before: number;
  after: number;
  producer: TouchWire | null;
  consumers: TouchWire[];
  /** How many consumers there are; the list may hold fewer. */
  uses: number;
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

export interface MemoryWindow {
  bands: BandColumns;
  total: TotalColumns;
  /** ns of a pixel */
  width: number;
  folded: number;
  foldedBytes: number;
  left: number;
  leftBytes: number;
  dtypes: string[];
  names: string[];
}

interface Head extends Omit<MemoryWindow, "bands" | "total"> {
  bands: number;
  pixels: number;
}

/** A window out of the reply of …/memory/window; nothing is copied. */
export function decodeMemory(buffer: ArrayBuffer): MemoryWindow {
  const length = new Uint32Array(buffer, 0, 1)[0]!;
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Head;
  let at = 4 + length;
  const floats = (n: number): Float64Array => {
    const column = new Float64Array(buffer, at, n);
    at += 8 * n;
    return column;
  };
  const ints = (n: number): Int32Array => {
    const column = new Int32Array(buffer, at, n);
    at += 4 * n;
    return column;
  };
  const n = head.bands;
  const m = head.pixels;
  const [alloc, free, offset, bytes, id] = [floats(n), floats(n), floats(n), floats(n), floats(n)];
  const total = { start: floats(m), low: floats(m), high: floats(m) };
  return { ...head, bands: { alloc, free, offset, bytes, id, dtype: ints(n), name: ints(n) }, total };
}
