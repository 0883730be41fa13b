import { BOX } from "../layout/layered/drawing.ts";
import { ADDED, CHANGED, PLAIN, REMOVED, type Scene } from "../layout/graph/scene.ts";
import type { Bounds, Picture } from "./renderer.ts";
import type { Theme } from "./theme.ts";
import type { Pen } from "./sheet/pen.ts";

/** Below these zooms: no text, no rounded corners. */
const TEXT = 0.42;
const ROUND = 0.3;
const CHUNK = 64;
const CHAR = 7.23;
const SMALL_CHAR = 6.33;

/** Boxes that touch the view. */
export function boxesIn(picture: Picture, view: Bounds): number[] {
  const { scene, placement } = picture;
  const found: number[] = [];
  for (let box = 0; box < scene.count; box++) {
    const y = placement.y[box]!;
    if (y - BOX > view.bottom || y + BOX < view.top) continue;
    const half = scene.width[box]! / 2;
    const x = placement.x[box]!;
    if (x - half - 8 > view.right || x + half + scene.right[box]! + 8 < view.left) continue;
    found.push(box);
  }
  return found;
}

/** Draws boxes, as fine as the zoom allows. */
export function drawBoxes(ctx: Pen, picture: Picture, theme: Theme, boxes: readonly number[], zoom: number): void {
  const { scene } = picture;
  const byState: [number[], number[], number[], number[]] = [[], [], [], []];
  for (const box of boxes) byState[scene.state[box] as 0 | 1 | 2 | 3].push(box);
  const far = zoom < ROUND;
  outline(ctx, picture, byState[PLAIN], far ? theme.bg4 : theme.bg2, far ? "" : theme.line2, 1, zoom);
  outline(ctx, picture, byState[CHANGED], theme.changedBg, theme.changed, 1.5, zoom);
  outline(ctx, picture, byState[ADDED], theme.addedBg, theme.added, 1.5, zoom);
  ctx.setLineDash([5, 3]);
  outline(ctx, picture, byState[REMOVED], theme.bg0, theme.removed, 1.5, zoom);
  ctx.setLineDash([]);
  bars(ctx, picture, theme, boxes, zoom);
  if (zoom < TEXT) return;
  text(ctx, picture, theme, boxes);
  tags(ctx, picture, theme, boxes);
  for (const box of boxes) {
    if (scene.state[box] !== PLAIN) badge(ctx, picture, theme, box);
    if (scene.spaces[box] !== "") space(ctx, picture, theme, box);
  }
}

function outline(
  ctx: Pen,
  picture: Picture,
  boxes: readonly number[],
  fill: string,
  stroke: string,
  width: number,
  zoom: number,
): void {
  // prettier-ignore
  const { scene, placement } = picture;
  ctx.fillStyle = fill;
  ctx.strokeStyle = stroke;
  ctx.lineWidth = zoom < ROUND ? Math.max(width, 0.8 / zoom) : width;
  for (let first = 0; first < boxes.length; first += CHUNK) {
    ctx.beginPath();
    for (let k = first; k < Math.min(boxes.length, first + CHUNK); k++) {
      const box = boxes[k]!;
      const w = scene.width[box]!;
      const x = placement.x[box]! - w / 2;
      const y = placement.y[box]! - BOX / 2;
      if (zoom < ROUND) ctx.rect(x, y, w, BOX);
      else ctx.roundRect(x, y, w, BOX, 4);
    }
    ctx.fill();
    if (stroke !== "") ctx.stroke();
  }
}

/** Further sheets behind boxes that stand for several nodes; drawn before the edges, which end at the front sheet. */
export function drawStacks(ctx: Pen, picture: Picture, theme: Theme, boxes: readonly number[], zoom: number): void {
  if (zoom < ROUND) return;
  const { scene, placement } = picture;
  ctx.fillStyle = theme.bg1;
  ctx.strokeStyle = theme.line2;
  ctx.lineWidth = 1;
  for (const box of boxes) {
    if (scene.members[box]! < 2) continue;
    const w = scene.width[box]!;
    for (const shift of [4, 2]) {
      ctx.beginPath();
      ctx.roundRect(placement.x[box]! - w / 2 + shift, placement.y[box]! - BOX / 2 - shift, w, BOX, 4);
      ctx.fill();
      ctx.stroke();
    }
  }
}

