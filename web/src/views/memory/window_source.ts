/** Keeps the part of a device's memory that is on the screen: asks before the edge is reached, one request at a time. */
import { isAbort, type CaptureClient } from "../../data/client.ts";
import type { Span } from "../../layout/span.ts";
import { decodeMemory, type MemoryWindow } from "../../wire/memory.ts";

/** Beside the window as much as this share of it is asked for on each side; less than NEAR of it left asks anew. */
const MARGIN = 0.5;
const NEAR = 0.12;
/** A pixel of the answer may be this many pixels of the screen. */
const COARSE = 1.6;

export class WindowSource {
  data: MemoryWindow | null = null;
  private loaded: (Span & { density: number }) | null = null;
  /** Whether the bands are there too: of very many buffers the total comes first. */
  complete = false;
  private totalFirst = false;
  private device = "";
  private wanted: { span: Span; width: number } | null = null;
  private busy: AbortController | null = null;

  constructor(
    private readonly client: CaptureClient,
    private whole: number,
    private readonly onData: () => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Another device, or the same one after it has grown: what is there stays until the answer comes. */
  use(device: string, whole: number, totalFirst: boolean): void {
    this.totalFirst = totalFirst && device !== this.device;
    this.complete = !this.totalFirst;
    if (device !== this.device) this.data = null;
    this.device = device;
    this.whole = whole;
    this.loaded = null;
    this.busy?.abort();
    this.busy = null;
  }

  /** Makes sure that this window is, or soon will be, there. */
  need(span: Span, width: number): void {
    this.wanted = { span, width };
    if (this.busy === null && !this.covers(span, width)) void this.ask();
  }

  get waiting(): boolean {
    return this.busy !== null;
  }

  dispose(): void {
    this.busy?.abort();
    this.wanted = null;
  }

  private covers(span: Span, width: number): boolean {
    const { loaded } = this;
    if (!loaded || !this.complete) return false;
    const length = span.t1 - span.t0;
    if (width / length > loaded.density * COARSE) return false;
    return (
      loaded.t0 <= Math.max(0, span.t0 - NEAR * length) && loaded.t1 >= Math.min(this.whole, span.t1 + NEAR * length)
    );
  }

  private async ask(): Promise<void> {
    const { span, width } = this.wanted!;
    const length = span.t1 - span.t0;
    const t0 = Math.max(0, Math.floor(span.t0 - MARGIN * length));
    const t1 = Math.max(t0 + 1, Math.min(Math.max(1, this.whole), Math.ceil(span.t1 + MARGIN * length)));
    const density = width / length;
    const px = Math.max(1, Math.min(8192, Math.ceil((t1 - t0) * density)));
    const most = this.totalFirst ? "&most=0" : "";
    const busy = new AbortController();
    this.busy = busy;
    try {
      const reply = await this.client.bytes(
        `memory/window?device=${encodeURIComponent(this.device)}&t0=${t0}&t1=${t1}&px=${px}&v0=${Math.floor(span.t0)}&v1=${Math.ceil(span.t1)}${most}`,
        busy.signal,
      );
      if (this.busy !== busy) return;
      this.data = decodeMemory(reply);
      this.loaded = { t0, t1, density };
      this.busy = null;
      this.complete = most === "";
      this.totalFirst = false;
      this.onData();
      if (this.wanted) this.need(this.wanted.span, this.wanted.width);
    } catch (error) {
      if (this.busy === busy) this.busy = null;
      if (!isAbort(error)) this.onError(error);
    }
  }
}
