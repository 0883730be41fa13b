/** The left pane: the devices with their peaks, and what was alive at the chosen moment, largest first. */
import { fill, h } from "../../base/dom.ts";
import { bufferHandle, bytes, clip, count, counted } from "../../base/format.ts";
import { fits, parseQuery } from "../../data/grammar.ts";
import { bufferColour, FOLDED, shortType } from "../../layout/memory_bands.ts";
import type { AliveWire, DeviceWire } from "../../wire/memory.ts";
import { bothEnds } from "../common/both_ends.ts";
import { filterBox, type FilterBox } from "../common/filter_box.ts";
import { failure } from "../common/states.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";

const DEVICE_ROW = 30;
const SPARK = { width: 64, height: 20 };

export interface LeftActions {
  device(name: string): void;
  buffer(id: number): void;
  filter(text: string): void;
}

export class LeftPane {
  private readonly devicesHost = h("div.mem-devices");
  private readonly title = h("b");
  private readonly chip = h("span.chip");
  private readonly note = h("div.none.faint.small", { hidden: true });
  private readonly devices: VirtualList;
  private readonly list: VirtualList;
  private readonly field: FilterBox;
  /** Places in `alive` that the filter leaves. */
  private shown: number[] = [];
  private rows: DeviceWire[] = [];
  private several = false;
  private alive: AliveWire | null = null;
  private wanted = "";
  private chosen = -1;
  private drawn: ReadonlySet<number> = new Set();

  constructor(host: HTMLElement, actions: LeftActions) {
    host.append(h("div.bar", h("b", "Devices"), h("span.grow"), h("span.faint.small", "peak")), this.devicesHost);
    this.devices = new VirtualList(this.devicesHost, {
      rowHeight: DEVICE_ROW,
      role: "listbox",
      label: "Devices",
      render: (index) => this.deviceRow(this.rows[index]!),
      onSelect: (index) => actions.device(this.rows[index]!.name),
    });
    const aliveHost = h("div.mem-alive");
    this.field = filterBox(
      "Filter by number, name or type",
      (text) => actions.filter(text),
      () => this.list.element.focus(),
    );
    host.append(
      h("div.bar.mem-at", this.title, this.chip, h("span.grow"), h("span.faint.small", "size")),
      this.field.element,
      aliveHost,
      this.note,
    );
    this.list = new VirtualList(aliveHost, {
      rowHeight: 24,
      role: "listbox",
      label: "Alive buffers, largest first",
      render: (index) => this.aliveRow(this.shown[index]!),
      onSelect: (index) => actions.buffer(this.alive!.id[this.shown[index]!]!),
    });
  }

  setDevices(rows: DeviceWire[], several: boolean): void {
    this.several = several;
    // GPU:2 before GPU:10, what has no name last
    this.rows = [...rows].sort(
      (a, b) => Number(a.name === "") - Number(b.name === "") || a.name.localeCompare(b.name, "en", { numeric: true }),
    );
    this.devicesHost.style.height = `${Math.min(rows.length * DEVICE_ROW, 10 * DEVICE_ROW)}px`;
    this.devices.setCount(rows.length);
  }

  selectDevice(name: string): void {
    this.devices.select(this.rows.findIndex((row) => row.name === name));
  }

  setTitle(text: string): void {
    this.title.textContent = text;
  }

  /** What was alive at the chosen moment; while that is on its way, the rows stay. */
  setAlive(alive: AliveWire): void {
    this.alive = alive;
    this.sift();
  }

  /** What was alive could not be read: no rows, so that those of another moment do not stand below the title. */
  fail(error: unknown, again: () => void): void {
    this.alive = null;
    this.shown = [];
    this.list.setCount(0);
    fill(this.chip);
    fill(this.note, failure(error, again));
    this.note.hidden = false;
  }

  /** Keeps the rows in which every word occurs: number, name of the producer, type. */
  setFilter(text: string): void {
    if (this.field.input.value !== text) this.field.input.value = text;
    if (text === this.wanted) return;
    this.wanted = text;
    this.sift();
  }

