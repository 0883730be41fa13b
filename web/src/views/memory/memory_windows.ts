/** The part of a device's memory that is on the screen; of very many buffers the total comes before the bands. */
import type { CaptureClient } from "../../data/client.ts";
import { StretchSource, type Wanted } from "../../data/stretch_source.ts";
import type { Span } from "../../layout/span.ts";
import { decodeMemory, type MemoryWindow } from "../../wire/memory.ts";

/** Beside the window as much as this share of it is asked for on each side; less than NEAR of it left asks anew. */
const MARGIN = 0.5;
const NEAR = 0.12;
/** A pixel of the answer may be this many pixels of the screen. */
const COARSE = 1.6;

export class MemoryWindows {
  data: MemoryWindow | null = null;
  /** Whether the bands are there too. */
  complete = false;
  private totalFirst = false;
  private device = "";
  private readonly source: StretchSource<MemoryWindow>;
  private last: { span: Span; width: number } | null = null;

  constructor(
    client: CaptureClient,
    private whole: number,
    private readonly onData: () => void,
    onError: (error: unknown) => void,
  ) {
    this.source = new StretchSource(client, {
      decode: decodeMemory,
      onData: (data, wanted) => this.take(data, wanted),
      onError,
      enough: (have, wanted) => this.covers(have, wanted),
    });
  }

  /** Another device, or the same one after it has grown: what is there stays until the answer comes. */
  use(device: string, whole: number, totalFirst: boolean): void {
    this.totalFirst = totalFirst && device !== this.device;
    this.complete = !this.totalFirst;
    if (device !== this.device) this.data = null;
    this.device = device;
    this.whole = whole;
    this.source.forget();
  }

  /** Makes sure that this window is, or soon will be, there. */
  need(span: Span, width: number): void {
    this.last = { span, width };
    const length = span.t1 - span.t0;
    const t0 = Math.max(0, Math.floor(span.t0 - MARGIN * length));
    const t1 = Math.max(t0 + 1, Math.min(Math.max(1, this.whole), Math.ceil(span.t1 + MARGIN * length)));
    const scale = length / width;
    const px = Math.max(1, Math.min(8192, Math.ceil((t1 - t0) / scale)));
    const seen = { t0: Math.max(0, Math.floor(span.t0)), t1: Math.min(this.whole, Math.ceil(span.t1)) };
    const query = `t0=${t0}&t1=${t1}&px=${px}&v0=${Math.floor(span.t0)}&v1=${Math.ceil(span.t1)}`;
    const of = `device=${encodeURIComponent(this.device)}${this.totalFirst ? "&most=0" : ""}`;
    this.source.need({ path: `memory/window?${of}&${query}`, of, span: seen, stretch: { t0, t1 }, scale });
  }

  get waiting(): boolean {
    return this.source.waiting;
  }

  dispose(): void {
    this.source.dispose();
  }

  private take(data: MemoryWindow, wanted: Wanted): void {
    this.data = data;
    this.complete = !wanted.of.endsWith("&most=0");
    this.totalFirst = false;
    this.onData();
    if (!this.complete && this.last) this.need(this.last.span, this.last.width);
  }

  private covers(have: Wanted, { of, span, scale }: Wanted): boolean {
    if (have.of !== of || have.scale > scale * COARSE) return false;
    const near = NEAR * (span.t1 - span.t0);
    return have.stretch.t0 <= Math.max(0, span.t0 - near) && have.stretch.t1 >= Math.min(this.whole, span.t1 + near);
  }
}
