/** What the server says about a tape: client, dispatcher, workers. See docs/api.md. Times are ns since the start. */
import { readArrays } from "./arrays.ts";

export interface TapeLane {
  name: string;
  /** "client", "dispatcher" or "worker" */
  kind: string;
  events: number;
  bytesIn: number;
  bytesOut: number;
  /** Known work as a part of the whole; `busyMost` is more where only the end of the work is logged. */
  busy: number;
  busyMost: number;
  idle: number;
  /**
   * ns at which a worker came or left while others worked; null when it was there throughout. Shares are of that time.
   */
  since: number | null;
  until: number | null;
  failures: number;
  /** Part of all workers' events. */
  share: number;
}

export interface TapeSignal {
  name: string;
  start: number;
  end: number;
  lane: number;
  span: boolean;
  ending: boolean;
}

export interface TapeFinding {
  kind: string;
  severity: "error" | "warning" | "note";
  words: string;
  seq: number;
}

export interface TapeWire {
  name: string;
  engine: string;
  /** ns that the tape's clock can tell apart. */
  resolution: number;
  run: number;
  runs: { name: string; events: number }[];
  events: number;
  first: number;
  last: number;
  parts: [number, number][];
  lead: boolean;
  early: number;
  unmarked: number;
  lanes: TapeLane[];
  kinds: { name: string; shape: string; events: number }[];
  families: { name: string; colour: string; outlined: boolean; events: number }[];
  ops: string[];
  signals: TapeSignal[];
  pairs: { source: string; target: string; messages: number; bytes: number; unknown: number }[];
  waits: { seq: number; op: string; client: string; start: number; dur: number; reason: string }[];
  patterns: { name: string; seq: number; op: string; start: number; dur: number; words: string }[];
  patternCount: number;
  diagnoses: TapeFinding[];
  balance: { words: string; even: number; idle: string[]; busiest: string; share: number } | null;
  problems: { reason: string; count: number; example: string }[];
  largest: number;
}

export interface MessagesWire {
  total: number;
  first: number;
  seq: number[];
  time: number[];
  event: number[];
  source: number[];
  target: number[];
  command: string[];
  op: number[];
  family: number[];
  size: number[];
  failed: number[];
  details: string[];
}

export interface OtherMessage {
  seq: number;
  time: number;
  op: string;
  event: string;
}

export interface MessageWire {
  seq: number;
  /** Place in the list that the filter leaves, -1 for none. */
  place: number;
  time: number;
  dur: number;
  lane: number;
  event: number;
  op: number;
  family: number;
  command: string;
  size: number;
  source: number;
  target: number;
  failed: boolean;
  replyFirst: boolean;
  details: string;
  /** How many others share its moment. */
  together: number;
  /** False for what is drawn as a signal's line. */
  marked: boolean;
  pair: OtherMessage | null;
  of: OtherMessage | null;
}

export interface TapeRangeWire {
  start: number;
  end: number;
  events: number;
  failures: number;
  bytes: number;
  lanes: { lane: number; events: number; busy: number; busy_most: number; there: number }[];
  pairs: { source: number; target: number; messages: number; bytes: number; unknown: number }[];
  /** Number of an operation's family, and its events. */
  families: [number, number][];
}

/** Bits of a mark's flags. */
export const FAILED = 1;

export interface TapeMarks {
  time: Float64Array;
  dur: Float64Array;
  size: Float64Array;
  seq: Int32Array;
  lane: Int32Array;
  place: Int32Array;
  many: Int32Array;
  event: Int32Array;
  family: Int32Array;
  op: Int32Array;
  flags: Int32Array;
}

interface TapeFacts {
  /** Lanes that the filter leaves. */
  lanes: number[];
  kept: number;
  visible: number;
  first: number;
  stack: number;
  cell: number;
  arrowCell: number;
}

export interface TapeWindow extends TapeFacts {
  marks: TapeMarks;
  columns: { start: Float64Array; lane: Int32Array; family: Int32Array; count: Int32Array; seq: Int32Array };
  arrows: {
    start: Float64Array;
    end: Float64Array;
    bytes: Float64Array;
    source: Int32Array;
    target: Int32Array;
    count: Int32Array;
  };
}

interface TapeHead extends TapeFacts {
  /** How many there are of each column. */
  marks: number;
  columns: number;
  arrows: number;
}

/** A window out of the reply of …/tape/window. */
export function readTapeWindow(data: ArrayBuffer): TapeWindow {
  const { head, f64, i32 } = readArrays<TapeHead>(data);
  const { marks, columns, arrows } = head;
  // first all columns of f64, then those of i32
  const mark = { time: f64(marks), dur: f64(marks), size: f64(marks) };
  const column = { start: f64(columns) };
  const arrow = { start: f64(arrows), end: f64(arrows), bytes: f64(arrows) };
  return {
    ...head,
    marks: {
      ...mark,
      seq: i32(marks),
      lane: i32(marks),
      place: i32(marks),
      many: i32(marks),
      event: i32(marks),
      family: i32(marks),
      op: i32(marks),
      flags: i32(marks),
    },
    columns: { ...column, lane: i32(columns), family: i32(columns), count: i32(columns), seq: i32(columns) },
    arrows: { ...arrow, source: i32(arrows), target: i32(arrows), count: i32(arrows) },
  };
}
