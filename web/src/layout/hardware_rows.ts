/** Where the lanes of a hardware trace stand, and which cycles a ruler names. */

export const HEAD = 152;
export const OCCUPANCY_HEAD = 24;
export const OCCUPANCY = 26;
export const RULER = 36;
const GROUP = 22;
const WAVE = 42;
const UNIT = 52;
const ALL = 34;

export interface Row {
  /** Lane of the trace; -1 for the head of a group. */
  lane: number;
  group: "waves" | "units" | "all" | "clock";
  label: string;
  note: string;
  y: number;
  height: number;
}

export interface RowSource {
  label: string;
  group: "waves" | "units" | "all";
  events: number;
  busy: number;
}

const TITLES: Record<string, [string, string]> = { waves: ["Waves", "instructions"], units: ["Units", "execution"], all: ["All waves", "every SIMD"] };

/** Rows from the top of the scrolled part; folded groups keep their head. */
export function hardwareRows(lanes: readonly RowSource[], folded: ReadonlySet<string>, clock: string): { rows: Row[]; height: number } {
  const rows: Row[] = [];
  let y = 0;
  for (const group of ["waves", "units", "all"] as const) {
    const own = lanes.map((lane, index) => ({ lane, index })).filter((entry) => entry.lane.group === group);
    if (own.length === 0) continue;
    const [title, note] = TITLES[group]!;
    rows.push({ lane: -1, group, label: title, note, y, height: GROUP });
    y += GROUP;
    if (folded.has(group)) continue;
    for (const { lane, index } of own) {
      const height = group === "waves" ? WAVE : group === "units" ? UNIT : ALL;
      const text = group === "units" ? `${(lane.busy * 100).toFixed(lane.busy < 0.1 ? 1 : 0)}%` : String(lane.events);
      rows.push({ lane: index, group, label: lane.label, note: text, y, height });
      y += height;
    }
  }
  if (clock !== "") {
    rows.push({ lane: -1, group: "clock", label: "Clock", note: clock, y, height: 30 });
    y += 30;
  }
  return { rows, height: y };
}

/** A round step so that labels stand at least `room` pixels apart. */
export function tickStep(perPixel: number, room: number): number {
  const least = Math.max(1, perPixel * room);
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5, 10]) if (power * factor >= least) return power * factor;
  return power * 10;
}
