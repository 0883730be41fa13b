/** The window of a drawing over an axis: wheel, drag, fingers, keys, range and tooltip, the same in every such view. */
import { anchorSpan, panSpan, zoomSpan, type Limits, type Span } from "../../../layout/span.ts";
import { listen, type Drag, type Gestures, type Grip, type Point, type Pointing } from "./gestures.ts";
import { axisKey } from "./keys.ts";
import { otherEnd, pullRange, type RangeTarget } from "./range.ts";
import { PointerTip } from "./resting_tip.ts";
import type { WheelStep } from "./wheel.ts";

/** A drawing that has a window. It keeps the window; the viewport asks for it and moves it. */
export interface AxisTarget {
  readonly span: Span;
  readonly limits: Limits;
  /** Where the axis lies on the element, px. */
  readonly axis: { left: number; width: number };
  /** The user moved the window. */
  move(span: Span): void;
  /** How far the rows are scrolled, px, when there are rows. */
  readonly scroll?: number;
  scrollTo?(y: number): void;
  /** A press on something that is not the axis; true when it was used. */
  press?(at: Point): boolean;
  click(at: Point): void;
  open?(at: Point): void;
  /** The pointer's look over a place. */
  cursor?(at: Point): string;
  /** What the tooltip says of a place. */
  describe(at: Point): readonly (Node | null)[] | null;
}

export class AxisViewport {
  private readonly tip = new PointerTip();
  private readonly stop = new AbortController();
  /** Where the pointer is, as a share of the axis; null when it is elsewhere. */
  private pointed: number | null = null;

  constructor(
    private readonly element: HTMLElement,
    private readonly target: AxisTarget,
    private readonly range: RangeTarget | null = null,
  ) {
    this.listen(element, {
      press: (at, shift) => this.press(at, shift),
      grip: (at) => this.grip(at),
      open: (at) => target.open?.(at),
      hover: (at, event) => this.hover(at, event),
    });
  }

  /** Listens to another element of the drawing, such as its ruler: the wheel does there what it does here. */
  listen(element: HTMLElement, gestures: Omit<Gestures, "wheel">): void {
    listen(element, { ...gestures, wheel: (step, at) => this.wheel(step, at) }, this.stop.signal);
  }

  /** Zooms with what is at `share` of the axis staying there: where the pointer is, else the middle. */
  zoom(factor: number, share = this.pointed ?? 0.5): void {
    this.move(zoomSpan(this.target.span, factor, share, this.target.limits));
  }

  /** Pans by a share of the window. */
  pan(share: number): void {
    const { span, limits } = this.target;
    this.move(panSpan(span, share * (span.t1 - span.t0), limits));
  }

  /** True for a key that moves the window. */
  key(event: { key: string; shiftKey: boolean }): boolean {
    const step = axisKey(event.key, event.shiftKey);
    if (!step) return false;
    if (step.pan !== 0) this.pan(step.pan);
    else this.zoom(step.factor);
    return true;
  }

  /** The pointer's look over an edge of the range. */
  edgeCursor(at: Point): string {
    return this.range && otherEnd(this.range, at.x) !== null ? "ew-resize" : "";
  }

  hideTip(): void {
    this.tip.hide();
  }

  dispose(): void {
    this.stop.abort();
    this.tip.dispose();
  }

  private move(span: Span): void {
    this.tip.hide(); // what is under the pointer is another
    this.target.move(span);
  }

  private shareAt(x: number): number {
    const { left, width } = this.target.axis;
    return (x - left) / Math.max(1, width);
  }

  private wheel(step: WheelStep, at: Point): void {
    const { target } = this;
    this.tip.hide();
    const share = this.shareAt(at.x);
    // over the names the wheel scrolls
    if (share < 0 && target.scrollTo) target.scrollTo((target.scroll ?? 0) + step.scroll);
    else if (step.factor === 1) this.pan(step.pan / Math.max(1, target.axis.width));
    else this.zoom(step.factor, Math.max(0, Math.min(1, share)));
  }

  private press(at: Point, shift: boolean): Drag | null {
    this.tip.hide();
    if (this.target.press?.(at)) return null;
    const { range } = this;
    if (range && shift) return pullRange(range, range.timeAt(at.x));
    const fixed = range && otherEnd(range, at.x);
    if (range && fixed !== null) return pullRange(range, fixed);
    return { ...this.grip({ ...at, apart: 1 }), click: (place) => this.target.click(place) };
  }

  private grip(from: Grip): Drag {
    const { target } = this;
    const { span, scroll = 0 } = target;
    return {
      look: "panning",
      move: (to) => {
        const y = scroll - (to.y - from.y);
        if (target.scrollTo && y !== target.scroll) target.scrollTo(y);
        this.move(anchorSpan(span, this.shareAt(from.x), this.shareAt(to.x), from.apart / to.apart, target.limits));
      },
    };
  }

  private hover(at: Point | null, event: Pointing): void {
    const { target } = this;
    if (at === null) {
      this.pointed = null;
      return this.tip.leave();
    }
    const share = this.shareAt(at.x);
    this.pointed = share >= 0 && share <= 1 ? share : null;
    if (event.buttons !== 0) return;
    const cursor = this.range && event.shiftKey ? "crosshair" : this.edgeCursor(at) || (target.cursor?.(at) ?? "");
    this.element.style.cursor = cursor;
    this.tip.at(event.clientX, event.clientY, () => target.describe(at));
  }
}
