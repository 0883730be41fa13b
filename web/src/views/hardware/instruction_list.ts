/** The kernel's instructions with heat: hits, latency, stall. It follows the focus of the trace. */
import { fill, h } from "../../base/dom.ts";
import { count, counted } from "../../base/format.ts";
import type { InstructionsWire } from "../../wire/hardware.ts";
import { emptyState } from "../common/states.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";

export type Heat = "hits" | "latency" | "stall" | "idle";
const TITLES: Record<Heat, string> = { hits: "Hits", latency: "Latency", stall: "Stall", idle: "Idle" };

/** Room for the longest of some numbers at the list's letters, in pixels. */
function widest(...columns: readonly (readonly number[])[]): string {
  const most = columns.flat().reduce((best, other) => Math.max(best, other), 0);
  return `${Math.ceil(count(most).length * 6.3)}px`;
}

export class InstructionList {
  private list: VirtualList | null = null;
  private data: InstructionsWire | null = null;
  private heat: Heat = "stall";
  private lit = "";
  /** Whether the trace says of any instruction that it ran. */
  private mapped = false;
  private readonly body = h("div.hw-ins");
  private readonly column = h("span.num");
  private readonly buttons = new Map<Heat, HTMLElement>();
  private readonly follows = h("span.faint.small.wide", "follow the focus");
  private readonly register = h("span.faint.small.ell");

  constructor(
    private readonly host: HTMLElement,
    private readonly onSelect: (instruction: number) => void,
  ) {
    const group = h("span.seg", { role: "group", "aria-label": "What the heat shows" });
    for (const heat of Object.keys(TITLES) as Heat[]) {
      const button = h("button", { type: "button", onclick: () => this.show(heat) }, TITLES[heat]);
      this.buttons.set(heat, button);
      group.append(button);
    }
    host.append(
      h("div.bar", h("b", "Instructions"), this.follows, this.register, h("span.grow"), group),
      h(
        "div.in.hw-head",
        h("span", "pc"),
        h("span", "Instruction"),
        h("span.num", "Hits"),
        h("span.num", "Lat."),
        this.column,
      ),
      this.body,
    );
    this.show("stall");
  }

  set(data: InstructionsWire): void {
    this.data = data;
    this.mapped = data.hits?.some((hits) => hits > 0) ?? false;
    this.list?.dispose();
    this.list = null;
    if (data.pc.length === 0) {
      fill(
        this.body,
        emptyState("No instructions", data.notes.join(" ") || "This trace cannot be mapped to instructions."),
      );
      return;
    }
    // a number is never cut: the columns are as wide as their longest one
    this.host.style.setProperty("--hits", widest(data.hits));
    this.host.style.setProperty("--sum", widest(data.hits, data.latency.total, data.stall.total, data.idle.total));
    fill(this.body);
    this.list = new VirtualList(this.body, {
      rowHeight: 19,
      role: "listbox",
      label: "Instructions",
      render: (index) => this.row(index),
      onSelect: (index) => this.onSelect(index),
    });
    this.list.setCount(data.pc.length);
  }

  /** Selects an instruction without telling anyone. */
  select(instruction: number): void {
    this.list?.select(instruction, false);
    if (instruction >= 0) this.list?.centre(instruction);
  }

  dispose(): void {
    this.list?.dispose();
  }

  private show(heat: Heat): void {
    this.heat = heat;
    for (const [name, button] of this.buttons) {
      button.classList.toggle("on", name === heat);
      button.setAttribute("aria-pressed", String(name === heat));
    }
    this.column.textContent = heat === "hits" ? "Hits" : `${TITLES[heat]}, cycles`;
    this.list?.refresh();
  }

  private value(index: number): number {
    const { data, heat } = this;
    if (!data) return 0;
    return heat === "hits" ? data.hits[index]! : data[heat].total[index]!;
  }

  private row(index: number): HTMLElement {
    const data = this.data!;
    const value = this.value(index);
    const values = this.heat === "hits" ? data.hits : data[this.heat].total;
    const most = values.reduce((best, other) => Math.max(best, other), 1);
    const share = value / most;
    const step = share > 0.5 ? 4 : share > 0.05 ? 3 : share > 0.006 ? 2 : 1;
    const width = value > 0 ? Math.max(3, (Math.log1p(value) / Math.log1p(most)) * 100) : 0;
    const bar = h(`i.heat-${step}`);
    bar.style.width = `${width}%`;
    const latency = data.latency;
    const mean =
      latency.count[index]! > 0 ? (latency.total[index]! / latency.count[index]!).toFixed(1).replace(/\.0$/, "") : "";
    const uses = this.lit !== "" && data.registers[index]!.includes(this.lit);
    const row = h(
      `div.in${this.mapped && data.hits[index] === 0 ? ".skip" : ""}${uses ? ".lit" : ""}`,
      h("span", data.pc[index]!.toString(16)),
      h("span.ell.name", data.text[index]),
      h("span.num", data.hits[index]! > 0 ? count(data.hits[index]!) : this.mapped ? "–" : ""),
      h("span.num.dim", mean),
      h("span.heat", bar, h("span.num", value > 0 ? count(value) : "")),
    );
    row.addEventListener("pointerdown", () => this.light(data.registers[index]!));
    return tip(row, () => this.describe(index));
  }

  /** Lights up the other instructions that name the first register of the clicked one. */
  private light(registers: readonly string[]): void {
    const next = registers[0] ?? "";
    this.lit = next === this.lit ? "" : next;
    this.register.textContent = this.lit === "" ? "" : `uses of ${this.lit} underlined`;
    this.follows.hidden = this.lit !== "";
    window.setTimeout(() => this.list?.refresh(), 0);
  }

  private describe(index: number): Node {
    const data = this.data!;
    const figure = (name: "latency" | "stall" | "idle"): string => {
      const { total, worst, count: number } = data[name];
      if (number[index] === 0) return `${TITLES[name]}: not measured`;
      const mean = (total[index]! / number[index]!).toFixed(1);
      return `${TITLES[name]}: mean ${mean}, sum ${count(total[index]!)}, worst ${count(worst[index]!)}`;
    };
    return h(
      "div",
      h("div.mono", data.text[index]),
      h(
        "div.dim",
        `pc 0x${data.pc[index]!.toString(16)}${this.mapped ? ` · ${counted(data.hits[index]!, "hit")}` : ""}`,
      ),
      ...(["latency", "stall", "idle"] as const).map((name) => h("div.dim", figure(name))),
      data.registers[index]!.length > 0 && h("div.faint", data.registers[index]!.join(" ")),
    );
  }
}
