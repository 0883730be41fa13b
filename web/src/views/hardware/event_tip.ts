/** What is under the pointer on a hardware trace, and what its tooltip says. */
import { h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import { topHeight, wholeSpan, type HardwarePicture } from "../../draw/hardware_draw.ts";
import { HEAD } from "../../layout/hardware_rows.ts";
import { instructionText, type InstructionsWire, type LaneEvents } from "../../wire/hardware.ts";

export interface Hit {
  lane: number;
  events: LaneEvents;
  index: number;
}

/** The cycle at a place of a drawing that is `width` px wide. */
function cycleAt(picture: HardwarePicture, x: number, width: number): number {
  return picture.t0 + ((x - HEAD) / (width - HEAD)) * (picture.t1 - picture.t0);
}

/** The event at a place of the drawing, or the nearest within four pixels. */
export function hitAt(picture: HardwarePicture, x: number, y: number, width: number): Hit | null {
  const top = topHeight(picture);
  if (y < top || x < HEAD) return null;
  const row = picture.rows.find(
    (other) =>
      other.lane >= 0 && y >= top + other.y - picture.scroll && y < top + other.y + other.height - picture.scroll,
  );
  const events = row && picture.lanes.get(row.lane);
  if (!row || !events || row.group === "all") return null;
  const at = cycleAt(picture, x, width);
  let best = -1;
  let distance = cycleAt(picture, x + 4, width) - at;
  for (let i = 0; i < events.start.length; i++) {
    const away = Math.max(events.start[i]! - at, at - events.end[i]!, 0);
    if (away <= distance && (best < 0 || away < distance)) [best, distance] = [i, away];
  }
  return best < 0 ? null : { lane: row.lane, events, index: best };
}

/** Operation, lane, cycle and instruction of an event. */
export function describeEvent(picture: HardwarePicture, hit: Hit, instructions: InstructionsWire | null): Node[] {
  const { events, index } = hit;
  const instruction = events.instruction[index]!;
  const many = events.weight[index]! >> 1;
  const cycle = count(events.start[index]! - wholeSpan(picture).first);
  const first = many > 1 ? ` · first of ${count(many)} in this pixel` : "";
  return [
    h("b", picture.trace.ops[events.op[index]!] ?? ""),
    h("span.dim", ` · ${picture.trace.lanes[hit.lane]!.label} · cycle ${cycle}${first}`),
    ...(instruction >= 0 && instructions ? [h("div.mono", instructionText(instructions, instruction))] : []),
  ];
}
