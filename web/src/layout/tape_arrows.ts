/** Arrows of a tape that would cover the lanes: only their ends far from the dispatcher are drawn. */

export interface Way {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  width: number;
}

/** Share of the lanes' area that arrows may cover. */
const MOST_INK = 0.25;

/** Whether arrows would be a wall, as those of hundreds of workers are. */
export function isWall(ways: readonly Way[], width: number, height: number): boolean {
  let ink = 0;
  for (const way of ways) ink += Math.abs(way.y1 - way.y0) * way.width;
  return ink > MOST_INK * width * height;
}

/** The part of an arrow at the end that is not the dispatcher's, at most so long. */
export function endOf<W extends Way>(way: W, toDispatcher: boolean, length: number): W {
  const part = Math.min(1, length / Math.max(1, Math.abs(way.y1 - way.y0)));
  const [dx, dy] = [part * (way.x1 - way.x0), part * (way.y1 - way.y0)];
  return toDispatcher ? { ...way, x1: way.x0 + dx, y1: way.y0 + dy } : { ...way, x0: way.x1 - dx, y0: way.y1 - dy };
}