function bars(ctx: Pen, picture: Picture, theme: Theme, boxes: readonly number[], zoom: number): void {
  const { scene, placement, family } = picture;
  const byFamily: number[][] = theme.cat.map(() => []);
  for (const box of boxes) if (scene.block[box]! < 0) byFamily[family[box]!]!.push(box);
  const width = zoom < ROUND ? Math.min(24, Math.max(3, 1.6 / zoom)) : 3;
  byFamily.forEach((members, number) => {
    if (members.length === 0) return;
    ctx.fillStyle = theme.cat[number]!;
    for (const box of members) {
      const x = placement.x[box]! - scene.width[box]! / 2;
      const y = placement.y[box]! - BOX / 2;
      const ghost = scene.state[box] === REMOVED;
      if (ghost) ctx.globalAlpha = 0.5;
      if (zoom < ROUND) ctx.fillRect(x, y, width, BOX);
      else {
        ctx.beginPath();
        ctx.roundRect(x + 4, y + 6, width, BOX - 12, 1.5);
        ctx.fill();
      }
      if (ghost) ctx.globalAlpha = 1;
    }
  });
}

function text(ctx: Pen, picture: Picture, theme: Theme, boxes: readonly number[]): void {
  const { scene, placement } = picture;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  const left = (box: number): number => placement.x[box]! - scene.width[box]! / 2 + (scene.block[box]! >= 0 ? 12 : 14);
  const line = (box: number): number => placement.y[box]! - BOX / 2 + 13.5;
  const room = (box: number): number => scene.width[box]! - 14 - 6;
  const pass = (font: string, draw: (box: number) => void): void => {
    ctx.font = font;
    for (const box of boxes) draw(box);
  };
  const blocks = boxes.filter((box) => scene.block[box]! >= 0);
  ctx.fillStyle = theme.fg1;
  pass(`600 12px ${theme.mono}`, (box) => {
    if (scene.block[box]! >= 0) return;
    const ghost = scene.state[box] === REMOVED;
    if (ghost) ctx.fillStyle = theme.fg2;
    const name = shorten(scene.labels[box]!.name, room(box) / CHAR);
    ctx.fillText(name, left(box), line(box));
    if (ghost) ctx.fillStyle = theme.fg1;
  });
  ctx.fillStyle = theme.fg2;
  pass(`12px ${theme.mono}`, (box) => {
    const { name, arg } = scene.labels[box]!;
    const at = name.length * CHAR + 6;
    if (arg !== "") ctx.fillText(shorten(arg, (room(box) - at) / CHAR), left(box) + at, line(box));
    if (scene.state[box] === REMOVED) {
      ctx.fillRect(
        left(box),
        line(box) - 4,
        Math.min(room(box), name.length * CHAR + (arg === "" ? 0 : 6 + arg.length * CHAR)),
        1,
      );
    }
  });
  const small = (box: number): void => {
    if (scene.block[box]! < 0)
      ctx.fillText(shorten(scene.labels[box]!.type, room(box) / SMALL_CHAR), left(box), line(box) + 12.5);
  };
  ctx.fillStyle = theme.fg3;
  pass(`10.5px ${theme.mono}`, (box) => scene.state[box] === PLAIN && small(box));
  ctx.fillStyle = theme.fg2;
  for (const box of boxes) if (scene.state[box] !== PLAIN) small(box);
  if (blocks.length > 0) blockText(ctx, scene, theme, blocks, left, line);
}

