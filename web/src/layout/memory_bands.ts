/** Where bands stand in a window: the offsets that nobody in it uses take no room, heights stay to scale. */

export interface BandPlan {
  /** Lower edge of each band, bytes above the floor; not a number for one that is folded. */
  low: Float64Array;
  /** Bytes from the floor to the top of the highest that is in the window. */
  height: number;
  /** Bands that live through the whole window: they are drawn as one. */
  folded: number;
  foldedBytes: number;
  /** Bands that are too small to be seen each: they are drawn as one. */
  small: number[];
}

export interface Lives {
  alloc: ArrayLike<number>;
  free: ArrayLike<number>;
  offset: ArrayLike<number>;
  bytes: ArrayLike<number>;
}

/**
 * Folds what lives through t0 … t1 and takes the offsets that nobody else uses out: what stood above another still
 * does. Bands of fewer bytes than `least` have no place of their own, but for the one at `keep`.
 */
export function planBands(bands: Lives, t0: number, t1: number, least = 0, keep = -1): BandPlan {
  const { alloc, free, offset, bytes } = bands;
  const low = new Float64Array(offset.length).fill(NaN);
  const order: number[] = [];
  const small: number[] = [];
  let folded = 0;
  let foldedBytes = 0;
  for (let i = 0; i < offset.length; i++) {
    if (alloc[i]! > t0 || free[i]! < t1) {
      if (bytes[i]! < least && i !== keep) small.push(i);
      else order.push(i);
    } else {
      folded++;
      foldedBytes += bytes[i]!;
    }
  }
  order.sort((a, b) => offset[a]! - offset[b]!);
  let end = 0;
  let gap = 0;
  let height = 0;
  for (const i of order) {
    const from = offset[i]!;
    if (from > end) gap += from - end;
    low[i] = from - gap;
    end = Math.max(end, from + bytes[i]!);
    if (alloc[i]! < t1 && free[i]! > t0) height = Math.max(height, low[i] + bytes[i]!);
  }
  return { low, height, folded, foldedBytes, small };
}

/** The largest total of a window, and when; of what is drawn. */
export function highest(
  start: ArrayLike<number>,
  high: ArrayLike<number>,
  t0: number,
  t1: number,
): { time: number; value: number } {
  let time = 0;
  let value = 0;
  for (let i = 0; i < start.length && start[i]! <= t1; i++) {
    const next = i + 1 < start.length ? start[i + 1]! : Infinity;
    if (next > t0 && high[i]! > value) [time, value] = [Math.max(t0, start[i]!), high[i]!];
  }
  return { time, value };
}

/** Eleven of the twelve data colours; the last is for what is folded. Neighbours by number differ clearly. */
const COLOURS = [1, 7, 5, 3, 11, 9, 4, 6, 10, 2, 8] as const;
export const FOLDED = 12;

/** A buffer keeps its colour wherever it is shown. */
export function bufferColour(id: number): number {
  return COLOURS[((id % COLOURS.length) + COLOURS.length) % COLOURS.length]!;
}

const UNITS: readonly [string, number][] = [
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
  ["B", 1],
];

export interface ByteTicks {
  values: number[];
  label(value: number): string;
}

/** Round byte counts from `from` to `to`, at least `every` pixels apart. */
export function byteTicks(from: number, to: number, pixels: number, every: number): ByteTicks {
  const rough = Math.max(1, ((to - from) / Math.max(1, pixels)) * every);
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= rough) ?? 10 * ten;
  const values: number[] = [];
  for (let value = Math.ceil(from / step) * step; value <= to && values.length < 100; value += step) values.push(value);
  const [unit, size] = UNITS.find(([, each]) => to >= each) ?? UNITS[3]!;
  const digits = Math.max(0, Math.ceil(Math.log10(size) - Math.log10(step) - 1e-9));
  return { values, label: (value) => (value === 0 ? "0" : `${(value / size).toFixed(digits)} ${unit}`) };
}

const TIMES: readonly [string, number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];

/** A moment as exact as the picture is, in the unit of its ruler: one pixel is `pixel` ns, the window is `length`. */
export function clock(time: number, pixel: number, length: number): string {
  const [unit, size] = TIMES.find(([, each]) => length >= 2 * each) ?? TIMES[3]!;
  const digits = Math.min(9, Math.max(0, Math.ceil(Math.log10(size) - Math.log10(Math.max(pixel, 1)))));
  const text = (time / size).toFixed(digits);
  return `${text.replace(/^(-?\d+)/, (whole) => whole.replace(/\B(?=(\d{3})+(?!\d))/g, ","))} ${unit}`;
}

const SIZES: Readonly<Record<string, number>> = {
  bool: 1, char: 1, uchar: 1, int8: 1, uint8: 1, fp8e4m3: 1, fp8e5m2: 1, short: 2, ushort: 2, int16: 2, uint16: 2, half: 2, float16: 2,
  bfloat16: 2, __bf16: 2, int: 4, uint: 4, int32: 4, uint32: 4, float: 4, float32: 4, long: 8, ulong: 8, int64: 8, uint64: 8, double: 8, float64: 8,
  "unsigned char": 1, "signed char": 1, "unsigned short": 2, "unsigned int": 4, "unsigned long": 8,
}; // prettier-ignore

/** An element type as its users call it, without the module that it is named in: `torch.float32`, `dtypes.float`. */
export function shortType(dtype: string): string {
  return dtype.replace(/^[a-z]+\./, "");
}

/** How many elements a buffer has; null when its type is not one we know. */
export function elements(bytes: number, dtype: string): number | null {
  const size = SIZES[shortType(dtype)];
  return size !== undefined && bytes % size === 0 ? bytes / size : null;
}
