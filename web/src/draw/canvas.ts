import { boxesIn, drawBoxes, drawStacks } from "./boxes.ts";
import { drawEdges, drawPorts } from "./edges.ts";
import { drawMarks } from "./marks.ts";
import type { Bounds, Camera, Marks, Picture, Renderer } from "./renderer.ts";
import type { Pen } from "./sheet/pen.ts";
import type { Theme } from "./theme.ts";

/** Up to this many boxes and edges in view, each frame is drawn anew; above, a bitmap moves with the view. */
const LIGHT = 700;
/** Width and height of a kept bitmap against the view: room to pan in. */
const MARGIN = 1.4;
const GRID = 24;
const PORTS = 0.95;

interface Kept {
  canvas: HTMLCanvasElement;
  camera: Camera;
  width: number;
  height: number;
}

/** Canvas 2D: culls, drops detail with the zoom, and moves a bitmap where drawing anew would be slow. */
export class CanvasRenderer implements Renderer {
  private readonly ctx: CanvasRenderingContext2D;
  private picture: Picture | null = null;
  private theme: Theme | null = null;
  private width = 1;
  private height = 1;
  private ratio = 1;
  private kept: Kept | null = null;
  private overview: Kept | null = null;
  private dots: CanvasPattern | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.ctx = canvas.getContext("2d", { alpha: false })!;
  }

  resize(width: number, height: number, ratio: number): void {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.ratio = ratio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.forget();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.dots = null;
    this.forget();
  }

  setPicture(picture: Picture): void {
    this.picture = picture;
    this.forget();
  }

  draw(camera: Camera, marks: Marks): boolean {
    const { picture, theme } = this;
    if (picture === null || theme === null) return false;
    const heavy = inView(picture, seen(camera, this.width, this.height), LIGHT) >= LIGHT;
    if (heavy && this.kept === null) {
      this.refine(camera, marks);
      return false;
    }
    this.background(camera);
    let exact = true;
    if (heavy) exact = this.blit(camera);
    else this.paint(this.ctx, camera, this.width, this.height, this.ratio);
    this.marks(camera, marks);
    return !exact;
  }

  refine(camera: Camera, marks: Marks): void {
    if (this.picture === null || this.theme === null) return;
    this.background(camera);
    this.kept = this.keep(camera);
    this.overview ??= this.drawOverview();
    this.blit(camera);
    this.marks(camera, marks);
  }

  private forget(): void {
    this.kept = null;
    this.overview = null;
  }

  private background(camera: Camera): void {
    const { ctx, theme, ratio } = this;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = theme!.bg0;
    ctx.fillRect(0, 0, this.width, this.height);
    this.dots ??= dotPattern(ctx, theme!.line1, ratio);
    if (this.dots === null) return;
    const shift = (at: number, size: number): number => (((size / 2 - at * camera.zoom) % GRID) + GRID) % GRID;
    const dx = Math.round(shift(camera.x, this.width));
    const dy = Math.round(shift(camera.y, this.height));
    ctx.setTransform(1, 0, 0, 1, dx * ratio, dy * ratio);
    ctx.fillStyle = this.dots;
    ctx.fillRect(-dx * ratio, -dy * ratio, this.canvas.width, this.canvas.height);
  }

  private paint(ctx: CanvasRenderingContext2D, camera: Camera, width: number, height: number, ratio: number): void {
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintGraph(ctx, this.picture!, this.theme!, camera, { width, height }, null);
  }

  private marks(camera: Camera, marks: Marks): void {
    const { ctx, ratio } = this;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    through(ctx, camera, { width: this.width, height: this.height }, () =>
      drawMarks(ctx, this.picture!, this.theme!, marks, camera.zoom),
    );
  }

  private keep(camera: Camera): Kept {
    const width = Math.ceil(this.width * MARGIN);
    const height = Math.ceil(this.height * MARGIN);
    const canvas = this.kept?.canvas ?? document.createElement("canvas");
    return this.render({ canvas, camera: { ...camera }, width, height }, this.ratio);
  }

  /** The whole graph, small: what shows at the borders until the view has been drawn anew. */
  private drawOverview(): Kept {
    const { bounds } = this.picture!;
    const width = bounds.right - bounds.left;
    const height = bounds.bottom - bounds.top;
    const zoom = Math.min(1, (this.width * 1.2) / width, (this.height * 1.2) / height);
    const camera = { x: (bounds.left + bounds.right) / 2, y: (bounds.top + bounds.bottom) / 2, zoom };
    const size = { width: Math.ceil(width * zoom) + 4, height: Math.ceil(height * zoom) + 4 };
    return this.render({ canvas: document.createElement("canvas"), camera, ...size }, 1);
  }

  private render(kept: Kept, ratio: number): Kept {
    kept.canvas.width = Math.round(kept.width * ratio);
    kept.canvas.height = Math.round(kept.height * ratio);
    const ctx = kept.canvas.getContext("2d")!;
    this.paint(ctx, kept.camera, kept.width, kept.height, ratio);
    return kept;
  }

  /** Puts the kept bitmaps where the camera sees them; true when the view is as sharp as it can be. */
  private blit(camera: Camera): boolean {
    const kept = this.kept!;
    const at = this.put(kept, camera);
    const covered = at.left <= 0 && at.top <= 0 && at.right >= this.width && at.bottom >= this.height;
    if (!covered && this.overview !== null) {
      const { ctx, ratio } = this;
      ctx.save();
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      ctx.beginPath();
      ctx.rect(0, 0, this.width, this.height);
      ctx.rect(at.left, at.top, at.right - at.left, at.bottom - at.top);
      ctx.clip("evenodd");
      this.put(this.overview, camera);
      ctx.restore();
    }
    return covered && Math.abs(camera.zoom / kept.camera.zoom - 1) < 0.001;
  }

  private put(kept: Kept, camera: Camera): Bounds {
    const { ctx, ratio } = this;
    const scale = camera.zoom / kept.camera.zoom;
    const width = kept.width * scale;
    const height = kept.height * scale;
    const left = this.width / 2 + (kept.camera.x - camera.x) * camera.zoom - width / 2;
    const top = this.height / 2 + (kept.camera.y - camera.y) * camera.zoom - height / 2;
    // only the part that is in view: scaling the rest up and throwing it away took 100 ms
    const x0 = Math.max(0, -left / scale);
    const y0 = Math.max(0, -top / scale);
    const w = Math.min(kept.width, (this.width - left) / scale) - x0;
    const h = Math.min(kept.height, (this.height - top) / scale) - y0;
    const bounds = { left, top, right: left + width, bottom: top + height };
    if (w <= 0 || h <= 0) return bounds;
    const own = kept.canvas.width / kept.width;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.imageSmoothingEnabled = scale !== 1;
    ctx.drawImage(
      kept.canvas,
      x0 * own,
      y0 * own,
      w * own,
      h * own,
      left + x0 * scale,
      top + y0 * scale,
      w * scale,
      h * scale,
    );
    return bounds;
  }
}

