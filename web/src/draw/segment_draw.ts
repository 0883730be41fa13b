/** Draws one segment: its blocks where they lie, what was rounded up, what waits to be freed; the rest is free. */
import { bufferHandle } from "../base/format.ts";
import { bufferColour } from "../layout/memory_bands.ts";
import type { SegmentsWindow } from "../wire/memory.ts";
import { memoryTheme, type MemoryTheme } from "./memory_draw.ts";
import type { Pen } from "./sheet/pen.ts";

export { memoryTheme, type MemoryTheme };

export function drawSegment(
  g: Pen,
  size: { width: number; height: number },
  data: SegmentsWindow,
  index: number,
  [first, past]: readonly [number, number],
  chosen: number,
  theme: MemoryTheme,
): void {
  const { width, height } = size;
  const { offset, size: asked, taken, id, pending } = data.blocks;
  const scale = width / Math.max(1, data.bytes[index]!);
  g.fillStyle = theme.bg2;
  g.fillRect(0, 0, width, height);
  g.textBaseline = "middle";
  g.textAlign = "left";
  g.font = `400 10.5px ${theme.mono}`;
  const letter = g.measureText("0").width;
  let focus = -1;
  for (let i = first; i < past; i++) {
    const x0 = Math.round(offset[i]! * scale);
    const x1 = Math.max(x0 + 1, Math.round((offset[i]! + asked[i]!) * scale));
    const end = Math.max(x1, Math.round((offset[i]! + taken[i]!) * scale));
    const colour = bufferColour(id[i]!);
    if (end > x1) {
      g.fillStyle = theme.fg4;
      g.fillRect(x1, 0, end - x1, height);
    }
    g.fillStyle = theme.fills[colour]!;
    g.fillRect(x0, 0, Math.max(1, x1 - x0 - (x1 - x0 > 3 ? 1 : 0)), height);
    if (pending[i]) {
      g.fillStyle = theme.removed;
      g.fillRect(x0, height - 4, x1 - x0, 4);
    }
    const name = bufferHandle(id[i]!, false);
    if (x1 - x0 > name.length * letter + 8) {
      g.fillStyle = theme.inks[colour]!;
      g.fillText(name, x0 + 4, height / 2 + 0.5);
    }
    if (id[i] === chosen) focus = i;
  }
  if (focus < 0) return;
  const x0 = Math.round(offset[focus]! * scale);
  const w = Math.max(3, Math.round(taken[focus]! * scale));
  g.strokeStyle = theme.fg1;
  g.lineWidth = 2;
  g.strokeRect(x0 + 1, 1, w - 2, height - 2);
}
