/** The tooltip over a trace: operation, lane, cycle and instruction of what is under the pointer. */
import { fill, h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import { wholeSpan, type HardwarePicture } from "../../draw/hardware_draw.ts";
import type { InstructionsWire, LaneEvents } from "../../wire/hardware.ts";

export interface Hit {
  lane: number;
  events: LaneEvents;
  index: number;
}

export class EventTip {
  private readonly element = h("div.tooltip", { role: "tooltip", hidden: true });
  private timer = 0;

  constructor() {
    document.body.append(this.element);
  }

  /** Shows after 80 ms what `find` gives by then. */
  after(event: PointerEvent, find: () => { hit: Hit; picture: HardwarePicture; instructions: InstructionsWire | null } | null): void {
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
        h("span.dim", ` · ${picture.trace.lanes[hit.lane]!.label} · cycle ${cycle}${many > 1 ? ` · first of ${count(many)} in this pixel` : ""}`),
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
