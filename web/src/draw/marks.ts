import { BOX } from "../layout/layered/drawing.ts";
import { drawLongEdges, drawPorts, strokeEdges } from "./edges.ts";
import type { Marks, Picture } from "./renderer.ts";
import type { Theme } from "./theme.ts";
import type { Pen } from "./sheet/pen.ts";

/** Draws selection with its parents and children, hover, the second choice and search results over the picture. */
export function drawMarks(ctx: Pen, picture: Picture, theme: Theme, marks: Marks, zoom: number): void {
  const thick = Math.max(1, 0.9 / zoom);
  ctx.setLineDash([4 * thick, 3 * thick]);
  for (const box of marks.found) if (box !== marks.current) ring(ctx, picture, box, theme.fg1, 1.2 * thick, 3);
  ctx.setLineDash([]);
  if (marks.current >= 0) ring(ctx, picture, marks.current, theme.fg1, 2.5 * thick, 6);
  if (marks.noted.size > 0) drawNoted(ctx, picture, theme, marks.noted, thick);
  if (marks.hovered >= 0 && marks.hovered !== marks.selected) ring(ctx, picture, marks.hovered, theme.fg3, thick, 0);
  for (const box of marks.kept) if (box !== marks.selected) ring(ctx, picture, box, theme.accent, 2 * thick, 2);
  if (marks.selected >= 0) drawSelection(ctx, picture, theme, marks.selected, zoom, thick);
  if (marks.second >= 0) ring(ctx, picture, marks.second, theme.accent, 2 * thick, 2);
}

/** A sign at the corner of boxes that have a note. */
function drawNoted(ctx: Pen, picture: Picture, theme: Theme, noted: ReadonlySet<number>, thick: number): void {
  const { scene, placement } = picture;
  for (let box = 0; box < scene.count; box++) {
    if (!noted.has(scene.key[box]!)) continue;
    for (const [radius, colour] of [
      [6, theme.bg0],
      [4.5, theme.fg1],
    ] as const) {
      ctx.fillStyle = colour;
      ctx.beginPath();
      ctx.arc(placement.x[box]! - scene.width[box]! / 2, placement.y[box]! - BOX / 2, radius * thick, 0, 7);
      ctx.fill();
    }
  }
}

function drawSelection(ctx: Pen, picture: Picture, theme: Theme, box: number, zoom: number, thick: number): void {
  const { scene } = picture;
  const edges: number[] = [];
  const near = new Set<number>();
  for (let e = 0; e < scene.from.length; e++) {
    if (scene.from[e] !== box && scene.to[e] !== box) continue;
    edges.push(e);
    near.add(scene.from[e] === box ? scene.to[e]! : scene.from[e]!);
  }
  strokeEdges(ctx, picture, edges, { colour: theme.accent, width: 1.6 * thick, dash: [], alpha: 1 }, zoom);
  drawLongEdges(ctx, picture, edges, theme.accent);
  if (zoom >= 0.6) drawPorts(ctx, picture, theme, edges, theme.accentFg);
  for (const other of near) ring(ctx, picture, other, theme.accentLine, 1.5 * thick, 0);
  ring(ctx, picture, box, theme.accent, 2 * thick, 2);
}

/** An outline round a box, `gap` pixels off it. */
function ring(ctx: Pen, picture: Picture, box: number, colour: string, width: number, gap: number): void {
  const { scene, placement } = picture;
  const w = scene.width[box]! + 2 * gap;
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.roundRect(placement.x[box]! - w / 2, placement.y[box]! - BOX / 2 - gap, w, BOX + 2 * gap, 4 + gap);
  ctx.stroke();
}
