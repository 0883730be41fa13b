/** Where a tape's lanes, marks, columns and names stand. Pure geometry. */
import type { TapeLane, TapeMarks, TapeSignal } from "../wire/tape.ts";

export const RULER = 24;
const LEAST_LANE = 48;
const MOST_LANE = 150;
const SIGNAL_ROW = 18;
/** Share of a lane that its marks take; arrows end outside. */
export const CLEAR = 0.6;
const LEAST_RADIUS = 2.6;
const MOST_RADIUS = 11;

export interface LaneBox {
  lane: number;
  kind: string;
  y0: number;
  height: number;
  /** Where its marks stand. */
  y: number;
  /** Rows of names above a client's marks. */
  names: number;
}

/** The lanes from top to bottom, from 0; they share the room that there is and scroll when it is too little. */
export function laneBoxes(lanes: readonly TapeLane[], shown: readonly number[], room: number): LaneBox[] {
  const height = Math.max(LEAST_LANE, Math.min(MOST_LANE, Math.floor(room / Math.max(1, shown.length))));
  return shown.map((lane, i) => {
    const kind = lanes[lane]!.kind;
    const names = kind === "client" ? (height >= 74 ? 2 : height >= 56 ? 1 : 0) : 0;
    return { lane, kind, y0: i * height, height, y: i * height + height / 2 + 6.5 * names, names };
  });
}

/** Rows of the signals' names: none without signals. */
export function signalHeight(signals: readonly TapeSignal[]): number {
  return signals.length === 0 ? 0 : SIGNAL_ROW * 2 + 4;
}

/**
 * A mark's radius for so many bytes: its area grows with the size's logarithm, as in the printed picture. Where the
 * largest on the tape would outgrow its lane all grow less, so that no two sizes look alike.
 */
export function radius(size: number, largest: number, height: number): number {
  const grown = (bytes: number): number => 0.95 * Math.log2(1 + Math.max(bytes, 0) / 96) ** 0.85;
  const room = Math.min(MOST_RADIUS, height / 5) - LEAST_RADIUS;
  return LEAST_RADIUS + grown(size) * Math.min(1, Math.max(0, room) / Math.max(grown(largest), 1));
}

/** Where a mark of a stack stands: those of one moment above each other, in order. */
export function stackY(box: LaneBox, place: number, many: number): number {
  const step = Math.min(10, (CLEAR * box.height) / Math.max(1, many - 1));
  return box.y + (place - (many - 1) / 2) * step;
}

export interface Name {
  x: number;
  y: number;
  width: number;
  text: string;
  index: number;
}

export interface Names {
  placed: Name[];
  /** How many found no room. */
  left: number;
}

const FIRST = new Set(["MatMul", "Sum", "Mean", "GatherShards", "AllGather"]);

/** `#12 randn` above the client's marks: what computes first, then what is large, then the rest. */
export function eventNames(
  marks: TapeMarks,
  boxes: ReadonlyMap<number, LaneBox>,
  asks: number,
  families: readonly string[],
  x: (time: number) => number,
  width: number,
  text: (index: number) => string,
  measure: (text: string) => number,
): Names {
  const wanted: { index: number; rank: number }[] = [];
  for (let i = 0; i < marks.seq.length; i++) {
    const box = boxes.get(marks.lane[i]!);
    if (!box || box.names === 0 || marks.event[i] !== asks) continue;
    const at = x(marks.time[i]!);
    if (at < 0 || at > width) continue;
    const family = families[marks.family[i]!]!;
    const size = marks.size[i]!;
    wanted.push({ index: i, rank: FIRST.has(family) ? 0 : family === "FreeTensor" ? 3 : size > 4096 ? 1 : 2 });
  }
  wanted.sort((a, b) => a.rank - b.rank || a.index - b.index);
  const taken = new Map<string, [number, number][]>();
  const result: Names = { placed: [], left: 0 };
  for (const { index } of wanted) {
    const box = boxes.get(marks.lane[index]!)!;
    const label = text(index);
    const w = measure(label);
    const at = x(marks.time[index]!);
    let row = 0;
    for (; row < box.names; row++) {
      const key = `${box.lane} ${row}`;
      const others = taken.get(key) ?? [];
      if (at + w > width || others.some(([a, b]) => at - 6 < b && at + w + 6 > a)) continue;
      taken.set(key, [...others, [at, at + w]]);
      result.placed.push({ x: at, y: box.y0 + 9 + 12 * (box.names - 1 - row), width: w, text: label, index });
      break;
    }
    if (row === box.names) result.left++;
  }
  return result;
}

/**
 * Names of the signals in sight, in two rows where none touches another; a span that began earlier keeps its name in
 * sight.
 */
export function signalNames(
  signals: readonly TapeSignal[],
  x: (time: number) => number,
  width: number,
  measure: (text: string) => number,
): Names {
  const ends = [-Infinity, -Infinity];
  const result: Names = { placed: [], left: 0 };
  signals.forEach((signal, index) => {
    const begin = x(signal.start);
    const end = signal.span ? x(signal.end) : begin;
    if (end < 0 || begin > width) return;
    const w = measure(signal.name);
    let at = Math.max(begin, 0) + 5;
    if (at + w > width - 2) at = Math.max(2, begin - w - 5);
    const row = ends.findIndex((taken) => at > taken + 6);
    if (row < 0) {
      result.left++;
      return;
    }
    ends[row] = at + w + 2;
    result.placed.push({ x: at, y: RULER + 11 + SIGNAL_ROW * row, width: w, text: signal.name, index });
  });
  return result;
}

export interface Column {
  lane: number;
  start: number;
  total: number;
  /** First and past the last row in the window's columns. */
  from: number;
  to: number;
}

/** The columns of a window: rows of one lane and moment together, and the fullest of each lane. */
export function columnsOf(columns: { start: Float64Array; lane: Int32Array; count: Int32Array }): {
  columns: Column[];
  most: Map<number, number>;
} {
  const found: Column[] = [];
  const most = new Map<number, number>();
  for (let i = 0; i < columns.lane.length; i++) {
    const last = found.at(-1);
    if (last && last.lane === columns.lane[i] && last.start === columns.start[i]) {
      last.total += columns.count[i]!;
      last.to = i + 1;
    } else
      found.push({ lane: columns.lane[i]!, start: columns.start[i]!, total: columns.count[i]!, from: i, to: i + 1 });
    const now = found.at(-1)!;
    most.set(now.lane, Math.max(most.get(now.lane) ?? 0, now.total));
  }
  return { columns: found, most };
}

/** Height and foot of a column; the root, so that the few are seen beside the many. */
export function columnBox(box: LaneBox, total: number, most: number): { height: number; foot: number } {
  const room = Math.min(64, CLEAR * box.height);
  return { height: Math.max(3, room * Math.sqrt(total / most)), foot: box.y + room / 2 };
}
