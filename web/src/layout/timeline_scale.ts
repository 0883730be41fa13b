/** The window on a trace: its limits, ticks, and times as text. */
import type { Limits, Span } from "./span.ts";

/** Shortest window, ns: one nanosecond is then some ten pixels wide. */
const SHORTEST = 100;
/** How far beyond the trace one may look, as a share of the window. */
const BEYOND = 0.04;

/** How far a window on a trace of that length may go. */
export function traceLimits(whole: number): Limits {
  const last = Math.max(SHORTEST, whole);
  return { first: 0, last, shortest: SHORTEST, longest: last * (1 + 2 * BEYOND), beyond: BEYOND };
}

/** Everything. */
export function fitSpan(whole: number): Span {
  return { t0: 0, t1: Math.max(SHORTEST, whole) };
}

const UNITS: readonly [string, number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];

export interface Ticks {
  unit: string;
  /** ns */
  step: number;
  times: number[];
  label(time: number): string;
}

/** Ticks about `every` pixels apart, in the unit that keeps their labels short. */
export function ticks(span: Span, pixels: number, every = 52): Ticks {
  const length = span.t1 - span.t0;
  const rough = (length / Math.max(1, pixels)) * every;
  const ten = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= rough) ?? 10 * ten);
  // the unit in which the window itself reads as a handful of digits
  const [unit, size] = UNITS.find(([, ns]) => length >= 2 * ns) ?? UNITS[3]!;
  const digits = Math.max(0, Math.ceil(Math.log10(size) - Math.log10(step) - 1e-9));
  const times: number[] = [];
  for (let time = Math.ceil(span.t0 / step) * step; time <= span.t1; time += step) times.push(time);
  return { unit, step, times, label: (time) => grouped((time + 0) / size, digits) };
}

function grouped(value: number, digits: number): string {
  const text = (Object.is(value, -0) ? 0 : value).toFixed(digits);
  return text.replace(/^(-?\d+)/, (whole) => whole.replace(/\B(?=(\d{3})+(?!\d))/g, ","));
}

/** A moment for a reader, as exact as a window of that length makes sense: "88.793 ms"; of 610 µs, "115.184190 s". */
export function moment(time: number, length = time): string {
  const size = Math.max(Math.abs(time), Math.abs(length));
  const [unit, ns] = UNITS.find(([, each]) => size >= each) ?? UNITS[3]!;
  const finest = Math.round(Math.log10(ns));
  const digits = Math.ceil(finest - Math.log10(Math.max(1, Math.abs(length))) + 2 - 1e-9);
  return `${grouped(time / ns, Math.min(finest, Math.max(3, digits)))} ${unit}`;
}
