/** The canvas of a hardware drawing: it follows the size of its host and the theme, and draws once a frame at most. */
import { fill, h } from "../../base/dom.ts";
import { readTheme, type Theme } from "../../draw/theme.ts";
import { onTheme } from "../../state/settings.ts";
import { sizedPen } from "../common/sized_pen.ts";

export class DrawnCanvas {
  readonly element: HTMLCanvasElement;
  private readonly watcher: ResizeObserver;
  private readonly stopTheme: () => void;
  private frame = 0;

  constructor(
    private readonly host: HTMLElement,
    label: string,
    /** The host has another size. */
    resized: () => void,
    private readonly draw: (pen: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void,
  ) {
    this.element = h("canvas.hw-canvas", {
      tabindex: 0,
      role: "application",
      "aria-label": label,
    }) as HTMLCanvasElement;
    this.stopTheme = onTheme(() => this.redraw());
    this.watcher = new ResizeObserver(resized);
    this.watcher.observe(host);
  }

  /** Takes the place of whatever the host shows. */
  show(): void {
    if (!this.shown) fill(this.host, this.element);
  }

  get shown(): boolean {
    return this.element.parentElement === this.host;
  }

  redraw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.shown) return;
      const { clientWidth: width, clientHeight: height } = this.host;
      this.draw(sizedPen(this.element, width, height), width, height, readTheme(this.element));
    });
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    this.watcher.disconnect();
    this.stopTheme();
  }
}
