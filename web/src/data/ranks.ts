/** The map of ranks by steps as the page holds it: which cell is where, how hot it is. */
import type { HeatHead } from "../wire/ranks.ts";

export type Metric = "own" | "wait" | "duration" | "busy" | "communication";

export const METRICS: readonly [Metric, string][] = [
  ["own", "Own time"],
  ["wait", "Wait"],
  ["duration", "Length"],
  ["busy", "Busy"],
  ["communication", "Communication"],
];

/** Own time and length are over the median of the step, the others a share of the step: where each heat begins. */
const OVER = [0.02, 0.05, 0.15, 0.4] as const;
const SHARE = [0.05, 0.2, 0.4, 0.7] as const;

export function isOver(metric: Metric): boolean {
  return metric === "own" || metric === "duration";
}

/** Which of five heats a value has; -1 for none. */
export function heatOf(value: number, metric: Metric): number {
  if (Number.isNaN(value)) return -1;
  const steps = isOver(metric) ? OVER : SHARE;
  const at = steps.findIndex((least) => value < least);
  return at < 0 ? steps.length : at;
}

/** What the five heats mean, for the legend. */
export function heatTexts(metric: Metric): string[] {
  const steps = isOver(metric) ? OVER : SHARE;
  const texts = steps.map((least) => `${Math.round(least * 100)}`);
  return [`< ${texts[0]}%`, texts[0]!, texts[1]!, texts[2]!, `> ${texts[3]}%`];
}

/** A value in words. */
export function valueText(value: number, metric: Metric): string {
  if (Number.isNaN(value)) return "no data";
  const share = `${(value * 100).toFixed(1)}%`;
  return isOver(metric) ? `${value >= 0 ? "+" : ""}${share} of the median` : `${share} of the step`;
}

export class HeatModel {
  private readonly rowOf = new Map<number, number>();

  constructor(
    readonly head: HeatHead,
    readonly values: Float32Array,
    readonly metric: Metric,
  ) {
    head.ranks.forEach((rank, at) => this.rowOf.set(rank, at));
  }

  get rows(): number {
    return this.head.ranks.length;
  }

  get columns(): number {
    return this.head.steps.length;
  }

  value(row: number, column: number): number {
    return this.values[row * this.columns + column] ?? Number.NaN;
  }

  row(rank: number): number {
    return this.rowOf.get(rank) ?? -1;
  }

  /** The column that has a step; -1 for one that is not there. */
  column(step: number): number {
    const { steps, lasts } = this.head;
    const at = lasts.findIndex((last) => last >= step);
    return at >= 0 && steps[at]! <= step ? at : -1;
  }

  /** First and last column with a step between two; null where none is. */
  columnsOf(first: number, last: number): [number, number] | null {
    const { steps, lasts } = this.head;
    const from = lasts.findIndex((one) => one >= first);
    const to = steps.findLastIndex((one) => one <= last);
    return from >= 0 && to >= from ? [from, to] : null;
  }

  /** The steps of some columns in words. */
  stepsText(from: number, to: number): string {
    const [first, last] = [this.head.steps[from]!, this.head.lasts[to]!];
    return first === last ? `step ${first}` : `steps ${first}–${last}`;
  }

  host(row: number): string {
    return this.head.hosts[String(this.head.ranks[row])] ?? "";
  }
}