  focusFilter(): void {
    this.field.input.focus();
    this.field.input.select();
  }

  selectBuffer(id: number): void {
    this.chosen = id;
    this.list.select(this.shown.findIndex((at) => this.alive?.id[at] === id));
  }

  private sift(): void {
    const { alive } = this;
    if (!alive) return;
    const query = parseQuery(this.wanted);
    const filtered = this.wanted.trim() !== "";
    const text = (at: number): string => {
      const producer = alive.producers[alive.producer[at]!] ?? "";
      const type = shortType(alive.dtypes[alive.dtype[at]!] ?? "");
      return `${bufferHandle(alive.id[at]!, this.several)} ${producer} ${type}`;
    };
    this.shown = Array.from(alive.id.keys()).filter((at) => !filtered || fits(query, text(at)));
    fill(this.chip, !filtered ? count(alive.count) : `${count(this.shown.length)} of ${count(alive.count)}`);
    this.list.setCount(this.shown.length);
    const more = alive.count - alive.id.length;
    const none = filtered && this.shown.length === 0;
    this.note.hidden = more <= 0 && !none;
    this.note.textContent = [
      none ? `Nothing alive here matches “${this.wanted}”` : "",
      more > 0 ? `${counted(more, "smaller buffer")} not listed` : "",
    ]
      .filter((part) => part !== "")
      .join(" · ");
    this.selectBuffer(this.chosen);
  }

  /** Which buffers have a band: only these show a colour. */
  setDrawn(drawn: ReadonlySet<number>): void {
    this.drawn = drawn;
    this.list.refresh();
  }

  dispose(): void {
    this.devices.dispose();
    this.list.dispose();
  }

  private deviceRow(device: DeviceWire): HTMLElement {
    const name = device.name || "unnamed";
    const row = h(
      "div.mem-device",
      { "data-device": device.name },
      h("span.ell.name", clip(name, 80)),
      spark(device),
      h("span.num", bytes(device.peak)),
    );
    return tip(
      row,
      () =>
        `${name}\n${counted(device.buffers, "buffer")}, ${count(device.living)} never freed\n${count(device.peak)} bytes at the peak`,
    );
  }

  private aliveRow(index: number): HTMLElement {
    const alive = this.alive!;
    const id = alive.id[index]!;
    const dtype = shortType(alive.dtypes[alive.dtype[index]!] ?? "");
    const producer = alive.producers[alive.producer[index]!] ?? "";
    const colour = this.drawn.has(id) ? bufferColour(id) : FOLDED;
    const row = h(
      "div.mem-row",
      { "data-buffer": id },
      h(`i.sw.mem-cat-${colour}`),
      h("span.mono", bufferHandle(id, this.several)),
      bothEnds("span.mono.dim", producer || dtype),
      h("span.num", bytes(alive.bytes[index]!)),
    );
    return tip(row, () =>
      [bufferHandle(id, this.several), producer, dtype, `${count(alive.bytes[index]!)} bytes`]
        .filter((text) => text !== "")
        .join("\n"),
    );
  }
}

function spark(device: DeviceWire): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${SPARK.width} ${SPARK.height}`);
  svg.setAttribute("preserveAspectRatio", "none"); // a narrow pane squeezes the line, it never cuts it
  svg.setAttribute("aria-hidden", "true");
  // the figure beside it says how much; the line says when
  const least = Math.min(...device.spark);
  const reach = Math.max(...device.spark) - least;
  const step = SPARK.width / Math.max(1, device.spark.length - 1);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute(
    "d",
    device.spark
      .map((value, i) => {
        const share = reach > 0 ? (value - least) / reach : 0.5;
        const y = SPARK.height - 2 - share * (SPARK.height - 4);
        return `${i === 0 ? "M" : "L"}${(i * step).toFixed(1)} ${y.toFixed(1)}`;
      })
      .join(""),
  );
  path.setAttribute("class", "mem-spark");
  svg.append(path);
  return svg;
}
