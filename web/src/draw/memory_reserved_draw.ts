/** Draws beside the total what the allocator had reserved, and the moments at which there was no memory left. */
import { xOf, type Frame, type MemoryPicture, type MemoryTheme } from "./memory_draw.ts";
import type { Pen } from "./sheet/pen.ts";

const FLAG = "out of memory";

/** A dashed line above the total: what lies between the two is reserved and used by nobody. */
export function drawReserved(g: Pen, width: number, frame: Frame, picture: MemoryPicture, theme: MemoryTheme): void {
  const { data, span } = picture;
  if (!data || data.reserved.start.length === 0) return;
  const { start, high } = data.reserved;
  const last = start.length - 1;
  g.strokeStyle = theme.fg2;
  g.lineWidth = 1;
  g.setLineDash([4, 3]);
  g.beginPath();
  let begun = false;
  for (let i = 0; i <= last; i++) {
    const next = i < last ? start[i + 1]! : start[i]! + data.width;
    if (next < span.t0 || start[i]! > span.t1) continue;
    const y = Math.round(frame.totalBottom - high[i]! * frame.totalScale) + 0.5;
    if (begun) g.lineTo(xOf(start[i]!, span, width), y);
    else g.moveTo(xOf(start[i]!, span, width), y);
    begun = true;
    g.lineTo(xOf(next, span, width), y);
  }
  g.stroke();
  g.setLineDash([]);
}

/** A line where an allocation failed, with a flag where there is room for one. */
export function drawOutOfMemory(g: Pen, width: number, frame: Frame, picture: MemoryPicture, theme: MemoryTheme): void {
  let until = -Infinity;
  g.font = `600 11px ${theme.ui}`;
  g.textAlign = "left";
  for (const time of picture.ooms) {
    const x = Math.round(xOf(time, picture.span, width));
    if (time < picture.span.t0 || time > picture.span.t1) continue;
    g.fillStyle = theme.removed;
    g.fillRect(x, frame.totalTop, 1, frame.totalBottom - frame.totalTop);
    const room = g.measureText(FLAG).width + 8;
    const left = x + room > width - 12 ? x - room : x + 1;
    if (left < until) continue;
    g.fillStyle = theme.bg0;
    g.fillRect(left, frame.totalTop + 12, room, 16);
    g.fillStyle = theme.removed;
    g.fillText(FLAG, left + 4, frame.totalTop + 20);
    until = left + room;
  }
}
