import { BOX } from "./drawing.ts";

/** A growing list of Bézier pieces, edge after edge. */
export class CurveWriter {
  readonly start: Int32Array;
  private points = new Float32Array(1 << 14);
  private used = 0;

  constructor(edges: number) {
    this.start = new Int32Array(edges + 1);
  }

  /** The curve of an edge through points (x, y pairs) that run downwards; fewer than two points make none. */
  write(edge: number, way: readonly number[], count = way.length / 2): void {
    this.start[edge] = this.used;
    if (count < 2) return;
    this.need(2 + (count - 1) * 6);
    const slopes = slopesOf(way, count);
    this.points[this.used++] = way[0]!;
    this.points[this.used++] = way[1]!;
    for (let i = 0; i + 1 < count; i++) {
      const x0 = way[2 * i]!;
      const y0 = way[2 * i + 1]!;
      const x1 = way[2 * i + 2]!;
      const y1 = way[2 * i + 3]!;
      const third = (y1 - y0) / 3;
      this.points[this.used++] = x0 + slopes[i]! * third;
      this.points[this.used++] = y0 + third;
      this.points[this.used++] = x1 - slopes[i + 1]! * third;
      this.points[this.used++] = y1 - third;
      this.points[this.used++] = x1;
      this.points[this.used++] = y1;
    }
  }

  /** A curve that exists already, point by point. */
  copy(edge: number, points: ArrayLike<number>): void {
    this.start[edge] = this.used;
    this.need(points.length);
    for (let i = 0; i < points.length; i++) this.points[this.used++] = points[i]!;
  }

  finish(): { start: Int32Array; points: Float32Array } {
    this.start[this.start.length - 1] = this.used;
    return { start: this.start, points: this.points.slice(0, this.used) };
  }

  private need(more: number): void {
    if (this.used + more <= this.points.length) return;
    const grown = new Float32Array(Math.max(this.points.length * 2, this.used + more));
    grown.set(this.points);
    this.points = grown;
  }
}

/**
 * dx/dy at each point, so that the curve is smooth and never leaves the range between two points.
 *
 * The harmonic mean of the slopes on both sides, 0 where they disagree in sign: monotone cubic interpolation.
 */
function slopesOf(way: readonly number[], count: number): number[] {
  const piece: number[] = [];
  for (let i = 0; i + 1 < count; i++) {
    const dy = way[2 * i + 3]! - way[2 * i + 1]!;
    piece.push(dy === 0 ? 0 : (way[2 * i + 2]! - way[2 * i]!) / dy);
  }
  const slopes = [piece[0]!];
  for (let i = 1; i + 1 < count; i++) {
    const a = piece[i - 1]!;
    const b = piece[i]!;
    slopes.push(a * b <= 0 ? 0 : (2 * a * b) / (a + b));
  }
  slopes.push(piece[count - 2]!);
  return slopes;
}

/** Where a line from a box's centre towards (tx, ty) leaves the box through its top or bottom, kept off its corners. */
export function exit(x: number, y: number, width: number, tx: number, ty: number): number {
  const dy = Math.abs(ty - y);
  const out = dy === 0 ? 0 : ((tx - x) * BOX) / 2 / dy;
  const most = width / 2 - 10;
  return x + Math.max(-most, Math.min(most, out));
}
