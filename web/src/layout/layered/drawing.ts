/** What goes into a layout and what comes out: typed arrays only, so that they cross to the worker without a copy. */

/** A directed graph of boxes. Edge e runs from box from[e] (a source, drawn above) to box to[e] (its user, below). */
export interface Drawing {
  count: number;
  width: Float64Array;
  /** Space that a box needs at its right, for its tag. */
  right: Float64Array;
  from: Int32Array;
  to: Int32Array;
}

/** Centres of the boxes and the curves of the edges, in pixels at 100%. */
export interface Placement {
  x: Float64Array;
  y: Float64Array;
  routes: Routes;
}

/**
 * One curve an edge: a start point, then three control points a Bézier piece, as x,y pairs.
 *
 *     points: x0 y0 | c1 c1 c2 c2 x1 y1 | c1 c1 c2 c2 x2 y2 | …      edge e: points[start[e] .. start[e + 1]]
 *
 * An edge without points is drawn as a stub at both of its ends.
 */
export interface Routes {
  start: Int32Array;
  points: Float32Array;
}

/** Height of a box, distance between the centres of two rows, and the least space between two things in a row. */
export const BOX = 32;
export const ROW = 50;
export const GAP = 28;
export const GAP_LINE = 14;
export const GAP_LINES = 9;

/** Edges that span more rows than this are not routed: they would fill the picture and tell nothing. */
export const LONGEST = 40;
