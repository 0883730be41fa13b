/** The cells of the map as a picture that is painted once: walking over 128,000 of them draws only what moves. */
import type { HeatModel } from "../../data/ranks.ts";
import { drawCells, type HeatPlace, type RanksTheme } from "../../draw/ranks_draw.ts";
import type { Pen } from "../../draw/sheet/pen.ts";

export class HeatPicture {
  private readonly canvas = document.createElement("canvas");
  private painted: readonly unknown[] = [];

  /** What puts the cells onto the canvas that is drawn on; onto anything else they are drawn one by one. */
  painter(
    pen: Pen,
    theme: RanksTheme,
    model: HeatModel,
    place: HeatPlace,
    size: { width: number; height: number },
  ): (pen: Pen) => void {
    if (!(pen instanceof CanvasRenderingContext2D)) return (other) => drawCells(other, theme, model, place);
    const ratio = window.devicePixelRatio || 1;
    const now = [model, theme, size.width, size.height, ratio, place.row];
    if (now.some((part, at) => part !== this.painted[at])) {
      this.painted = now;
      this.canvas.width = Math.round(size.width * ratio);
      this.canvas.height = Math.round(size.height * ratio);
      const context = this.canvas.getContext("2d")!;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      drawCells(context, theme, model, place);
    }
    return () => pen.drawImage(this.canvas, 0, 0, size.width, size.height);
  }
}
