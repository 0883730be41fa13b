/**
 * The time axis of a tape: real time with idle stretches folded away. What is drawn lies on a line of its own (u, ns).
 */

export interface Fold {
  u0: number;
  u1: number;
  /** ns that are not drawn. */
  ns: number;
}

export interface Tick {
  u: number;
  text: string;
}

const GAP = 0.03;

export class TapeAxis {
  /** ns of everything that is drawn. */
  readonly length: number;
  readonly folds: Fold[] = [];
  private readonly starts: number[] = [];
  private readonly gap: number;

  /** Stretches in the order of time; a clock that cannot tell anything apart still gets some room. */
  constructor(
    private readonly parts: readonly (readonly [number, number])[],
    resolution: number,
  ) {
    const total = parts.reduce((sum, [a, b]) => sum + b - a, 0);
    const room = Math.max(total, 10 * resolution);
    this.gap = room * GAP;
    let u = 0;
    parts.forEach(([a, b], i) => {
      if (i > 0) {
        this.folds.push({ u0: u, u1: u + this.gap, ns: a - parts[i - 1]![1] });
        u += this.gap;
      }
      this.starts.push(u);
      u += b - a;
    });
    this.length = Math.max(u, room);
  }

  /** ns that are folded between the stretches. */
  get folded(): number {
    return this.folds.reduce((sum, fold) => sum + fold.ns, 0);
  }

  get begin(): number {
    return this.parts[0]![0];
  }

  toU(time: number): number {
    const { parts, starts } = this;
    let i = parts.length - 1;
    while (i > 0 && time < parts[i]![0]) i--;
    const [a, b] = parts[i]!;
    const next = parts[i + 1];
    if (next === undefined || time <= b) return starts[i]! + time - a;
    return starts[i]! + (b - a) + (this.gap * (time - b)) / (next[0] - b);
  }

  toTime(u: number): number {
    const { parts, starts } = this;
    let i = parts.length - 1;
    while (i > 0 && u < starts[i]!) i--;
    const [a, b] = parts[i]!;
    const next = parts[i + 1];
    const over = u - starts[i]! - (b - a);
    if (next === undefined || over <= 0) return a + u - starts[i]!;
    return b + (over / this.gap) * (next[0] - b);
  }

  /** Round seconds between two places, about `spacing` px apart. */
  ticks(u0: number, u1: number, width: number, spacing = 76): Tick[] {
    const step = nice(((u1 - u0) / Math.max(1, width)) * spacing);
    const decimals = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step) + 1e-9)));
    const found: Tick[] = [];
    this.parts.forEach(([a, b], i) => {
      const from = i === 0 ? Math.min(a, this.toTime(u0)) : a;
      const to = i === this.parts.length - 1 ? Math.max(b, this.toTime(u1)) : b;
      const before = found.length;
      const first = Math.ceil(Math.max(from, this.toTime(u0)) / step);
      for (let k = first; k * step <= to && found.length < 400; k++) {
        const u = this.toU(k * step);
        if (u > u1) break;
        found.push({ u, text: ((k * step) / 1e9).toFixed(decimals) });
      }
      // too short for a round number: its beginning is better than nothing
      const u = this.toU(a);
      if (found.length === before && this.parts.length > 1 && u >= u0 && u <= u1)
        found.push({ u, text: (a / 1e9).toFixed(Math.max(3, decimals)) });
    });
    return found;
  }
}

/** The next 1, 2 or 5 times a power of ten. */
function nice(step: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(step, 1)));
  for (const factor of [1, 2, 5]) if (factor * power >= step * 0.999) return factor * power;
  return 10 * power;
}
