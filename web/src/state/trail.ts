/** The way to the layout on the screen: what keeps its place does so because of the graphs before it. */

/** A graph on the way. */
export interface Station {
  step: number;
  match: number;
}

interface Leg {
  step: number;
  /** Laid out or jumped to here, and walked match by match to there. */
  from: number;
  to: number;
}

/** A longer way is not gone again: a link from there opens with a layout of its own. */
const MOST_GRAPHS = 400;
const MOST_LEGS = 24;

export class Trail {
  private legs: Leg[] = [];

  /** The graph is laid out anew: nothing before it counts. */
  begin({ step, match }: Station): void {
    this.legs = [{ step, from: match, to: match }];
  }

  /** On to another graph. To walk back along a leg shortens it, since every box goes back to its place. */
  add({ step, match }: Station): void {
    const last = this.legs.at(-1);
    if (last?.step === step && Math.abs(last.to - match) <= 1) last.to = match;
    else this.legs.push({ step, from: match, to: match });
  }

  /** How many graphs it has. */
  get length(): number {
    return this.legs.reduce((sum, leg) => sum + Math.abs(leg.to - leg.from) + 1, 0);
  }

  /** Whether it is so long that a jump within the pass should rather begin a new one. */
  isFull({ step, match }: Station): boolean {
    const last = this.legs.at(-1);
    const near = last?.step === step && Math.abs(last.to - match) <= 1;
    return !near && last?.step === step && (this.legs.length >= MOST_LEGS || this.length >= MOST_GRAPHS);
  }

  /** "0-21,57-60": laid out at 0, walked to 21, jumped to 57; null where there is nothing to say, or too much. */
  format(step: number): string | null {
    const alone = this.legs.length === 1 && this.legs[0]!.from === this.legs[0]!.to;
    if (alone || this.legs.length > MOST_LEGS || this.length > MOST_GRAPHS) return null;
    return this.legs
      .map((leg) => `${leg.step === step ? "" : `${leg.step}.`}${leg.from}${leg.from === leg.to ? "" : `-${leg.to}`}`)
      .join(",");
  }
}

/** The graphs of a way that was written down, in order; none when it is not one. */
export function stationsOf(text: string, step: number): Station[] {
  const stations: Station[] = [];
  for (const part of text.split(",").slice(0, MOST_LEGS)) {
    const found = /^(?:(\d{1,9})\.)?(\d{1,9})(?:-(\d{1,9}))?$/.exec(part);
    if (found === null) return [];
    const [from, to] = [Number(found[2]), Number(found[3] ?? found[2])];
    if (stations.length + Math.abs(to - from) >= MOST_GRAPHS) return [];
    const by = to < from ? -1 : 1;
    for (let match = from; match !== to + by; match += by) stations.push({ step: Number(found[1] ?? step), match });
  }
  return stations;
}
