/** The messages below the lanes: all that the filter leaves, by number; those outside the window are faint. */
import { h } from "../../base/dom.ts";
import { bytes, clip } from "../../base/format.ts";
import type { FamilyColour } from "../../draw/tape_colours.ts";
import type { TapeWire } from "../../wire/tape.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";
import type { MessagePages } from "./message_pages.ts";
import { route, seconds, swatch } from "./words.ts";

export class MessageList {
  readonly element = h("div.tp-msgs", { "aria-label": "Messages" });
  private readonly list: VirtualList;
  private tape: TapeWire | null = null;
  private pages: MessagePages | null = null;
  private colours: FamilyColour[] = [];
  private inside: [number, number] = [-Infinity, Infinity];

  constructor(onSelect: (seq: number) => void, onKey: (event: KeyboardEvent) => boolean) {
    const cells = [
      ["#", "num"],
      ["Time, s", "num"],
      ["Event", ""],
      ["From → to", ""],
      ["Command", ""],
      ["Size", "num"],
      ["Details", ""],
    ] as const;
    this.element.append(
      h(
        "div.tp-row.tp-th",
        { "aria-hidden": "true" },
        ...cells.map(([text, kind]) => h(kind === "" ? "span" : "span.num", text)),
      ),
    );
    this.list = new VirtualList(this.element, {
      rowHeight: 24,
      role: "listbox",
      label: "Messages",
      render: (index) => this.render(index),
      onSelect: (index) => void this.pages?.get(index).then((row) => row && onSelect(row.seq)),
      onKey: (event) => onKey(event),
    });
  }

  /** Another tape, run or filter. */
  use(tape: TapeWire, pages: MessagePages, total: number): void {
    this.tape = tape;
    this.pages = pages;
    this.list.setCount(total);
  }

  refresh(colours?: FamilyColour[]): void {
    if (colours) this.colours = colours;
    this.list.refresh();
  }

  /** Times that are in sight; rows of other times are faint. */
  window(t0: number, t1: number): void {
    this.inside = [t0, t1];
    this.list.refresh();
  }

  select(place: number): void {
    this.list.select(place, false);
    if (place >= 0) this.list.centre(place);
  }

  get selected(): number {
    return this.list.selected;
  }

  /** Brings a message to the top of the list. */
  scrollTo(place: number): void {
    this.list.setOffset(place, 0);
  }

  focus(): void {
    this.list.focus();
  }

  dispose(): void {
    this.list.dispose();
  }

  private render(index: number): HTMLElement {
    const { tape } = this;
    const row = this.pages?.at(index);
    if (!tape || !row) return h("div.tp-row", h("span.num.faint", "…"));
    const outside = row.time < this.inside[0] || row.time > this.inside[1];
    const event = tape.kinds[row.event]?.name ?? "";
    const details = h("span.mono.dim.ell.name", clip(row.details, 200));
    return h(
      `div.tp-row${outside ? ".out" : ""}`,
      h("span.num.faint", row.seq),
      h("span.num", seconds(row.time, tape.resolution)),
      h("span.dim.ell", row.failed ? h("b.warnt", "✕ ") : null, event),
      h("span.ell.name", route(tape, row.source, row.target)),
      h("span.tp-cmd", swatch(this.colours[row.family]), h("span.ell.name", row.command || (tape.ops[row.op] ?? ""))),
      h("span.num", row.size > 0 ? bytes(row.size) : ""),
      row.details.length > 40 ? tip(details, () => row.details) : details,
    );
  }
}
