/**
 * One window at a time, wider than the screen: for drawings whose data comes in one piece (memory, messages, hardware).
 */
import { Kept } from "./kept.ts";
import { WindowSource, type ByteClient } from "./window_source.ts";

interface Stretch {
  t0: number;
  t1: number;
}

/** A window that a view wants. */
export interface Wanted {
  /** The request; its answer is known by it. */
  path: string;
  /** What it is about: device, lanes, filter. An answer about something else is no substitute. */
  of: string;
  /** What is in sight, and the wider stretch that is asked for so that a pan finds something. */
  span: Stretch;
  stretch: Stretch;
  /** Units a pixel. */
  scale: number;
}

interface Options<T, W extends Wanted> {
  decode(data: ArrayBuffer): T;
  onData(data: T, wanted: W): void;
  onError(error: unknown): void;
  /** Whether what is here will do; without it only the very answer will. */
  enough?(have: W, wanted: W): boolean;
}

const LIMIT_BYTES = 16 << 20;
/** Of an answer that is on its way a pixel may be this many times as wide, or as narrow, as one of the screen. */
const COARSE = 2;

export class StretchSource<T, W extends Wanted = Wanted> {
  private readonly source: WindowSource<T>;
  private wanted: W | null = null;
  private have: W | null = null;
  private flying: W | null = null;

  constructor(
    client: ByteClient,
    private readonly options: Options<T, W>,
    limit = LIMIT_BYTES,
  ) {
    const failed = (error: unknown): void => {
      this.flying = null;
      options.onError(error);
    };
    this.source = new WindowSource(client, new Kept<T>(limit), () => undefined, failed);
  }

  get waiting(): boolean {
    return this.source.waiting;
  }

  /**
   * Makes sure that a window is, or soon will be, there. A request that still has what is in sight is let finish, so
   * that a long pan is drawn on the way; one that was overtaken is cancelled.
   */
  need(wanted: W): void {
    this.wanted = wanted;
    if (this.have && this.isEnough(this.have, wanted)) return this.letGo();
    const known = this.source.kept.get(wanted.path);
    if (known !== undefined) {
      this.letGo();
      return this.take(known, wanted);
    }
    if (this.flying && serves(this.flying, wanted)) return;
    this.letGo();
    this.flying = wanted;
    this.source.ask({
      path: wanted.path,
      keys: [wanted.path],
      read: (data) => [{ key: wanted.path, value: this.options.decode(data), bytes: data.byteLength }],
      done: () => this.landed(wanted),
    });
  }

  /** What was answered is true no more; what is drawn stays until the next answer comes. */
  forget(): void {
    this.letGo();
    this.source.kept.clear();
    this.have = null;
  }

  dispose(): void {
    this.wanted = this.flying = null;
    this.source.dispose();
  }

  private letGo(): void {
    this.flying = null;
    this.source.cancel();
  }

  private isEnough(have: W, wanted: W): boolean {
    return have.path === wanted.path || (this.options.enough?.(have, wanted) ?? false);
  }

  private landed(wanted: W): void {
    this.flying = null;
    // an answer that is larger than everything that may be kept is not here any more
    const data = this.source.kept.get(wanted.path);
    if (data !== undefined) this.take(data, wanted);
    if (this.wanted && this.wanted.path !== wanted.path) this.need(this.wanted);
  }

  private take(data: T, wanted: W): void {
    this.have = wanted;
    this.options.onData(data, wanted);
  }
}

function serves(flying: Wanted, wanted: Wanted): boolean {
  const coarse = flying.scale / wanted.scale;
  return (
    flying.of === wanted.of &&
    flying.stretch.t0 <= wanted.span.t0 &&
    flying.stretch.t1 >= wanted.span.t1 &&
    coarse <= COARSE &&
    coarse >= 1 / COARSE
  );
}
