/** The way to the layout on the screen: what keeps its place does so because of the graphs before it. */

/** A graph on the way. */
export interface Station {
  step: number;
  match: number;
  /** Whether it is the difference from the graph that is held. */
  since?: boolean;
}

interface Leg {
  step: number;
  since: boolean;
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
  begin({ step, match, since = false }: Station): void {
    this.legs = [{ step, since, from: match, to: match }];
  }

  /** On to another graph. To walk back along a leg shortens it, since every box goes back to its place. */
  add({ step, match, since = false }: Station): void {
    const last = this.legs.at(-1);
    if (last?.step === step && last.since === since && Math.abs(last.to - match) <= 1) last.to = match;
    else this.legs.push({ step, since, from: match, to: match });
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
    const said = (leg: Leg): string => `${leg.since ? "d" : ""}${leg.step === step ? "" : `${leg.step}.`}${leg.from}`;
    return this.legs.map((leg) => `${said(leg)}${leg.from === leg.to ? "" : `-${leg.to}`}`).join(",");
  }
}

/** The graphs of a way that was written down, in order; none when it is not one. */
export function stationsOf(text: string, step: number): Station[] {
  const stations: Station[] = [];
  for (const part of text.split(",").slice(0, MOST_LEGS)) {
    const found = /^(d)?(?:(\d{1,15})\.)?(\d{1,9})(?:-(\d{1,9}))?$/.exec(part);
    if (found === null) return [];
    const [from, to] = [Number(found[3]), Number(found[4] ?? found[3])];
    if (stations.length + Math.abs(to - from) >= MOST_GRAPHS) return [];
    const by = to < from ? -1 : 1;
    const at = { step: Number(found[2] ?? step), ...(found[1] === undefined ? {} : { since: true }) };
    for (let match = from; match !== to + by; match += by) stations.push({ ...at, match });
  }
  return stations;
}
