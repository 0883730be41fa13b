/** The three panes: widths that the user drags, panes that shut and open, remembered between visits. */
import { h } from "../../base/dom.ts";
import { readSetting, writeSetting } from "../../state/settings.ts";

export type Side = "left" | "right";
const NARROW = 160;

export class Panes {
  readonly element: HTMLElement;
  readonly left = h("aside.pane.l");
  readonly middle = h("section.view");
  readonly right = h("aside.pane.r");
  private readonly handles: Record<Side, HTMLElement>;
  private used: Record<Side, string | null> = { left: null, right: null };

  constructor() {
    this.handles = { left: this.handle("left"), right: this.handle("right") };
    this.element = h("main.panes", this.left, this.handles.left, this.middle, this.handles.right, this.right);
    for (const side of ["left", "right"] as const) {
      const width = Number(readSetting(`width.${side}`, "0"));
      if (width > 0) this.setWidth(side, width);
    }
  }

  /** Which panes the view uses, with their names for screen readers; null for a pane that it does not. */
  use(left: string | null, right: string | null, middle: string): void {
    this.used = { left, right };
    this.left.setAttribute("aria-label", left ?? "");
    this.right.setAttribute("aria-label", right ?? "");
    this.middle.setAttribute("aria-label", middle);
    this.apply();
  }

  uses(side: Side): boolean {
    return this.used[side] !== null;
  }

  isOpen(side: Side): boolean {
    return readSetting(`pane.${side}`, "open") === "open";
  }

  toggle(side: Side): void {
    writeSetting(`pane.${side}`, this.isOpen(side) ? "shut" : "open");
    this.apply();
  }

  private apply(): void {
    for (const side of ["left", "right"] as const) {
      const shown = this.uses(side) && this.isOpen(side);
      this[side].hidden = !shown;
      this.handles[side].hidden = !shown;
      this.element.classList.toggle(`no-${side}`, !shown);
    }
  }

  private handle(side: Side): HTMLElement {
    const handle = h("div.split." + side, {
      role: "separator",
      tabindex: 0,
      "aria-orientation": "vertical",
      "aria-label": `Width of the ${side} pane`,
      "aria-valuenow": 0,
      "aria-valuetext": "as usual",
      title: "Drag to resize, double-click for the usual width",
    });
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      handle.setPointerCapture(event.pointerId);
      const move = (at: PointerEvent): void => this.drag(side, at.clientX);
      handle.addEventListener("pointermove", move);
      handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), { once: true });
    });
    handle.addEventListener("dblclick", () => this.setWidth(side, 0));
    handle.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.setWidth(side, this[side].offsetWidth + (side === "left" ? step : -step));
    });
    return handle;
  }

  private drag(side: Side, x: number): void {
    this.setWidth(side, side === "left" ? x : window.innerWidth - x);
  }

  /** 0 for the usual width. */
  private setWidth(side: Side, width: number): void {
    const bounded = width === 0 ? 0 : Math.max(NARROW, Math.min(width, window.innerWidth * 0.45));
    if (bounded === 0) this.element.style.removeProperty(`--w-${side}`);
    else this.element.style.setProperty(`--w-${side}`, `min(${Math.round(bounded)}px, 45vw)`);
    this.handles[side].setAttribute("aria-valuenow", String(Math.round(bounded)));
    this.handles[side].setAttribute("aria-valuetext", bounded === 0 ? "as usual" : `${Math.round(bounded)} pixels`);
    writeSetting(`width.${side}`, String(Math.round(bounded)));
  }
}
