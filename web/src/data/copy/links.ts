/** The slices that flows and uses name, as `query/timeline/correlations.py` finds them. */
import { plain } from "../../base/ansi.ts";
import type { FlowEndWire, FlowWire } from "../../wire/timeline.ts";
import type { Columns } from "./columns.ts";
import type { Lanes } from "./lanes.ts";
import type { Tables } from "./tables.ts";

/** Arrows of one slice that are given. */
const OF_ONE = 200;

export interface CopiedUse {
  /** Row of the slice. */
  row: number;
  mode: string;
  position: number;
}

export class Links {
  private readonly rows = new Map<number, number>();
  private readonly users: Map<number, number[]> = new Map<number, number[]>();
  private readonly used: Map<number, number[]> = new Map<number, number[]>();
  private readonly ends: Map<number, number[]> = new Map<number, number[]>();
  private readonly flow: { from: Float64Array; to: Float64Array; bytes: Float64Array; kind: Int32Array };
  private readonly use: { buffer: Float64Array; slice: Float64Array; mode: Int32Array; position: Float64Array };

  constructor(
    private readonly lanes: Lanes,
    private readonly names: readonly string[],
    private readonly flows: Columns<{ kinds: string[] }> | null,
    private readonly uses: Columns<{ modes: string[] }> | null,
  ) {
    const numbers = (table: Columns<unknown> | null, name: string): Float64Array =>
      table?.numbers(name) ?? new Float64Array(0);
    this.flow = {
      from: numbers(flows, "from"),
      to: numbers(flows, "to"),
      bytes: numbers(flows, "bytes"),
      kind: flows?.ints("kind") ?? new Int32Array(0),
    };
    this.use = {
      buffer: numbers(uses, "buffer"),
      slice: numbers(uses, "slice"),
      mode: uses?.ints("mode") ?? new Int32Array(0),
      position: numbers(uses, "position"),
    };
    const wanted = new Set<number>();
    for (const column of [this.flow.from, this.flow.to, this.use.slice]) for (const one of column) wanted.add(one);
    lanes.correlation.forEach((correlation, row) => {
      if (correlation !== 0 && wanted.has(correlation)) this.rows.set(correlation, row);
    });
    this.use.buffer.forEach((buffer, at) => listed(this.users, buffer, at));
    this.use.slice.forEach((slice, at) => listed(this.used, slice, at));
    this.flow.from.forEach((from, at) => {
      listed(this.ends, from, at);
      if (this.flow.to[at] !== from) listed(this.ends, this.flow.to[at]!, at);
    });
  }

  end(row: number): FlowEndWire {
    const lane = this.lanes.at(row)!;
    const [start, dur] = [this.lanes.start[row]!, this.lanes.dur[row]!];
    return {
      row,
      track: lane.track,
      depth: lane.depth,
      start,
      dur,
      name: plain(this.names[this.lanes.name[row]!] ?? ""),
    };
  }

  /** The arrows that begin or end at the slice of a row. */
  flowsOf(row: number): FlowWire[] {
    const correlation = this.lanes.correlation[row] ?? 0;
    if (correlation === 0) return [];
    const own = [...(this.ends.get(correlation) ?? [])].sort((a, b) => a - b);
    return own
      .filter((at) => this.known(at))
      .slice(0, OF_ONE)
      .map((at) => this.arrow(at));
  }

  /** The arrows that cross a window, none when they are too many to read, and how many there are. */
  flowsIn(t0: number, t1: number, most: number): { total: number; flows: FlowWire[] } {
    const found: number[] = [];
    for (let at = 0; at < this.flow.from.length; at++) {
      if (!this.known(at)) continue;
      const leaves = this.lanes.end[this.rows.get(this.flow.from[at]!)!]!;
      const arrives = this.lanes.start[this.rows.get(this.flow.to[at]!)!]!;
      if (Math.min(leaves, arrives) < t1 && Math.max(leaves, arrives) >= t0) found.push(at);
    }
    return { total: found.length, flows: found.length <= most ? found.map((at) => this.arrow(at)) : [] };
  }

  /** Buffer, mode and position of what the slice of a row used. */
  usesOf(row: number): { buffer: number; mode: string; position: number }[] {
    const correlation = this.lanes.correlation[row] ?? 0;
    if (correlation === 0) return [];
    return (this.used.get(correlation) ?? []).map((at) => ({
      buffer: this.use.buffer[at]!,
      mode: this.modeOf(at),
      position: this.use.position[at]!,
    }));
  }

  /** The uses of a buffer by the time of the slice, and how many more name a slice that is not there. */
  usersOf(buffer: number): { uses: CopiedUse[]; unknown: number } {
    const every = this.users.get(buffer) ?? [];
    const uses = every
      .filter((at) => this.rows.has(this.use.slice[at]!))
      .map((at) => ({
        row: this.rows.get(this.use.slice[at]!)!,
        mode: this.modeOf(at),
        position: this.use.position[at]!,
      }))
      .sort((a, b) => this.lanes.start[a.row]! - this.lanes.start[b.row]! || a.row - b.row || a.position - b.position);
    return { uses, unknown: every.length - uses.length };
  }

  /** The name of the slice that wrote a buffer first; empty when none is known. */
  makerOf(buffer: number): string {
    const maker = this.usersOf(buffer).uses.find((use) => use.mode.includes("write"));
    return maker ? plain(this.names[this.lanes.name[maker.row]!] ?? "") : "";
  }

  private modeOf(at: number): string {
    return this.uses!.facts.modes[this.use.mode[at]!] ?? "";
  }

  private known(at: number): boolean {
    return this.rows.has(this.flow.from[at]!) && this.rows.has(this.flow.to[at]!);
  }

  private arrow(at: number): FlowWire {
    return {
      from: this.end(this.rows.get(this.flow.from[at]!)!),
      to: this.end(this.rows.get(this.flow.to[at]!)!),
      bytes: this.flow.bytes[at]!,
      kind: this.flows!.facts.kinds[this.flow.kind[at]!] ?? "",
    };
  }
}

/** The links of a copy; of one without flows and uses they are empty. */
export function linksOf(tables: Tables): Promise<Links> {
  return tables.once("links", async () => {
    const [lanes, names] = [await tables.slices(), await tables.names()];
    const [flows, uses] = [
      await tables.table<{ kinds: string[] }>("flows"),
      await tables.table<{ modes: string[] }>("uses"),
    ];
    return new Links(lanes, names.text, flows, uses);
  });
}

function listed(lists: Map<number, number[]>, key: number, value: number): void {
  const own = lists.get(key);
  if (own) own.push(value);
  else lists.set(key, [value]);
}
