import type { Drawing, Placement } from "./drawing.ts";
import { layered } from "./layered.ts";
import type { LayoutRequest } from "./worker.ts";

/** Address of the worker's script; the build puts it here. */
declare const LAYOUT_WORKER: string;

interface Reply {
  ticket: number;
  placement: Placement;
  took: number;
}

/** Lays out graphs in one persistent worker, or here where there is none. */
export class LayoutClient {
  private worker: Worker | null = null;
  private next = 0;
  private readonly waiting = new Map<number, { drawing: Drawing; resolve: (placement: Placement) => void }>();
  /** How long the last layout took inside the worker, in ms. */
  took = 0;

  constructor() {
    if (typeof LAYOUT_WORKER === "undefined" || LAYOUT_WORKER === "") return;
    this.worker = new Worker(LAYOUT_WORKER, { type: "module", name: "layout" });
    this.worker.addEventListener("message", (event: MessageEvent<Reply>) => {
      this.took = event.data.took;
      this.waiting.get(event.data.ticket)?.resolve(event.data.placement);
      this.waiting.delete(event.data.ticket);
    });
    this.worker.addEventListener("error", () => this.giveUp());
  }

  /** The placement of a drawing. The drawing's arrays stay with the caller. */
  layout(drawing: Drawing): Promise<Placement> {
    const worker = this.worker;
    if (worker === null) return Promise.resolve(layered(drawing));
    return new Promise((resolve) => {
      const request: LayoutRequest = { ticket: this.next++, drawing };
      this.waiting.set(request.ticket, { drawing, resolve });
      worker.postMessage(request);
    });
  }

  dispose(): void {
    this.worker?.terminate();
    this.worker = null;
  }

  /** A worker that could not start must not leave the page without a graph: what waits is laid out here. */
  private giveUp(): void {
    this.worker?.terminate();
    this.worker = null;
    for (const { drawing, resolve } of this.waiting.values()) resolve(layered(drawing));
    this.waiting.clear();
  }
}
