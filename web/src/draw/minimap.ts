import { BOX } from "../layout/layered/drawing.ts";
import { ADDED, CHANGED, REMOVED } from "../layout/graph/scene.ts";
import { seen } from "./canvas.ts";
import type { Camera, Picture } from "./renderer.ts";
import type { Theme } from "./theme.ts";

/** Size of the map and the space between its border and the graph. */
const MAP_WIDTH = 132;
const MAP_HEIGHT = 148;
const PAD = 7;
/** A view of fewer map's sizes has no room for it: it would hide what it is a map of. */
const LEAST_VIEWS = 8;

/** The whole graph as a small map with the view marked in it; shown when part of the graph is outside the view. */
export class Minimap {
  private readonly ctx: CanvasRenderingContext2D;
  private boxes: HTMLCanvasElement | null = null;
  private picture: Picture | null = null;
  private scale = 1;
  private left = 0;
  private top = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.ctx = canvas.getContext("2d")!;
  }

  setPicture(picture: Picture, theme: Theme, ratio: number): void {
    this.picture = picture;
    const { bounds, scene, placement } = picture;
    const width = bounds.right - bounds.left;
    const height = bounds.bottom - bounds.top;
    this.scale = Math.min((MAP_WIDTH - 2 * PAD) / width, (MAP_HEIGHT - 2 * PAD) / height);
    this.left = MAP_WIDTH / 2 - ((bounds.left + bounds.right) / 2) * this.scale;
    this.top = MAP_HEIGHT / 2 - ((bounds.top + bounds.bottom) / 2) * this.scale;
    this.canvas.width = Math.round(MAP_WIDTH * ratio);
    this.canvas.height = Math.round(MAP_HEIGHT * ratio);
    this.boxes = document.createElement("canvas");
    this.boxes.width = this.canvas.width;
    this.boxes.height = this.canvas.height;
    const ctx = this.boxes.getContext("2d")!;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    // changes last, over everything and never thinner than a pixel
    for (const changes of [false, true]) {
      for (let box = 0; box < scene.count; box++) {
        const state = scene.state[box]!;
        if ((state !== 0) !== changes) continue;
        ctx.fillStyle =
          state === ADDED
            ? theme.added
            : state === CHANGED
              ? theme.changed
              : state === REMOVED
                ? theme.removed
                : theme.fg4;
        const least = changes ? 2 : 0.5;
        const w = Math.max(least, scene.width[box]! * this.scale);
        const h = Math.max(least, BOX * this.scale);
        ctx.fillRect(
          this.left + placement.x[box]! * this.scale - w / 2,
          this.top + placement.y[box]! * this.scale - h / 2,
          w,
          h,
        );
      }
    }
  }

  /** Draws the map; false, and nothing, when the whole graph is in the view, or that is small. */
  draw(camera: Camera, width: number, height: number, theme: Theme, ratio: number): boolean {
    if (this.picture === null || this.boxes === null) return false;
    if (width * height < LEAST_VIEWS * MAP_WIDTH * MAP_HEIGHT) return false;
    const view = seen(camera, width, height);
    const { bounds } = this.picture;
    if (
      view.left <= bounds.left &&
      view.right >= bounds.right &&
      view.top <= bounds.top &&
      view.bottom >= bounds.bottom
    )
      return false;
    const { ctx } = this;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
    ctx.drawImage(this.boxes, 0, 0);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = Math.max(1, this.left + view.left * this.scale);
    const y = Math.max(1, this.top + view.top * this.scale);
    const right = Math.min(MAP_WIDTH - 1, this.left + view.right * this.scale);
    const bottom = Math.min(MAP_HEIGHT - 1, this.top + view.bottom * this.scale);
    ctx.fillStyle = theme.accentVeil;
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 1;
    ctx.fillRect(x, y, Math.max(2, right - x), Math.max(2, bottom - y));
    ctx.strokeRect(x, y, Math.max(2, right - x), Math.max(2, bottom - y));
    return true;
  }

  /** The point of the graph under a point of the map. */
  at(x: number, y: number): { x: number; y: number } {
    return { x: (x - this.left) / this.scale, y: (y - this.top) / this.scale };
  }
}
