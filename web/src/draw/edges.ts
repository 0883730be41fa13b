import { BOX } from "../layout/layered/drawing.ts";
import { ADDED, REMOVED } from "../layout/graph/scene.ts";
import type { Bounds, Picture } from "./renderer.ts";
import type { Theme } from "./theme.ts";
import type { Pen } from "./sheet/pen.ts";

/** Curves go to the canvas in chunks: one path of all edges takes a hundred times as long as many short ones. */
const CHUNK = 64;
/** Below these zooms arrows are not drawn, and curves become straight pieces. */
const ARROWS = 0.3;
const CURVES = 0.22;

export interface EdgeStyle {
  colour: string;
  width: number;
  dash: readonly number[];
  alpha: number;
}

/** Draws the edges that touch the view, plain ones first, then removed, then added. */
export function drawEdges(ctx: Pen, picture: Picture, theme: Theme, view: Bounds, zoom: number): void {
  const groups: [number[], number[], number[]] = [[], [], []];
  const { scene, edgeBounds } = picture;
  for (let e = 0; e < scene.from.length; e++) {
    const left = edgeBounds[4 * e]!;
    if (left > view.right || edgeBounds[4 * e + 2]! < view.left) continue;
    if (edgeBounds[4 * e + 1]! > view.bottom || edgeBounds[4 * e + 3]! < view.top) continue;
    const state = scene.edgeState[e];
    groups[state === ADDED ? 2 : state === REMOVED ? 1 : 0].push(e);
  }
  const many = groups[0].length > 3000;
  const thin = zoom < 1 ? Math.max(1.1, 0.55 / zoom) : 1.1;
  const [plain, removed, added] = groups;
  const faint = zoom < ARROWS ? (many ? 0.45 : 0.7) : 1;
  strokeEdges(ctx, picture, plain, { colour: theme.edge, width: thin, dash: [], alpha: faint }, zoom);
  strokeEdges(ctx, picture, removed, { colour: theme.removed, width: thin, dash: [4, 3], alpha: 0.75 }, zoom);
  strokeEdges(ctx, picture, added, { colour: theme.added, width: Math.max(1.5, thin), dash: [], alpha: 1 }, zoom);
  drawStubs(ctx, picture, theme, view, zoom);
}

/** Strokes some edges in one style. */
export function strokeEdges(
  ctx: Pen,
  picture: Picture,
  edges: readonly number[],
  style: EdgeStyle,
  zoom: number,
): void {
  if (edges.length === 0) return;
  const { start, points } = picture.placement.routes;
  ctx.strokeStyle = ctx.fillStyle = style.colour;
  ctx.lineWidth = style.width;
  ctx.globalAlpha = style.alpha;
  ctx.setLineDash(style.dash as number[]);
  for (let first = 0; first < edges.length; first += CHUNK) {
    ctx.beginPath();
    for (let k = first; k < Math.min(edges.length, first + CHUNK); k++)
      curve(ctx, points, start[edges[k]!]!, start[edges[k]! + 1]!, zoom);
    ctx.stroke();
  }
  ctx.setLineDash([]);
  if (zoom >= ARROWS) {
    for (let first = 0; first < edges.length; first += CHUNK) {
      ctx.beginPath();
      for (let k = first; k < Math.min(edges.length, first + CHUNK); k++)
        arrow(ctx, points, start[edges[k]!]!, start[edges[k]! + 1]!);
      ctx.fill();
    }
  }
  ctx.globalAlpha = 1;
}

function curve(ctx: Pen, points: Float32Array, from: number, to: number, zoom: number): void {
  if (from === to) return;
  ctx.moveTo(points[from]!, points[from + 1]!);
  if (zoom < CURVES) {
    // at this size a piece is a few pixels long: lines do, and only where the way bends
    const every = zoom < 0.08 ? 24 : 6;
    for (let i = from + 6; i < to - 6; i += every) ctx.lineTo(points[i]!, points[i + 1]!);
    ctx.lineTo(points[to - 2]!, points[to - 1]!);
    return;
  }
  for (let i = from + 2; i < to; i += 6) {
    ctx.bezierCurveTo(points[i]!, points[i + 1]!, points[i + 2]!, points[i + 3]!, points[i + 4]!, points[i + 5]!);
  }
}

/** A head at the end of a curve, along its last direction. */
function arrow(ctx: Pen, points: Float32Array, from: number, to: number): void {
  if (to - from < 8) return;
  const x = points[to - 2]!;
  const y = points[to - 1]!;
  const dx = x - points[to - 4]!;
  const dy = y - points[to - 3]!;
  const length = Math.hypot(dx, dy) || 1;
  const ux = dx / length;
  const uy = dy / length;
  ctx.moveTo(x, y);
  ctx.lineTo(x - 6.2 * ux - 2.7 * uy, y - 6.2 * uy + 2.7 * ux);
  ctx.lineTo(x - 6.2 * ux + 2.7 * uy, y - 6.2 * uy - 2.7 * ux);
  ctx.closePath();
}

/** Edges too long to route: a short tail with a dot at both ends. */
function drawStubs(ctx: Pen, picture: Picture, theme: Theme, view: Bounds, zoom: number): void {
  if (zoom < ARROWS) return;
  const { scene, placement } = picture;
  const { start } = placement.routes;
  const done = new Set<number>();
  ctx.strokeStyle = ctx.fillStyle = theme.edge;
  ctx.lineWidth = 1.1;
  for (let e = 0; e < scene.from.length; e++) {
    if (start[e] !== start[e + 1]) continue;
    for (const [box, side] of [
      [scene.from[e]!, 1],
      [scene.to[e]!, -1],
    ] as const) {
      const x = placement.x[box]! + scene.width[box]! / 2 - 12;
      const y = placement.y[box]! + (side * BOX) / 2;
      if (x < view.left || x > view.right || y < view.top || y > view.bottom || done.has(box * 2 + (side + 1) / 2))
        continue;
      done.add(box * 2 + (side + 1) / 2);
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.lineTo(x, y + side * 6);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x, y + side * 7, 1.8, 0, 7);
      ctx.fill();
    }
  }
}

/** A straight dashed line for each edge of a box that has no curve: shown while the box is selected. */
export function drawLongEdges(ctx: Pen, picture: Picture, edges: readonly number[], colour: string): void {
  const { scene, placement } = picture;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.4;
  ctx.setLineDash([2, 3]);
  ctx.beginPath();
  for (const e of edges) {
    if (placement.routes.start[e] !== placement.routes.start[e + 1]) continue;
    ctx.moveTo(placement.x[scene.from[e]!]!, placement.y[scene.from[e]!]! + BOX / 2);
    ctx.lineTo(placement.x[scene.to[e]!]!, placement.y[scene.to[e]!]! - BOX / 2);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Which source of its user an edge brings, beside its head. */
export function drawPorts(ctx: Pen, picture: Picture, theme: Theme, edges: Iterable<number>, colour: string): void {
  const { start, points } = picture.placement.routes;
  ctx.font = `9px ${theme.mono}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.fillStyle = colour;
  for (const e of edges) {
    const to = start[e + 1]!;
    const port = picture.scene.port[e]!;
    if (port < 0 || to - start[e]! < 8) continue;
    // a line that comes in from the side would have its number inside the box
    if (Math.abs(points[to - 4]! - points[to - 2]!) > 3 * Math.abs(points[to - 3]! - points[to - 1]!)) continue;
    const back = points[to - 4]! > points[to - 2]! ? -8 : 4;
    ctx.fillText(String(port), points[to - 2]! + back, points[to - 1]! - 4);
  }
}
