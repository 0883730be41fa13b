/** The ruler above a tape, and the selected range: veil, edges, and its length as a flag. */
import { duration } from "../base/format.ts";
import type { Span } from "../layout/span.ts";
import { RULER } from "../layout/tape_lanes.ts";
import type { Theme } from "./theme.ts";

export function font(g: CanvasRenderingContext2D, theme: Theme, size = 11, weight = 400): void {
  g.font = `${weight} ${size}px ${theme.ui}`;
}

/** The range under everything that is drawn. */
export function drawVeil(
  g: CanvasRenderingContext2D,
  height: number,
  x: (time: number) => number,
  { t0, t1 }: Span,
  theme: Theme,
): void {
  g.fillStyle = theme.accentVeil;
  g.fillRect(x(t0), RULER, x(t1) - x(t0), height);
}

/** Its edges over everything. */
export function drawEdges(
  g: CanvasRenderingContext2D,
  height: number,
  x: (time: number) => number,
  range: Span,
  theme: Theme,
): void {
  g.fillStyle = theme.accent;
  for (const time of [range.t0, range.t1]) g.fillRect(Math.round(x(time)), RULER, 1, height);
}

interface Flag {
  text: string;
  left: number;
  width: number;
  from: number;
  to: number;
}

/** The range's length on the ruler; null when it is out of sight. */
export function flagOf(
  g: CanvasRenderingContext2D,
  width: number,
  x: (time: number) => number,
  { t0, t1 }: Span,
  theme: Theme,
): Flag | null {
  const [from, to] = [Math.max(0, x(t0)), Math.min(width, x(t1))];
  if (to < 0 || from > width) return null;
  font(g, theme, 11, 600);
  const text = duration(t1 - t0);
  const wide = g.measureText(text).width + 12;
  return { text, width: wide, left: Math.max(0, Math.min(width - wide, (from + to) / 2 - wide / 2)), from, to };
}

export function drawRuler(
  g: CanvasRenderingContext2D,
  width: number,
  ticks: { x: number; text: string }[],
  flag: Flag | null,
  theme: Theme,
): void {
  g.fillStyle = theme.bg1;
  g.fillRect(0, 0, width, RULER);
  if (flag) {
    g.fillStyle = theme.accent;
    g.fillRect(flag.from, RULER - 2, Math.max(1, flag.to - flag.from), 2);
    g.beginPath();
    g.roundRect(flag.left, 3, flag.width, RULER - 7, 3);
    g.fill();
    font(g, theme, 11, 600);
    g.fillStyle = theme.bg0;
    g.fillText(flag.text, flag.left + 6, 11.5);
  }
  font(g, theme);
  let end = -Infinity;
  for (const tick of ticks) {
    const at = Math.round(tick.x);
    g.fillStyle = theme.line2;
    g.fillRect(at, RULER - 6, 1, 6);
    const w = g.measureText(tick.text).width;
    if (at + 4 < end || at + 4 + w > width) continue;
    if (flag && at < flag.left + flag.width + 4 && at + 8 + w > flag.left) continue; // a tick gives way to the range
    g.fillStyle = theme.fg2;
    g.fillText(tick.text, at + 4, 11);
    end = at + w + 14;
  }
  g.fillStyle = theme.line1;
  g.fillRect(0, RULER - 1, width, 1);
}
