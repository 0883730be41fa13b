import { topologicalOrder, adjacency } from "../layered/adjacency.ts";
import { CurveWriter, exit } from "../layered/curve.ts";
import { BOX, GAP, LONGEST, ROW, type Placement } from "../layered/drawing.ts";
import { twinsOf } from "../layered/route.ts";
import type { Place } from "./places.ts";
import { Rows, thread } from "./rows.ts";
import type { Scene } from "./scene.ts";

/** The picture before: what of it survives keeps its place. */
export interface Before {
  scene: Scene;
  placement: Placement;
  /** Where boxes stood earlier in this step, by key: what comes back goes back there. */
  memory: ReadonlyMap<number, Place>;
}

/** How far down and up a new box may go for room, and what a row costs against a pixel to the side. */
const REACH = 14;
const ROW_COST = 70;
const WRONG_SIDE = 260;
const OVER_LINE = 140;

/**
 * A placement in which every surviving box stays where it was, to the pixel, and keeps its width.
 *
 * Only what is new is placed: near its neighbours, into free space, over no box and if possible over no line.
 */
export function pinned(scene: Scene, before: Before): Placement {
  const old = new Map<number, number>();
  before.scene.key.forEach((key, box) => old.set(key, box));
  const x = new Float64Array(scene.count);
  const y = new Float64Array(scene.count);
  const was = new Int32Array(scene.count).fill(-1);
  const boxes = new Rows();
  const lines = new Rows();
  for (let box = 0; box < scene.count; box++) {
    const from = old.get(scene.key[box]!);
    if (from === undefined) continue;
    was[box] = from;
    x[box] = before.placement.x[from]!;
    y[box] = before.placement.y[from]!;
    // a longer label must not push anything aside
    scene.width[box] = before.scene.width[from]!;
    scene.right[box] = Math.min(scene.right[box]!, before.scene.right[from]!);
    take(box);
  }
  const routes = keptRoutes(scene, before, was);
  routes.forEach((points) => points !== null && takeLine(lines, points));
  placeNew();
  return { x, y, routes: drawRoutes(scene, x, y, routes, boxes) };

  function take(box: number): void {
    const half = scene.width[box]! / 2;
    boxes.take(Rows.rowOf(y[box]!), x[box]! - half, x[box]! + half + scene.right[box]!);
  }

  function placeNew(): void {
    const sources = adjacency(scene.count, scene.to, scene.from);
    const users = adjacency(scene.count, scene.from, scene.to);
    const placed = Uint8Array.from(was, (from) => (from >= 0 ? 1 : 0));
    for (const box of topologicalOrder(scene.count, scene.from, scene.to)) {
      if (placed[box] === 1) continue;
      const room = roomFor(box);
      x[box] = room[0];
      y[box] = room[1];
      placed[box] = 1;
      take(box);
    }

    function roomFor(box: number): [number, number] {
      const remembered = before.memory.get(scene.key[box]!);
      if (remembered !== undefined) {
        const [x, y, width = scene.width[box]!, beside = scene.right[box]!] = remembered;
        if (boxes.isFree(Rows.rowOf(y), x - width / 2 - 1, x + width / 2 + beside + 1)) {
          scene.width[box] = width;
          scene.right[box] = Math.min(scene.right[box]!, beside);
          return [x, y];
        }
      }
      const half = scene.width[box]! / 2;
      const left = half + GAP / 2;
      const right = half + scene.right[box]! + GAP / 2;
      let above = -Infinity;
      let below = Infinity;
      let sum = 0;
      let count = 0;
      const look = (near: Int32Array, down: boolean): void => {
        for (const other of near) {
          if (placed[other] === 0) continue;
          sum += x[other]!;
          count++;
          if (down) below = Math.min(below, Rows.rowOf(y[other]!));
          else above = Math.max(above, Rows.rowOf(y[other]!));
        }
      };
      look(sources.node.subarray(sources.start[box], sources.start[box + 1]), false);
      look(users.node.subarray(users.start[box], users.start[box + 1]), true);
      const wish = count === 0 ? 0 : sum / count;
      const start = Number.isFinite(above) ? above + 1 : Number.isFinite(below) ? below - 1 : 0;
      let best: [number, number] = [wish, start * ROW];
      let least = Infinity;
      for (let step = 0; step <= REACH; step++) {
        for (const row of step === 0 ? [start] : [start + step, start - step]) {
          const wrong = row <= above || row >= below ? WRONG_SIDE : 0;
          const base = step * ROW_COST + wrong;
          if (base >= least) continue;
          const at = boxes.nearest(row, wish, left, right);
          const over = lines.isFree(row, at - half, at + half) ? 0 : OVER_LINE;
          const cost = base + Math.abs(at - wish) + over;
          if (cost < least) {
            least = cost;
            best = [at, row * ROW];
          }
        }
      }
      // far enough down there is always room
      if (!Number.isFinite(best[0])) best = [wish, (start + REACH + 1) * ROW];
      return best;
    }
  }
}

