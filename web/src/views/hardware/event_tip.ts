/** The tooltip over a trace: operation, lane, cycle and instruction of what is under the pointer. */
import { fill, h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import { topHeight, wholeSpan, type HardwarePicture } from "../../draw/hardware_draw.ts";
import { HEAD } from "../../layout/hardware_rows.ts";
import type { InstructionsWire, LaneEvents } from "../../wire/hardware.ts";

export interface Hit {
  lane: number;
  events: LaneEvents;
  index: number;
}

/** The cycle at a place of a drawing that is `width` px wide. */
export function cycleAt(picture: HardwarePicture, x: number, width: number): number {
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

export class EventTip {
  private readonly element = h("div.tooltip", { role: "tooltip", hidden: true });
  private timer = 0;

  constructor() {
    document.body.append(this.element);
  }

  /** Shows after 80 ms what `find` gives by then. */
  after(
    event: PointerEvent,
    find: () => { hit: Hit; picture: HardwarePicture; instructions: InstructionsWire | null } | null,
  ): void {
    window.clearTimeout(this.timer);
    const { clientX, clientY } = event;
    this.timer = window.setTimeout(() => {
      const found = find();
      if (!found) return this.hide();
      const { hit, picture, instructions } = found;
      const { events, index } = hit;
      const instruction = events.instruction[index]!;
      const many = events.weight[index]! >> 1;
      const cycle = count(events.start[index]! - wholeSpan(picture).first);
      fill(
        this.element,
        h("b", picture.trace.ops[events.op[index]!] ?? ""),
        h(
          "span.dim",
          ` · ${picture.trace.lanes[hit.lane]!.label} · cycle ${cycle}${many > 1 ? ` · first of ${count(many)} in this pixel` : ""}`,
        ),
        instruction >= 0 && instructions ? h("div.mono", instructions.text[instruction] ?? "") : null,
      );
      this.element.hidden = false;
      this.element.style.left = `${Math.min(clientX + 12, window.innerWidth - this.element.offsetWidth - 4)}px`;
      this.element.style.top = `${Math.min(clientY + 14, window.innerHeight - this.element.offsetHeight - 4)}px`;
    }, 80);
  }

  hide(): void {
    window.clearTimeout(this.timer);
    this.element.hidden = true;
  }

  remove(): void {
    this.hide();
    this.element.remove();
  }
}
