/** What the allocator had reserved at a moment: a row per segment with its blocks, what lies between them is free. */
import { fill, h } from "../../base/dom.ts";
import { bufferHandle, bytes, counted } from "../../base/format.ts";
import { isAbort, type CaptureClient } from "../../data/client.ts";
import { drawSegment, memoryTheme, type MemoryTheme } from "../../draw/segment_draw.ts";
import { readTheme } from "../../draw/theme.ts";
import { moment } from "../../layout/timeline_scale.ts";
import { onTheme } from "../../state/settings.ts";
import { decodeSegments, type SegmentsWindow } from "../../wire/memory.ts";
import { sizedPen } from "../common/sized_pen.ts";
import { failure } from "../common/states.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";

const ROW = 30;

export interface SegmentsActions {
  buffer(id: number): void;
  /** Another moment was asked for. */
  time(time: number): void;
}

export class SegmentsPane {
  readonly element = h("div.mem-segments", { hidden: true });
  private readonly facts = h("div.mem-segments-facts");
  private readonly body = h("div.mem-segments-body");
  private readonly list: VirtualList;
  private data: SegmentsWindow | null = null;
  /** First block of each segment, and one past the last. */
  private bounds: number[] = [];
  private asked = "";
  private request = new AbortController();
  private chosen = -1;
  private theme: MemoryTheme | null = null;
  private readonly stopTheme: () => void;
  private readonly watcher: ResizeObserver;

  constructor(
    host: HTMLElement,
    private readonly client: CaptureClient,
    private readonly actions: SegmentsActions,
  ) {
    this.element.append(this.facts, this.body);
    host.append(this.element);
    this.list = new VirtualList(this.body, {
      rowHeight: ROW,
      role: "listbox",
      label: "Segments, largest first",
      render: (index) => this.row(index),
      onSelect: () => undefined,
    });
    this.stopTheme = onTheme(() => {
      this.theme = null;
      this.list.refresh();
    });
    this.watcher = new ResizeObserver(() => this.list.refresh());
    this.watcher.observe(this.body);
  }

  /** The segments of a device right after a moment; what is there stays until they come. */
  async show(device: string, time: number, whole: number): Promise<void> {
    this.element.hidden = false;
    const path = `memory/segments?device=${encodeURIComponent(device)}&time=${time}`;
    if (path === this.asked) return;
    this.asked = path;
    this.request.abort();
    this.request = new AbortController();
    try {
      this.data = decodeSegments(await this.client.bytes(path, this.request.signal));
    } catch (error) {
      if (isAbort(error)) return;
      this.data = null;
      this.list.setCount(0);
      fill(
        this.facts,
        failure(error, () => {
          this.asked = "";
          void this.show(device, time, whole);
        }),
      );
      return;
    }
    this.bounds = boundsOf(this.data);
    this.tell(this.data, time, whole);
    this.list.setCount(this.data.bytes.length);
    this.element.dataset["at"] = String(time);
  }

  hide(): void {
    this.element.hidden = true;
  }

  /** Goes to the change before or after the moment; true when there is one. */
  step(by: 1 | -1): boolean {
    const time = by > 0 ? this.data?.after : this.data?.before;
    if (time === null || time === undefined) return false;
    this.actions.time(time);
    return true;
  }

  choose(id: number): void {
    if (id === this.chosen) return;
    this.chosen = id;
    this.list.refresh();
  }

  dispose(): void {
    this.request.abort();
    this.stopTheme();
    this.watcher.disconnect();
    this.list.dispose();
  }

  private tell(data: SegmentsWindow, time: number, whole: number): void {
    const unused = data.reserved - data.allocated;
    const part = data.reserved > 0 ? (100 * unused) / data.reserved : 0;
    const figure = (title: string, text: string): HTMLElement => h("span", `${title} `, h("b", text));
    fill(
      this.facts,
      figure("At", moment(time, whole)),
      h("span", h("b", counted(data.count, "segment")), `, ${counted(data.held, "block")}`),
      figure("reserved", bytes(data.reserved)),
      figure("allocated", bytes(data.allocated)),
      figure("unused", `${bytes(Math.max(0, unused))}, ${part.toFixed(1)}%`),
      figure("largest free", bytes(data.largest)),
      data.rounded > 0 && figure("rounded up", bytes(data.rounded)),
      data.lost > 0 && h("span.dim", `${bytes(data.lost)} lie in no segment`),
      data.left > 0 && h("span.dim", `${counted(data.left, "smaller segment")} not listed`),
      h("span.grow"),
      h("span.faint.wide", "each segment over the full width · ← → next change"),
    );
  }

