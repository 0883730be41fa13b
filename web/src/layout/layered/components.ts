import { GAP, ROW, type Drawing, type Placement, type Routes } from "./drawing.ts";

/** Width to height that a picture of several parts aims at: that of the middle of a usual window. */
const ASPECT = 1.4;
const BETWEEN = 2 * GAP;
/**
 * Parts without an edge between them are worth a layout each up to here; above, the time goes into the many small ones.
 */
const MOST = 3000;

/**
 * The part of the drawing that each box is in: boxes of a part are joined by edges. Numbered in the order of their
 * first box.
 */
export function parts(drawing: Drawing): { of: Int32Array; count: number } {
  const parent = new Int32Array(drawing.count);
  for (let box = 0; box < drawing.count; box++) parent[box] = box;
  const top = (box: number): number => {
    while (parent[box] !== box) box = parent[box] = parent[parent[box]!]!;
    return box;
  };
  for (let e = 0; e < drawing.from.length; e++) {
    const [a, b] = [top(drawing.from[e]!), top(drawing.to[e]!)];
    if (a < b) parent[b] = a;
    else parent[a] = b;
  }
  const of = new Int32Array(drawing.count);
  let count = 0;
  for (let box = 0; box < drawing.count; box++) of[box] = parent[box] === box ? count++ : of[top(box)]!;
  return { of, count };
}

/** The lowest box of the part with most boxes; -1 when there is none. */
export function lowestOfLargest(drawing: Drawing, y: Float64Array): number {
  const { of, count } = parts(drawing);
  const sizes = new Int32Array(count);
  for (const part of of) sizes[part]!++;
  const largest = sizes.indexOf(sizes.reduce((most, size) => Math.max(most, size), 0));
  let lowest = -1;
  for (let box = 0; box < drawing.count; box++)
    if (of[box] === largest && (lowest < 0 || y[box]! > y[lowest]!)) lowest = box;
  return lowest;
}

interface Part {
  boxes: number[];
  edges: number[];
  placement: Placement;
  left: number;
  top: number;
  width: number;
  height: number;
}

/**
 * Lays out each part by itself and puts them side by side and below each other, so that the picture is about as wide as
 * a window.
 */
export function packed(drawing: Drawing, layout: (drawing: Drawing) => Placement): Placement {
  const { of, count } = parts(drawing);
  if (count < 2 || count > MOST) return layout(drawing);
  const all = split(drawing, of, count).map(({ boxes, edges }) => measured(drawing, boxes, edges, layout));
  const area = all.reduce((sum, part) => sum + (part.width + BETWEEN) * (part.height + ROW), 0);
  const widest = Math.max(...all.map((part) => part.width), Math.sqrt(area * ASPECT));
  const x = new Float64Array(drawing.count);
  const y = new Float64Array(drawing.count);
  const at = new Map<Part, readonly [number, number]>();
  // the tallest of a row gives its height; what is lower stands in columns beside it
  const waiting = all
    .map((part, number) => ({ part, number }))
    .sort((a, b) => b.part.height - a.part.height || a.number - b.number);
  let top = 0;
  for (let next = 0; next < waiting.length;) {
    const tallest = waiting[next]!.part.height;
    let left = 0;
    while (next < waiting.length && (left === 0 || left + waiting[next]!.part.width <= widest)) {
      let used = 0;
      let width = 0;
      for (; next < waiting.length; next++) {
        const { part } = waiting[next]!;
        if (used > 0 && (used + part.height > tallest || left + part.width > widest)) break;
        at.set(part, [left - part.left, top + used - part.top]);
        used += part.height + ROW;
        width = Math.max(width, part.width);
      }
      left += width + BETWEEN;
    }
    top += tallest + ROW;
  }
  return { x, y, routes: joinedRoutes(drawing, at, x, y) };
}

/** Writes the places of the boxes and gives the lines of all parts, in the order of the drawing's edges. */
function joinedRoutes(
  drawing: Drawing,
  at: ReadonlyMap<Part, readonly [number, number]>,
  x: Float64Array,
  y: Float64Array,
): Routes {
  const start = new Int32Array(drawing.from.length + 1);
  for (const { edges, placement } of at.keys()) {
    edges.forEach((edge, own) => (start[edge + 1] = placement.routes.start[own + 1]! - placement.routes.start[own]!));
  }
  for (let edge = 0; edge < drawing.from.length; edge++) start[edge + 1]! += start[edge]!;
  const points = new Float32Array(start[drawing.from.length]!);
  for (const [{ boxes, edges, placement }, [dx, dy]] of at) {
    boxes.forEach((box, own) => {
      x[box] = placement.x[own]! + dx;
      y[box] = placement.y[own]! + dy;
    });
    edges.forEach((edge, own) => {
      const first = placement.routes.start[own]!;
      const length = placement.routes.start[own + 1]! - first;
      for (let i = 0; i < length; i++)
        points[start[edge]! + i] = placement.routes.points[first + i]! + (i % 2 === 0 ? dx : dy);
    });
  }
  return { start, points };
}

function split(drawing: Drawing, of: Int32Array, count: number): { boxes: number[]; edges: number[] }[] {
  const found = Array.from({ length: count }, () => ({ boxes: [] as number[], edges: [] as number[] }));
  of.forEach((part, box) => found[part]!.boxes.push(box));
  drawing.from.forEach((box, edge) => found[of[box]!]!.edges.push(edge));
  return found;
}

/**
 * A part laid out by itself, and the room that it takes: whole rows, so that what later matches bring fits in between.
 */
function measured(drawing: Drawing, boxes: number[], edges: number[], layout: (drawing: Drawing) => Placement): Part {
  const place = new Map(boxes.map((box, own) => [box, own]));
  const placement = layout({
    count: boxes.length,
    width: Float64Array.from(boxes, (box) => drawing.width[box]!),
    right: Float64Array.from(boxes, (box) => drawing.right[box]!),
    from: Int32Array.from(edges, (edge) => place.get(drawing.from[edge]!)!),
    to: Int32Array.from(edges, (edge) => place.get(drawing.to[edge]!)!),
  });
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  boxes.forEach((box, own) => {
    left = Math.min(left, placement.x[own]! - drawing.width[box]! / 2);
    right = Math.max(right, placement.x[own]! + drawing.width[box]! / 2 + drawing.right[box]!);
    top = Math.min(top, placement.y[own]!);
    bottom = Math.max(bottom, placement.y[own]!);
  });
  // lines may run outside the boxes
  for (let i = 0; i < placement.routes.points.length; i += 2) {
    left = Math.min(left, placement.routes.points[i]!);
    right = Math.max(right, placement.routes.points[i]!);
  }
  return { boxes, edges, placement, left, top, width: right - left, height: bottom - top + ROW };
}
