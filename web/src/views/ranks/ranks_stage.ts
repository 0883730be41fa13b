/** A canvas as large as its place, drawn anew when that, the theme or the data changes. */
import { h } from "../../base/dom.ts";
import { readRanksTheme, type RanksTheme } from "../../draw/ranks_draw.ts";
import type { Pen } from "../../draw/sheet/pen.ts";
import type { Sheet } from "../../draw/sheet/sheet.ts";
import { sizedPen } from "../common/sized_pen.ts";
import { offerSheets } from "../common/sheets.ts";

export interface StageOptions {
  label: string;
  title: string;
  /** What it draws; nothing while there is no data. */
  paint: (pen: Pen, theme: RanksTheme, size: { width: number; height: number }) => void;
  detail: () => string;
}

export class RanksStage {
  readonly canvas: HTMLCanvasElement;
  private readonly watcher: ResizeObserver;
  private readonly colours: MutationObserver;
  private theme: RanksTheme | null = null;
  private waiting = 0;

  constructor(
    readonly element: HTMLElement,
    private readonly options: StageOptions,
  ) {
    this.canvas = h("canvas", { role: "img", "aria-label": options.label, tabindex: "0" }) as HTMLCanvasElement;
    element.append(this.canvas);
    offerSheets(element, () => this.sheet());
    this.watcher = new ResizeObserver(() => this.soon());
    this.watcher.observe(element);
    this.colours = new MutationObserver(() => {
      this.theme = null;
      this.soon();
    });
    this.colours.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class"] });
  }

  soon(): void {
    if (this.waiting !== 0) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  dispose(): void {
    cancelAnimationFrame(this.waiting);
    this.watcher.disconnect();
    this.colours.disconnect();
  }

  private draw(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width === 0 || height === 0) return;
    const began = performance.now();
    const { canvas } = this;
    const pen = sizedPen(canvas, width, height);
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    this.theme ??= readRanksTheme(this.element);
    this.options.paint(pen, this.theme, { width, height });
    this.element.dataset["frame"] = (performance.now() - began).toFixed(2);
  }

  private sheet(): Sheet[] {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width === 0 || height === 0) return [];
    const theme = readRanksTheme(this.element);
    const paint = (pen: Pen): void => this.options.paint(pen, theme, { width, height });
    return [{ title: this.options.title, detail: this.options.detail(), width, height, paint }];
  }
}
