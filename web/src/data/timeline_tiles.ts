/** What was fetched of the timeline: tiles of a power of two ns, per lane, the least recently used go first. */
import { Kept } from "./kept.ts";

/** ns of a tile are 2 ** level; a tile is drawn on between PIXELS / 2 and PIXELS pixels. */
export const PIXELS = 512;
const LIMIT_BYTES = 32 << 20;

/** Tiles of one zoom level. */
export interface Grid {
  level: number;
  /** ns of one tile */
  width: number;
  first: number;
  /** exclusive */
  past: number;
}

/** The tiles that cover a window drawn on that many pixels. */
export function gridFor(t0: number, t1: number, pixels: number): Grid {
  const perPixel = Math.max(1e-3, (t1 - t0) / Math.max(1, pixels));
  const level = Math.max(0, Math.floor(Math.log2(perPixel * PIXELS)));
  const width = 2 ** level;
  return {
    level,
    width,
    first: Math.floor(t0 / width),
    past: Math.max(Math.floor(t0 / width) + 1, Math.ceil(t1 / width)),
  };
}

export interface Tile<T> {
  data: T;
  generation: number;
}

export function tileKey(lane: string, level: number, place: number): string {
  return `${lane}/${level}/${place}`;
}

/** Tiles by lane, level and place. */
export class TileStore<T> extends Kept<Tile<T>> {
  constructor(limit = LIMIT_BYTES) {
    super(limit);
  }

  /** The tiles of the grid's own level that are there, or of the nearest level that covers the window. */
  cover(lane: string, grid: Grid, t0: number, t1: number): Tile<T>[] {
    let [best, there] = this.row(lane, grid.level, grid.first, grid.past);
    let covered = there / (grid.past - grid.first);
    for (const by of [1, -1, 2, -2, 3, 4, 5, 6, 8, 10, 12]) {
      if (covered >= 1) break;
      const width = 2 ** (grid.level + by);
      if (grid.level + by < 0) continue;
      const first = Math.floor(t0 / width);
      const past = Math.max(first + 1, Math.ceil(t1 / width));
      const [found, many] = this.row(lane, grid.level + by, first, past);
      const share = many / (past - first);
      if (share > covered + 1e-9) {
        best = found;
        covered = share;
      }
    }
    return best;
  }

  /** The tiles that are there, those of one reply once, and how many there are. */
  private row(lane: string, level: number, first: number, past: number): [Tile<T>[], number] {
    const found: Tile<T>[] = [];
    let many = 0;
    for (let place = first; place < past; place++) {
      const tile = this.get(tileKey(lane, level, place));
      if (!tile) continue;
      many++;
      if (found.at(-1)?.data !== tile.data) found.push(tile);
    }
    return [found, many];
  }
}