/** Blocks are not nodes: their names stand in the page's own face, with a sign that they open. */
function blockText(
  ctx: Pen,
  scene: Scene,
  theme: Theme,
  blocks: readonly number[],
  left: (box: number) => number,
  line: (box: number) => number,
): void {
  // prettier-ignore
  ctx.font = `600 12px ${theme.ui}`;
  ctx.fillStyle = theme.fg1;
  for (const box of blocks) ctx.fillText(scene.labels[box]!.name, left(box), line(box));
  ctx.font = `11px ${theme.ui}`;
  ctx.fillStyle = theme.fg2;
  for (const box of blocks) ctx.fillText(scene.labels[box]!.type, left(box), line(box) + 12.5);
  for (const box of blocks) {
    const x = left(box) - 12 + scene.width[box]! - 14;
    const y = line(box) - 13.5 + BOX / 2;
    ctx.fillStyle = theme.bg4;
    ctx.beginPath();
    ctx.arc(x, y, 7, 0, 7);
    ctx.fill();
    ctx.fillStyle = theme.fg1;
    ctx.fillRect(x - 3.5, y - 0.8, 7, 1.6);
    ctx.fillRect(x - 0.8, y - 3.5, 1.6, 7);
  }
}

function tags(ctx: Pen, picture: Picture, theme: Theme, boxes: readonly number[]): void {
  const { scene, placement } = picture;
  const tagged = boxes.filter((box) => scene.right[box]! > 0);
  ctx.font = `10px ${theme.mono}`;
  ctx.textAlign = "center";
  for (const box of tagged) {
    const x = placement.x[box]! + scene.width[box]! / 2 + 6;
    const width = scene.right[box]! - 6;
    ctx.fillStyle = theme.bg3;
    ctx.beginPath();
    ctx.roundRect(x, placement.y[box]! - 8, width, 16, 8);
    ctx.fill();
    ctx.fillStyle = theme.fg2;
    ctx.fillText(
      shorten(scene.tags[box]!.replace(/^'(.*)'$/, "$1"), (width - 10) / 6),
      x + width / 2,
      placement.y[box]! + 3.5,
    );
  }
  ctx.textAlign = "left";
}

/** The sign of a change: colour, glyph and line style together. */
function badge(ctx: Pen, picture: Picture, theme: Theme, box: number): void {
  const { scene, placement } = picture;
  const state = scene.state[box]!;
  ctx.save();
  ctx.translate(placement.x[box]! + scene.width[box]! / 2 - 1, placement.y[box]! - BOX / 2 + 1);
  ctx.fillStyle = state === ADDED ? theme.added : state === REMOVED ? theme.removed : theme.changed;
  ctx.beginPath();
  ctx.arc(0, 0, 7, 0, 7);
  ctx.fill();
  ctx.strokeStyle = theme.bg0;
  ctx.lineWidth = 1.6;
  ctx.beginPath();
  if (state === CHANGED) {
    ctx.moveTo(-3.5, 1);
    ctx.bezierCurveTo(-2, -2, -1, -1.5, 0, 0);
    ctx.bezierCurveTo(1, 1.5, 2, 2, 3.5, -1);
  } else {
    ctx.moveTo(-3.5, 0);
    ctx.lineTo(3.5, 0);
    if (state === ADDED) {
      ctx.moveTo(0, -3.5);
      ctx.lineTo(0, 3.5);
    }
  }
  ctx.stroke();
  ctx.restore();
}

/** A square in the corner: where the node's memory is. */
function space(ctx: Pen, picture: Picture, theme: Theme, box: number): void {
  const { scene, placement } = picture;
  const colour = { GLOBAL: theme.cat[7], LOCAL: theme.cat[2], REG: theme.cat[8] }[scene.spaces[box]!] ?? theme.cat[12];
  ctx.fillStyle = colour!;
  ctx.fillRect(placement.x[box]! + scene.width[box]! / 2 - 10, placement.y[box]! + BOX / 2 - 10, 5, 5);
}

/** A text that has room for so many characters: it keeps its head; under three, nothing. */
function shorten(text: string, most: number): string {
  if (text.length <= most + 0.4) return text;
  return most < 3 ? "" : `${text.slice(0, Math.floor(most) - 1)}…`;
}
