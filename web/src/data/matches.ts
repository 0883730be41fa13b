/** The matches of a step, fetched in pages as the list is scrolled. */
import type { MatchesWire } from "../wire/capture.ts";
import type { EntryKind } from "../wire/graph.ts";
import type { CaptureClient } from "./client.ts";

const PAGE = 2048;

export interface MatchRow {
  number: number;
  before: number;
  after: number;
  op: string;
  became: string;
  file: string;
  line: number;
  source: string;
  /** Name of the function that the rule calls, empty when unknown. */
  handler: string;
  dur: number;
  /** The node that was matched and what it reads: tells rows of one rule apart. */
  about: string;
  kind: EntryKind;
  /** Names of the instructions before and after, empty where they have none. */
  beforeName: string;
  afterName: string;
  boxes: number;
}

/**
 * Rows by match number, from 1; a row that is not here yet is asked for, and `onArrival` says when it came, or failed
 * to.
 */
export class Matches {
  private readonly pages = new Map<number, MatchesWire | "asked" | "failed">();
  private dropped = false;

  constructor(
    private readonly client: CaptureClient,
    readonly step: number,
    readonly total: number,
    private readonly onArrival: (error: unknown) => void,
    private readonly delay = 0,
  ) {}

  /** Nobody looks at these any more. */
  drop(): void {
    this.dropped = true;
  }

  row(number: number): MatchRow | null {
    if (number < 1 || number > this.total) return null;
    const page = Math.floor((number - 1) / PAGE);
    const wire = this.pages.get(page);
    if (wire === undefined) this.ask(page);
    if (wire === undefined || typeof wire === "string") return null;
    const at = number - wire.first;
    if (at >= wire.before.length) return null;
    return {
      number,
      before: wire.before[at]!,
      after: wire.after[at]!,
      op: wire.ops[wire.op[at]!] ?? "",
      became: wire.ops[wire.became[at]!] ?? "",
      file: wire.files[wire.file[at]!] ?? "",
      line: wire.line[at]!,
      source: wire.sources[wire.source[at]!] ?? "",
      handler: wire.handlers[wire.handler[at]!] ?? "",
      dur: wire.dur[at]!,
      about: wire.abouts[wire.about[at]!] ?? "",
      kind: wire.kinds[wire.kind[at]!] ?? "rule",
      beforeName: wire.names[wire.beforeName[at]!] ?? "",
      afterName: wire.names[wire.afterName[at]!] ?? "",
      boxes: wire.boxes[at]!,
    };
  }

  /** What failed may be asked for once more. */
  again(): void {
    for (const [page, wire] of this.pages) if (wire === "failed") this.pages.delete(page);
  }

  private ask(page: number): void {
    this.pages.set(page, "asked");
    if (this.delay > 0) setTimeout(() => this.dropped || this.fetch(page), this.delay);
    else this.fetch(page);
  }

  private fetch(page: number): void {
    this.client
      .get<MatchesWire>(`steps/${this.step}/matches?first=${page * PAGE + 1}&count=${PAGE}`)
      .then((wire) => {
        this.pages.set(page, wire);
        if (!this.dropped) this.onArrival(null);
      })
      .catch((error: unknown) => {
        this.pages.set(page, "failed");
        if (!this.dropped) this.onArrival(error);
      });
  }
}
