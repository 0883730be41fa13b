/** What is in the file beside replies: columns of slices, counters, buffers, uses and flows, each read when it is wanted. */
import type { NamesWire, TimelineWire } from "../../wire/timeline.ts";
import { Columns } from "./columns.ts";
import { Lanes } from "./lanes.ts";
import type { Parts } from "./parts.ts";
import { Refused } from "./raw_reply.ts";
import { Replies } from "./replies.ts";

/** Texts that repeat: the place of each row's text in `texts`, -1 for none. */
export interface CodedTexts {
  code: Int32Array;
  texts: readonly string[];
}

interface Names {
  /** As recorded, with colour codes. */
  text: string[];
  colour: number[];
}

const ASK = "Ask the sender for the capture itself.";

/** A row of the timeline with the title that tells it from others. */
export interface CopiedTrack {
  id: number;
  title: string;
  kind: string;
  group: string;
  depths: readonly number[];
  slices: number;
}

export class Tables {
  readonly replies: Replies;
  private readonly made = new Map<string, Promise<unknown>>();

  constructor(readonly parts: Parts) {
    this.replies = new Replies(parts);
  }

  /** Something that is made once. */
  once<T>(name: string, make: () => Promise<T>): Promise<T> {
    let found = this.made.get(name) as Promise<T> | undefined;
    if (!found) this.made.set(name, (found = make()));
    return found;
  }

  /** A table of the file, null when it was left out. */
  table<Facts>(name: string): Promise<Columns<Facts> | null> {
    return this.once(`table ${name}`, async () =>
      this.parts.has(name) ? new Columns<Facts>(await this.parts.open(name)) : null,
    );
  }

  timeline(): Promise<TimelineWire> {
    return this.once("timeline", async () => {
      const found = await this.replies.json<TimelineWire>("timeline");
      if (!found) throw new Refused(`This copy has no timeline. ${ASK}`);
      return found;
    });
  }

  tracks(): Promise<CopiedTrack[]> {
    return this.once("tracks", async () => {
      const { tracks } = await this.timeline();
      return tracks.id.map((id, at) => ({
        id,
        title: tracks.where[at] === "" ? tracks.name[at]! : `${tracks.name[at]!} · ${tracks.where[at]!}`,
        kind: tracks.kind[at]!,
        group: tracks.group[at]!,
        depths: tracks.depths[at]!,
        slices: tracks.slices[at]!,
      }));
    });
  }

  lanes(): Promise<Lanes> {
    return this.once("lanes", async () => {
      const found = await this.table<ConstructorParameters<typeof Lanes>[0]["facts"]>("slices");
      if (!found) throw new Refused(`The slices were left out of this copy. ${ASK}`);
      return new Lanes(found);
    });
  }

  /** The lanes with their slices; a sentence when only their picture is in the file. */
  async slices(): Promise<Lanes> {
    const lanes = await this.lanes();
    if (!lanes.exact) throw new Refused(`This copy holds the slices from afar only: they were too many. ${ASK}`);
    return lanes;
  }

  names(): Promise<Names> {
    return this.once("names", async () => {
      const all: Names = { text: [], colour: [] };
      for (let first = 0; ;) {
        const page = await this.replies.json<NamesWire>(`timeline/names?first=${first}`);
        if (!page) return all;
        all.text.push(...page.text);
        all.colour.push(...page.colour);
        first += page.page;
        if (first >= page.total) return all;
      }
    });
  }

  /** What slices were recorded with; null when it was left out. */
  args(): Promise<CodedTexts | null> {
    return this.once("args", async () => {
      const columns = await this.table<{ texts: string[] }>("args");
      return columns && { code: columns.ints("code"), texts: columns.facts.texts };
    });
  }
}

/** The object that a text is; null when it is none. */
export function objectIn(text: string | undefined): Record<string, unknown> | null {
  if (text === undefined || text === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** What slices count of an interval: those that overlap it, with the part inside; null counts all. */
export type Interval = readonly [number, number] | null;

export function isInside(start: number, end: number, interval: Interval): boolean {
  return interval === null || (start < interval[1] && (start >= interval[0] || end > interval[0]));
}
