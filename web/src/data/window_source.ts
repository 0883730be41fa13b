/**
 * Where every drawing gets its data from: requests that are cancelled when nobody wants them, answers that are kept.
 */
import { isAbort } from "./client.ts";
import type { Kept } from "./kept.ts";

/** Something that fetches bytes: a CaptureClient. */
export interface ByteClient {
  bytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer>;
}

/** A part of an answer, under the name by which it is wanted. */
export interface Piece<T> {
  key: string;
  value: T;
  bytes: number;
}

export interface Request<T> {
  path: string;
  /** The pieces that the answer brings. */
  keys: readonly string[];
  /** The pieces out of the answer; none when it is not worth keeping. */
  read(data: ArrayBuffer): readonly Piece<T>[];
  /** It is here and kept. */
  done?(): void;
}

interface Flight {
  abort: AbortController;
  keys: ReadonlySet<string>;
}

export class WindowSource<T> {
  private flights: Flight[] = [];

  constructor(
    private readonly client: ByteClient,
    readonly kept: Kept<T>,
    private readonly onData: () => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Whether a request is on its way. */
  get waiting(): boolean {
    return this.flights.length > 0;
  }

  /** Whether a piece is on its way. */
  isComing(key: string): boolean {
    return this.flights.some((flight) => flight.keys.has(key));
  }

  /** Cancels the requests that bring nothing of what is wanted, and with them the server's work. */
  keepOnly(wanted: ReadonlySet<string>): void {
    this.flights = this.flights.filter((flight) => {
      for (const key of flight.keys) if (wanted.has(key)) return true;
      flight.abort.abort();
      return false;
    });
  }

  /** Asks. A request that fails is told of once and forgotten: whoever wants its pieces asks again. */
  ask(request: Request<T>): void {
    const flight = { abort: new AbortController(), keys: new Set(request.keys) };
    const { signal } = flight.abort;
    this.flights.push(flight);
    const landed = (): void => {
      this.flights = this.flights.filter((other) => other !== flight);
    };
    this.client
      .bytes(request.path, signal)
      .then((data) => {
        landed();
        if (signal.aborted) return;
        for (const { key, value, bytes } of request.read(data)) this.kept.put(key, value, bytes);
        request.done?.();
        this.onData();
      })
      .catch((error: unknown) => {
        landed();
        if (!signal.aborted && !isAbort(error)) this.onError(error);
      });
  }

  /** Cancels everything. */
  cancel(): void {
    this.keepOnly(new Set());
  }

  dispose(): void {
    this.cancel();
    this.kept.clear();
  }
}
