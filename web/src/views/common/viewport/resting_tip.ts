/** Tooltips of drawings: they come when the pointer rests, stay while it is in them, and go with it or with a key. */
import { fill, h } from "../../../base/dom.ts";

export const HOVER_MS = 80;

export class RestingTip {
  private timer = 0;
  private readonly stop = new AbortController();

  /** Fills and places an element that the caller keeps; it is hidden until then. */
  constructor(protected readonly box: HTMLElement) {
    const { signal } = this.stop;
    box.hidden = true;
    box.addEventListener("pointerenter", () => window.clearTimeout(this.timer), { signal });
    box.addEventListener("pointerleave", () => this.leave(), { signal });
    // a key may move the picture away from under the pointer
    document.addEventListener("keydown", () => this.hide(), { signal });
  }

  /** After a rest calls `show`, which fills and places the box, or says that there is nothing to show. */
  soon(show: () => boolean): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.box.hidden = !show()), HOVER_MS);
  }

  /** The pointer left what the tip is about; it may be on its way into the tip. */
  leave(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.hide(), HOVER_MS);
  }

  hide(): void {
    window.clearTimeout(this.timer);
    this.box.hidden = true;
  }

  dispose(): void {
    this.hide();
    this.stop.abort();
    this.box.remove();
  }
}

/** A tip beside the pointer. */
export class PointerTip extends RestingTip {
  constructor() {
    super(h("div.tooltip", { role: "tooltip" }));
    document.body.append(this.box);
  }

  /** What to show is asked for when it is time. */
  at(x: number, y: number, content: () => readonly (Node | null)[] | null): void {
    this.soon(() => {
      const nodes = content();
      if (nodes === null) return false;
      fill(this.box, ...nodes);
      this.box.hidden = false; // only what is shown has a size
      const { offsetWidth, offsetHeight } = this.box;
      const left = x + 12 + offsetWidth < window.innerWidth ? x + 12 : x - offsetWidth - 8;
      const top = y + 16 + offsetHeight < window.innerHeight ? y + 16 : y - offsetHeight - 8;
      this.box.style.left = `${Math.max(4, left)}px`;
      this.box.style.top = `${Math.max(4, top)}px`;
      return true;
    });
  }
}
