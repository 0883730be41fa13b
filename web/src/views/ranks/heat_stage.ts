/** The map of ranks by steps under the pointer: a click chooses a cell, dragging over steps a range of them. */
import { h } from "../../base/dom.ts";
import { counted } from "../../base/format.ts";
import { METRICS, valueText, type HeatModel } from "../../data/ranks.ts";
import { cellAt, columnNear, drawHeat, heatHeight, heatPlace, type HeatPlace } from "../../draw/ranks_draw.ts";
import { listen, type Drag, type Point, type Pointing } from "../common/viewport/gestures.ts";
import { PointerTip } from "../common/viewport/resting_tip.ts";
import { HeatPicture } from "./heat_picture.ts";
import { RanksStage } from "./ranks_stage.ts";

/** First and last column of a range. */
export type Columns = readonly [number, number];

export interface HeatActions {
  chosen: () => { step: number; rank: number };
  range: () => Columns | null;
  choose: (row: number, column: number) => void;
  /** Dragged from a column to another, which may lie before it. */
  select: (from: number, to: number) => void;
}

export class HeatStage {
  private readonly stage: RanksStage;
  private readonly picture = new HeatPicture();
  private readonly tip = new PointerTip();
  private readonly stop = new AbortController();
  private model: HeatModel | null = null;
  /** The columns that are being dragged over. */
  private pulled: Columns | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly scroll: HTMLElement,
    private readonly act: HeatActions,
  ) {
    this.stage = new RanksStage(host, {
      label: "Ranks by steps",
      title: "Ranks by steps",
      detail: () => this.title,
      paint: (pen, theme, size) => {
        const { model } = this;
        if (!model) return;
        const place = this.place(model, size.width);
        const cells = this.picture.painter(pen, theme, model, place, size);
        const marked = { ...this.act.chosen(), range: this.range };
        drawHeat(pen, theme, model, place, size, marked, cells);
      },
    });
    const gestures = {
      press: (at: Point) => this.press(at),
      hover: (at: Point | null, event: Pointing) => this.hover(at, event),
      wheel: (step: { scroll: number }) => (this.scroll.scrollTop += step.scroll),
    };
    listen(this.stage.canvas, gestures, this.stop.signal);
  }

  show(model: HeatModel): void {
    if (this.model !== model) this.pulled = null;
    this.model = model;
    this.host.style.height = `${heatHeight(model, this.place(model, this.scroll.clientWidth))}px`;
    this.stage.soon();
  }

  /** Lets go of what is being dragged; true when there was something. */
  letGo(): boolean {
    if (!this.pulled) return false;
    this.pulled = null;
    this.stage.soon();
    return true;
  }

  dispose(): void {
    this.stop.abort();
    this.stage.dispose();
    this.tip.dispose();
  }

  private get range(): Columns | null {
    if (!this.pulled) return this.act.range();
    const [from, to] = this.pulled;
    return from < to ? [from, to] : [to, from];
  }

  private get title(): string {
    return METRICS.find(([metric]) => metric === this.model?.metric)?.[1] ?? "";
  }

  private place(model: HeatModel, width: number): HeatPlace {
    return heatPlace(model, width, window.innerHeight < 780);
  }

  private press(at: Point): Drag | null {
    const { model } = this;
    this.tip.hide();
    if (!model) return null;
    const place = this.place(model, this.host.clientWidth);
    if (at.x < place.left || at.x > place.left + model.columns * place.cell) return null;
    const from = columnNear(model, place, at.x);
    let begun = false;
    return {
      look: "selecting",
      move: (to) => {
        if (begun && !this.pulled) return; // Escape let go of it
        begun = true;
        this.pulled = [from, columnNear(model, place, to.x)];
        this.stage.soon();
      },
      done: () => {
        const { pulled } = this;
        this.letGo();
        if (pulled) this.act.select(...pulled);
      },
      click: (to) => {
        const cell = cellAt(model, place, to.x, to.y);
        if (cell) this.act.choose(cell.row, cell.column);
      },
      cancel: () => this.letGo(),
    };
  }

  private hover(at: Point | null, event: Pointing): void {
    const { model } = this;
    const cell = at && model && cellAt(model, this.place(model, this.host.clientWidth), at.x, at.y);
    this.stage.canvas.style.cursor = cell ? "pointer" : "";
    if (!cell || event.buttons !== 0) return this.tip.leave();
    this.tip.at(event.clientX, event.clientY, () => {
      const others = model.head.counts[cell.row]! - 1;
      return [
        h("div", h("b", `rank ${model.head.ranks[cell.row]}`), ` · ${model.stepsText(cell.column, cell.column)}`),
        h("div", `${this.title}: ${valueText(model.value(cell.row, cell.column), model.metric)}`),
        h("div.faint", model.host(cell.row)),
        others > 0 ? h("div.faint", `the worst of ${counted(others + 1, "rank")}`) : null,
      ];
    });
  }
}
