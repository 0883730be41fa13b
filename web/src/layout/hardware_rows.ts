/** Where the lanes of a hardware trace stand, and which cycles a ruler names. */
import { count } from "../base/format.ts";

export const HEAD = 152;
export const OCCUPANCY_HEAD = 24;
const OCCUPANCY = 26;
const OCCUPANCY_ROOM = 168;
export const RULER = 36;
const GROUP = 22;
const WAVE = 42;
const UNIT = 52;
/** The least height of both when they shrink so that units and clock are in sight. */
const LEAST_WAVE = 30;
const LEAST_UNIT = 36;
const ALL = 30;
const CLOCK = 30;
const OTHERS = 26;

export interface Row {
  /** Lane of the trace; -1 for the head of a group. */
  lane: number;
  group: "waves" | "units" | "all" | "clock";
  label: string;
  note: string;
  y: number;
  height: number;
}

/** Slices narrower than this many pixels are merged per pixel. */
export const NARROW = 2.5;

/** The share of each pixel that narrow events keep busy, 0 to 1; `begin` and `cycles` are pixels and cycles of each. */
export function busyShares(
  begins: ArrayLike<number>,
  cycles: ArrayLike<number>,
  perPixel: number,
  width: number,
): Float64Array {
  const shares = new Float64Array(width);
  for (let i = 0; i < begins.length; i++) {
    const at = Math.floor(begins[i]!);
    const later = begins[i]! - at;
    const share = cycles[i]! / perPixel;
    if (at >= 0 && at < width) shares[at]! += share * (1 - later);
    if (at + 1 >= 0 && at + 1 < width) shares[at + 1]! += share * later;
  }
  for (let i = 0; i < width; i++) shares[i] = Math.min(1, shares[i]!);
  return shares;
}

export interface RowSource {
  label: string;
  group: "waves" | "units" | "all";
  events: number;
  busy: number;
}

/** Height of an engine's occupancy: many engines share the room that a few have. */
export function occupancyHeight(engines: number): number {
  return engines * OCCUPANCY <= OCCUPANCY_ROOM ? OCCUPANCY : Math.max(5, Math.floor(OCCUPANCY_ROOM / engines));
}

/** Whole numbers in words: "0, 2–5". */
export function ranges(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < numbers.length;) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end]! + 1) end++;
    parts.push(
      end === i ? `${numbers[i]}` : end === i + 1 ? `${numbers[i]}, ${numbers[end]}` : `${numbers[i]}–${numbers[end]}`,
    );
    i = end + 1;
  }
  return parts.join(", ");
}

/** Rows from the top of the scrolled part; folded groups keep their head. `traced` is the unit that the waves ran on. Where
 * waves, units and clock just miss `room` pixels they are lower, down to what can be read. */
export function hardwareRows(
  lanes: readonly RowSource[],
  folded: ReadonlySet<string>,
  clock: string,
  traced: string,
  room = Infinity,
): { rows: Row[]; height: number } {
  const titles: Record<string, [string, string]> = {
    waves: ["Waves", traced],
    units: ["Units", "execution"],
    all: ["All waves", "every SIMD"],
  };
  const rows: Row[] = [];
  const [waveHeight, unitHeight] = heights(lanes, folded, clock, room);
  let y = 0;
  for (const group of ["waves", "units", "all"] as const) {
    if (group === "all" && clock !== "") {
      rows.push({ lane: -1, group: "clock", label: "Clock", note: clock, y, height: CLOCK });
      y += CLOCK;
    }
    const own = lanes.map((lane, index) => ({ lane, index })).filter((entry) => entry.lane.group === group);
    if (own.length === 0) continue;
    const [title, note] = titles[group]!;
    rows.push({ lane: -1, group, label: title, note, y, height: GROUP });
    y += GROUP;
    if (folded.has(group)) continue;
    for (const { lane, index } of own) {
      const height =
        lane.label === "Other SIMDs" ? OTHERS : group === "waves" ? waveHeight : group === "units" ? unitHeight : ALL;
      const text = group === "units" ? `${(lane.busy * 100).toFixed(lane.busy < 0.1 ? 1 : 0)}%` : count(lane.events);
      rows.push({ lane: index, group, label: lane.label, note: text, y, height });
      y += height;
    }
  }
  return { rows, height: y };
}

function heights(
  lanes: readonly RowSource[],
  folded: ReadonlySet<string>,
  clock: string,
  room: number,
): [number, number] {
  const many = (group: string): number =>
    folded.has(group) ? 0 : lanes.filter((lane) => lane.group === group && lane.label !== "Other SIMDs").length;
  const waves = many("waves");
  const units = many("units");
  const others = folded.has("waves") ? 0 : lanes.filter((lane) => lane.label === "Other SIMDs").length;
  const left = room - 2 * GROUP - others * OTHERS - (clock === "" ? 0 : CLOCK);
  const full = waves * WAVE + units * UNIT;
  const least = waves * LEAST_WAVE + units * LEAST_UNIT;
  if (left >= full || left < least || full === least) return [WAVE, UNIT];
  const share = (left - least) / (full - least);
  return [Math.floor(LEAST_WAVE + share * (WAVE - LEAST_WAVE)), Math.floor(LEAST_UNIT + share * (UNIT - LEAST_UNIT))];
}

/** A round step so that labels stand at least `room` pixels apart. */
export function tickStep(perPixel: number, room: number): number {
  const least = Math.max(1, perPixel * room);
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5, 10]) if (power * factor >= least) return power * factor;
  return power * 10;
}