/** Draws as the camera sees it: units are those of the graph. */
function through(pen: Pen, camera: Camera, size: { width: number; height: number }, draw: () => void): void {
  pen.save();
  pen.translate(size.width / 2 - camera.x * camera.zoom, size.height / 2 - camera.y * camera.zoom);
  pen.scale(camera.zoom, camera.zoom);
  draw();
  pen.restore();
}

/** Everything of the picture that a view of this size and camera shows, and what is marked in it. */
export function paintGraph(
  pen: Pen,
  picture: Picture,
  theme: Theme,
  camera: Camera,
  size: { width: number; height: number },
  marks: Marks | null,
): void {
  const { zoom } = camera;
  const view = seen(camera, size.width, size.height);
  const boxes = boxesIn(picture, view);
  through(pen, camera, size, () => {
    drawStacks(pen, picture, theme, boxes, zoom);
    drawEdges(pen, picture, theme, view, zoom);
    drawBoxes(pen, picture, theme, boxes, zoom);
    if (zoom >= PORTS) drawPorts(pen, picture, theme, portsIn(picture, boxes), theme.fg3);
    if (marks !== null) drawMarks(pen, picture, theme, marks, zoom);
  });
}

/** How many boxes and edges touch the view; counting stops at `most`. */
function inView(picture: Picture, view: Bounds, most: number): number {
  const { scene, placement, edgeBounds } = picture;
  let count = 0;
  for (let box = 0; box < scene.count && count < most; box++) {
    const x = placement.x[box]!;
    const y = placement.y[box]!;
    if (x > view.left && x < view.right && y > view.top && y < view.bottom) count++;
  }
  for (let e = 0; e < scene.from.length && count < most; e++) {
    if (edgeBounds[4 * e]! > view.right || edgeBounds[4 * e + 2]! < view.left) continue;
    if (edgeBounds[4 * e + 1]! < view.bottom && edgeBounds[4 * e + 3]! > view.top) count++;
  }
  return count;
}

/** The part of the graph that a view shows. */
export function seen(camera: Camera, width: number, height: number): Bounds {
  const x = width / 2 / camera.zoom;
  const y = height / 2 / camera.zoom;
  return { left: camera.x - x, top: camera.y - y, right: camera.x + x, bottom: camera.y + y };
}

function portsIn(picture: Picture, boxes: readonly number[]): number[] {
  const inside = new Set(boxes);
  const edges: number[] = [];
  const sources = new Map<number, number>();
  for (const to of picture.scene.to) sources.set(to, (sources.get(to) ?? 0) + 1);
  for (let e = 0; e < picture.scene.to.length; e++) {
    const to = picture.scene.to[e]!;
    if (inside.has(to) && sources.get(to)! > 1) edges.push(e);
  }
  return edges;
}

function dotPattern(ctx: CanvasRenderingContext2D, colour: string, ratio: number): CanvasPattern | null {
  const tile = document.createElement("canvas");
  tile.width = tile.height = Math.round(GRID * ratio);
  const dot = tile.getContext("2d")!;
  dot.fillStyle = colour;
  dot.beginPath();
  dot.arc(ratio, ratio, 0.8 * ratio, 0, 7);
  dot.fill();
  return ctx.createPattern(tile, "repeat");
}
