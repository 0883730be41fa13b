/** The page's layout worker: takes a Drawing, answers with its Placement. Lives as long as the page. */
import type { Drawing } from "./drawing.ts";
import { layered } from "./layered.ts";

export interface LayoutRequest {
  ticket: number;
  drawing: Drawing;
}

self.addEventListener("message", (event: MessageEvent<LayoutRequest>) => {
  const { ticket, drawing } = event.data;
  const began = performance.now();
  const placement = layered(drawing);
  const { x, y, routes } = placement;
  const transfer = [x.buffer, y.buffer, routes.start.buffer, routes.points.buffer] as Transferable[];
  self.postMessage({ ticket, placement, took: performance.now() - began }, { transfer });
});