  private row(index: number): HTMLElement {
    const data = this.data!;
    const canvas = h("canvas.mem-segment-bar") as HTMLCanvasElement;
    const size = data.bytes[index]!;
    const part = size > 0 ? (100 * data.used[index]!) / size : 0;
    const row = h(
      "div.mem-segment",
      { "data-segment": data.address[index] },
      h("span.mono.ell", data.address[index]),
      h("span.num", bytes(size)),
      canvas,
      h("span.num.faint", `${part.toFixed(0)}% used`),
    );
    canvas.addEventListener("click", (event) => {
      const at = this.under(index, canvas, event);
      if (at >= 0) this.actions.buffer(data.blocks.id[at]!);
    });
    let over = -1;
    canvas.addEventListener("pointermove", (event) => (over = this.under(index, canvas, event)));
    canvas.addEventListener("pointerleave", () => (over = -1));
    requestAnimationFrame(() => this.paint(index, canvas));
    return tip(row, () => (over >= 0 ? this.describeBlock(over) : this.describeSegment(index)));
  }

  private paint(index: number, canvas: HTMLCanvasElement): void {
    const { clientWidth: width, clientHeight: height } = canvas;
    const data = this.data;
    if (!data || width === 0 || index >= data.bytes.length) return;
    const pen = sizedPen(canvas, width, height);
    this.theme ??= memoryTheme(readTheme(canvas), "");
    const blocks = [this.bounds[index]!, this.bounds[index + 1]!] as const;
    drawSegment(pen, { width, height }, data, index, blocks, this.chosen, this.theme);
  }

  /** The block under the pointer, -1 for none. */
  private under(index: number, canvas: HTMLCanvasElement, event: MouseEvent): number {
    const data = this.data!;
    const { left, width } = canvas.getBoundingClientRect();
    const at = ((event.clientX - left) / Math.max(1, width)) * data.bytes[index]!;
    const pixel = data.bytes[index]! / Math.max(1, width);
    let best = -1;
    for (let i = this.bounds[index]!; i < this.bounds[index + 1]!; i++) {
      const from = data.blocks.offset[i]!;
      if (from - pixel > at) break;
      if (at <= from + Math.max(pixel, data.blocks.taken[i]!)) best = i;
    }
    return best;
  }

  private describeBlock(at: number): string {
    const { id, size, taken, offset, segment, pending } = this.data!.blocks;
    const where = BigInt(this.data!.address[segment[at]!]!) + BigInt(offset[at]!);
    return [
      `${bufferHandle(id[at]!, false)} at 0x${where.toString(16)}`,
      bytes(size[at]!),
      taken[at]! > size[at]! ? `${bytes(taken[at]! - size[at]!)} more, rounded up` : "",
      pending[at] ? "to be freed, waits for a stream" : "",
    ]
      .filter((text) => text !== "")
      .join("\n");
  }

  private describeSegment(index: number): string {
    const data = this.data!;
    const blocks = this.bounds[index + 1]! - this.bounds[index]!;
    return [
      `${data.address[index]!}, ${data.name[index]!}`,
      `${bytes(data.bytes[index]!)}, ${bytes(data.bytes[index]! - data.used[index]!)} unused`,
      `${counted(blocks, "block")}, largest free ${bytes(data.largestFree[index]!)}`,
    ].join("\n");
  }
}

function boundsOf(data: SegmentsWindow): number[] {
  const { segment } = data.blocks;
  const found = [0];
  let at = 0;
  for (let index = 0; index < data.bytes.length; index++) {
    while (at < segment.length && segment[at]! <= index) at++;
    found.push(at);
  }
  return found;
}