/** Curves of edges whose two boxes survive; null for the others. */
function keptRoutes(scene: Scene, before: Before, was: Int32Array): (Float32Array | null)[] {
  const { start, points } = before.placement.routes;
  const number = (a: number, b: number, port: number): number =>
    (a * before.scene.count + b) * 64 + Math.min(63, port + 1);
  const known = new Map<number, number>();
  for (let e = 0; e < before.scene.from.length; e++) {
    known.set(number(before.scene.from[e]!, before.scene.to[e]!, before.scene.port[e]!), e);
  }
  const kept: (Float32Array | null)[] = [];
  for (let e = 0; e < scene.from.length; e++) {
    const a = was[scene.from[e]!]!;
    const b = was[scene.to[e]!]!;
    const edge = a >= 0 && b >= 0 ? known.get(number(a, b, scene.port[e]!)) : undefined;
    kept.push(edge === undefined ? null : points.subarray(start[edge], start[edge + 1]));
  }
  return kept;
}

/** Enters the places where a curve passes through rows. */
function takeLine(lines: Rows, points: Float32Array): void {
  for (let i = 0; i + 7 < points.length; i += 6) {
    const row = Rows.rowOf((points[i + 1]! + points[i + 7]!) / 2);
    const inside = Math.abs(points[i + 1]! - row * ROW) < BOX / 2 && Math.abs(points[i + 7]! - row * ROW) < BOX / 2;
    if (inside) lines.take(row, points[i]! - 4, points[i]! + 4);
  }
}

function drawRoutes(
  scene: Scene,
  x: Float64Array,
  y: Float64Array,
  kept: (Float32Array | null)[],
  rows: Rows,
): Placement["routes"] {
  const writer = new CurveWriter(scene.from.length);
  const twins = twinsOf(scene);
  for (let e = 0; e < scene.from.length; e++) {
    const known = kept[e];
    if (known) {
      writer.copy(e, known);
      continue;
    }
    const a = scene.from[e]!;
    const b = scene.to[e]!;
    const span = Rows.rowOf(y[b]!) - Rows.rowOf(y[a]!);
    const shift = twins[e]! * 12;
    if (span > LONGEST) writer.write(e, []);
    else if (span < 1) writer.copy(e, aside(scene, rows, a, b, x, y));
    else {
      const way = thread(rows, x[a]!, y[a]!, x[b]!, y[b]!);
      const next = way[0] ?? x[b]!;
      const last = way[way.length - 2] ?? x[a]!;
      const top = exit(x[a]!, y[a]!, scene.width[a]!, next, y[a]! + ROW) + shift;
      const end = exit(x[b]!, y[b]!, scene.width[b]!, last, y[b]! - ROW) + shift;
      writer.write(e, [top, y[a]! + BOX / 2, ...way, end, y[b]! - BOX / 2]);
    }
  }
  return writer.finish();
}

/** A curve to a box that is not below: out of the side, up a free column, into the other's side. */
function aside(scene: Scene, rows: Rows, a: number, b: number, x: Float64Array, y: Float64Array): number[] {
  const first = Rows.rowOf(y[b]!);
  const last = Rows.rowOf(y[a]!);
  const edge = (box: number, side: number): number =>
    x[box]! + side * (scene.width[box]! / 2) + (side > 0 ? scene.right[box]! : 0);
  let best = { cost: Infinity, side: 1, column: 0 };
  for (const side of [1, -1]) {
    const reach = side > 0 ? Math.max(edge(a, 1), edge(b, 1)) : Math.min(edge(a, -1), edge(b, -1));
    const column = freeColumn(rows, first, last, reach + side * 16, side);
    const cost = Math.abs(column - x[a]!) + Math.abs(column - x[b]!);
    if (cost < best.cost) best = { cost, side, column };
  }
  const { side, column } = best;
  const [x0, x1] = [edge(a, side), edge(b, side)];
  const turn = Math.min(20, (y[a]! - y[b]!) / 2);
  return [
    x0, y[a]!,
    x0 + (column - x0) * 0.9, y[a]!, column, y[a]! - turn * 0.1, column, y[a]! - turn,
    column, y[a]! - turn, column, y[b]! + turn, column, y[b]! + turn,
    column, y[b]! + turn * 0.1, x1 + (column - x1) * 0.9, y[b]!, x1, y[b]!,
  ]; // prettier-ignore
}

/** The x nearest to `from`, going to one side, at which no row from first to last is taken. */
function freeColumn(rows: Rows, first: number, last: number, from: number, side: number): number {
  let at = from;
  for (let tries = 0; tries < 200; tries++) {
    let blocked = false;
    for (let row = first; row <= last; row++) {
      if (rows.isFree(row, at - 7, at + 7)) continue;
      at += side * 12;
      blocked = true;
      break;
    }
    if (!blocked) return at;
  }
  return at;
}
