/** Signals on a tape: their lines over the lanes, their names above. */
import { RULER, signalNames } from "../layout/tape_lanes.ts";
import type { Drawn, TapePicture, TapeTheme } from "./tape_draw.ts";
import { font } from "./tape_ruler.ts";

/** A signal is a red line, dashed where it ends, tinted between. */
export function drawSpans(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  x: (time: number) => number,
  picture: TapePicture,
  theme: TapeTheme,
  drawn: Drawn,
): void {
  g.fillStyle = theme.error;
  let last = -Infinity;
  picture.tape.signals.forEach((signal, index) => {
    const a = x(signal.start);
    const b = signal.span ? x(signal.end) : a;
    if (b < 0 || a > width) return;
    if (signal.span) {
      g.globalAlpha = 0.07;
      g.fillRect(a, RULER, Math.max(b - a, 1), height);
      g.globalAlpha = 1;
    }
    // many signals in one pixel are one line
    if (Math.round(a) !== last || signal.ending) line(a, signal.ending);
    if (signal.span) line(b, true);
    last = Math.round(a);
    drawn.lines.push({ x: a, index, end: signal.ending });
    if (signal.span) drawn.lines.push({ x: b, index, end: true });
  });
  function line(at: number, dashed: boolean): void {
    if (dashed) for (let y = RULER; y < height; y += 7) g.fillRect(Math.round(at), y, 1, 4);
    else g.fillRect(Math.round(at), RULER, 1, height);
  }
}

export function drawSignalNames(
  g: CanvasRenderingContext2D,
  width: number,
  x: (time: number) => number,
  picture: TapePicture,
  theme: TapeTheme,
  drawn: Drawn,
): void {
  font(g, theme, 11, 600);
  const short = picture.tape.signals.map((signal) =>
    signal.name.length > 40 ? { ...signal, name: `${signal.name.slice(0, 39)}…` } : signal,
  );
  const names = signalNames(short, x, width, (text) => g.measureText(text).width);
  drawn.left += names.left;
  for (const name of names.placed) {
    g.fillStyle = theme.bg0;
    g.fillRect(name.x - 2, name.y - 7, name.width + 4, 14);
    g.fillStyle = theme.error;
    g.fillText(name.text, name.x, name.y);
  }
}
