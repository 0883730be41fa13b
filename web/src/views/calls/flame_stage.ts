/** The flame graph on the screen: a canvas as large as its window, scrolled over as many levels as there are. */
import { h } from "../../base/dom.ts";
import { count, duration, percent } from "../../base/format.ts";
import type { CallModel, Palette } from "../../data/calls.ts";
import {
  drawFlame,
  flameHeight,
  levelAt,
  PAD,
  readFlameTheme,
  ROW,
  type FlameLabels,
  type FlameTheme,
} from "../../draw/flame_draw.ts";
import type { Sheet } from "../../draw/sheet/sheet.ts";
import { boxAt, flameBoxes, flameLevels, type FlameBox } from "../../layout/flame.ts";
import { sizedPen } from "../common/sized_pen.ts";
import { offerSheets } from "../common/sheets.ts";
import { PointerTip } from "../common/viewport/resting_tip.ts";

export interface FlameOptions {
  onSelect: (node: number) => void;
  onFocus: (node: number) => void;
}

export class FlameStage {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { role: "img", "aria-label": "Flame graph, widest call first" });
  private readonly space = h("div.flame-space", this.canvas);
  private readonly tip = new PointerTip();
  private readonly watcher: ResizeObserver;
  private readonly colours: MutationObserver;
  private theme: FlameTheme | null = null;
  private model: CallModel | null = null;
  private palette: Palette = { colour: [], legend: [] };
  private boxes: FlameBox[] = [];
  private places = new Map<number, number>();
  private selected = -1;
  private hit: (node: number) => boolean = () => true;
  private waiting = 0;

  constructor(host: HTMLElement, options: FlameOptions) {
    this.element = h("div.flame", this.space);
    host.append(this.element);
    offerSheets(this.element, () => this.sheet());
    this.element.addEventListener("scroll", () => this.soon(), { passive: true });
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.tip.leave());
    this.canvas.addEventListener("click", (event) => this.pick(event, options.onSelect));
    this.canvas.addEventListener("dblclick", (event) => this.pick(event, options.onFocus));
    this.watcher = new ResizeObserver(() => this.layout());
    this.watcher.observe(this.element);
    this.colours = new MutationObserver(() => {
      this.theme = null;
      this.soon();
    });
    this.colours.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class"] });
  }

  show(model: CallModel, palette: Palette, hit: (node: number) => boolean): void {
    this.model = model;
    this.palette = palette;
    this.hit = hit;
    this.layout();
  }

  /** Marks a node and brings it in sight. */
  select(node: number): void {
    this.selected = node;
    const at = this.places.get(node);
    if (at !== undefined) {
      const y = flameHeight(this.boxes[at]!.level) - 16;
      const { scrollTop, clientHeight } = this.element;
      if (y < scrollTop) this.element.scrollTop = y;
      else if (y + ROW + 8 > scrollTop + clientHeight) this.element.scrollTop = y + ROW + 8 - clientHeight;
    }
    this.soon();
  }

  dispose(): void {
    cancelAnimationFrame(this.waiting);
    this.watcher.disconnect();
    this.colours.disconnect();
    this.tip.dispose();
  }

  private layout(): void {
    if (!this.model) return;
    const { clientWidth } = this.element;
    this.boxes = flameBoxes(this.model, clientWidth - 2 * PAD);
    this.places = new Map(this.boxes.map((box, at) => [box.node, at]));
    this.space.style.height = `${flameHeight(flameLevels(this.boxes))}px`;
    this.soon();
  }

  private soon(): void {
    if (this.waiting !== 0) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  private draw(): void {
    const { model } = this;
    if (!model) return;
    const began = performance.now();
    const { clientWidth: width, clientHeight: height, scrollTop: scroll } = this.element;
    const canvas = this.canvas as HTMLCanvasElement;
    const pen = sizedPen(canvas, width, height);
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    this.theme ??= readFlameTheme(this.element);
    drawFlame(pen, this.theme, this.boxes, this.labels(model), { width, height, scroll }, this.selected);
    this.element.dataset["boxes"] = String(this.boxes.length);
    this.element.dataset["frame"] = (performance.now() - began).toFixed(2);
  }

  private labels(model: CallModel): FlameLabels {
    return {
      colour: (node) => this.palette.colour[model.wire.function[node]!] ?? 0,
      name: (node) => model.label(node),
      time: (node) => duration(model.weight(node)),
      dimmed: (node) => !this.hit(node),
    };
  }

  /** All levels, those below the lower edge too. */
  private sheet(): Sheet[] {
    const { model, boxes } = this;
    if (!model || boxes.length === 0) return [];
    const width = this.element.clientWidth;
    const height = flameHeight(flameLevels(boxes));
    const theme = readFlameTheme(this.element);
    return [
      {
        title: "Flame graph",
        detail: `${model.name(0)}, ${duration(model.weight(0))}`,
        width,
        height,
        paint: (pen) => drawFlame(pen, theme, boxes, this.labels(model), { width, height, scroll: 0 }, this.selected),
      },
    ];
  }

  /** Where a node is drawn on the canvas, for tests; null when it is too narrow. */
  boxOf(node: number): { x: number; y: number; width: number } | null {
    const at = this.places.get(node);
    if (at === undefined) return null;
    const box = this.boxes[at]!;
    return { x: box.x + PAD, y: flameHeight(box.level) - 8 - this.element.scrollTop, width: box.width };
  }

  private at(event: MouseEvent): FlameBox | null {
    const { left, top } = this.canvas.getBoundingClientRect();
    const level = levelAt(event.clientY - top + this.element.scrollTop);
    return boxAt(this.boxes, event.clientX - left - PAD, level);
  }

  private pick(event: MouseEvent, act: (node: number) => void): void {
    const box = this.at(event);
    if (box) act(box.node);
  }

  private hover(event: PointerEvent): void {
    const { model } = this;
    const box = this.at(event);
    this.canvas.style.cursor = box ? "pointer" : "";
    if (!box || !model) return this.tip.leave();
    this.tip.at(event.clientX, event.clientY, () => {
      const { wire } = model;
      const { node } = box;
      const share = percent(model.weight(node), model.weight(0));
      return [
        h("div.mono", h("b", model.name(node))),
        h(
          "div",
          `${model.inverted ? "" : `total ${duration(wire.total[node]!)} · `}self ${duration(wire.self[node]!)}`,
        ),
        h("div.faint", `${count(wire.count[node]!)} calls · ${share} of ${model.name(0)}`),
        model.place(node) === "" ? null : h("div.mono.faint", model.place(node)),
      ];
    });
  }
}
