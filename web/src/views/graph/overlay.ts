import { fill, h } from "../../base/dom.ts";
import { BOX } from "../../layout/layered/drawing.ts";
import type { Camera, Picture } from "../../draw/renderer.ts";
import { RestingTip } from "../common/viewport/resting_tip.ts";

/** Something to do with a box, offered in its tooltip. */
export interface Tool {
  title: string;
  act(): void;
}

/** What the tooltip of a box says, and where the box is, px. */
export interface TipContent {
  text: string;
  tools: readonly Tool[];
  left: number;
  top: number;
  bottom: number;
}

/** What lies over the canvas as elements: the tooltip with its buttons, the selected box's text to select and copy. */
export class Overlay {
  private readonly tip = h("div.graph-tip", { hidden: true });
  private readonly text = h("div.graph-text", { hidden: true, "data-selected": "" });
  private readonly live = h("div.graph-live", { "aria-live": "polite" });
  private selected = -1;
  private readonly resting = new RestingTip(this.tip);

  constructor(private readonly host: HTMLElement) {
    host.append(this.text, this.tip, this.live);
  }

  /** What happens on the text of the selected box. */
  listen(
    act: { open(): void; hover(inside: boolean): void; wheel(event: WheelEvent): void },
    signal: AbortSignal,
  ): void {
    this.text.addEventListener("dblclick", () => act.open(), { signal });
    this.text.addEventListener("pointerenter", () => act.hover(true), { signal });
    this.text.addEventListener("pointerleave", () => act.hover(false), { signal });
    this.text.addEventListener("wheel", (event) => {
      event.preventDefault();
      act.wheel(event);
    }, { signal, passive: false }); // prettier-ignore
  }

  /** When the pointer rests, shows the full text of a box right under it, or above it where there is no room. */
  tipSoon(find: () => TipContent | null): void {
    this.resting.soon(() => {
      const found = find();
      if (found) this.showTip(found);
      return found !== null;
    });
  }

  leaveTip(): void {
    this.resting.leave();
  }

  private showTip({ text, tools, left, top, bottom }: TipContent): void {
    const [first = "", ...rest] = text.split("\n");
    const act = (tool: Tool): void => {
      this.resting.hide();
      tool.act();
    };
    const buttons = tools.map((tool) => h("button.btn", { type: "button", onclick: () => act(tool) }, tool.title));
    fill(
      this.tip,
      h("b", first),
      rest.length > 0 ? `\n${rest.join("\n")}` : "",
      tools.length > 0 && h("div.graph-tools", ...buttons),
    );
    this.tip.hidden = false;
    const { clientWidth, clientHeight } = this.host;
    const { offsetWidth, offsetHeight } = this.tip;
    const below = bottom + offsetHeight + 4 <= clientHeight || top < offsetHeight + 4;
    this.tip.style.left = `${Math.max(4, Math.min(left, clientWidth - offsetWidth - 4))}px`;
    this.tip.style.top = `${below ? bottom + 2 : top - offsetHeight - 2}px`;
  }

  hideTip(): void {
    this.resting.hide();
  }

  /** Makes a box the selected one; -1 for none. Its text is in its place at once: the pointer may be there already. */
  select(box: number, picture: Picture | null, camera: Camera, width: number, height: number): void {
    this.selected = box;
    this.text.hidden = box < 0 || picture === null;
    if (box < 0 || picture === null) return;
    const { name, arg, type } = picture.scene.labels[box]!;
    fill(this.text, h("b", name), arg === "" ? "" : ` ${arg}`, h("i", type));
    this.text.style.width = `${picture.scene.width[box]}px`;
    this.place(camera, picture, width, height);
  }

  /** Moves with the camera. */
  place(camera: Camera, picture: Picture | null, width: number, height: number): void {
    if (this.selected < 0 || picture === null) return;
    const { scene, placement } = picture;
    const w = scene.width[this.selected]!;
    const left = width / 2 + (placement.x[this.selected]! - w / 2 - camera.x) * camera.zoom;
    const top = height / 2 + (placement.y[this.selected]! - BOX / 2 - camera.y) * camera.zoom;
    this.text.style.transform = `translate(${left}px, ${top}px) scale(${camera.zoom})`;
    this.text.hidden = camera.zoom < 0.4;
  }

  dispose(): void {
    this.resting.dispose();
  }

  say(text: string): void {
    this.live.textContent = text;
  }
}
