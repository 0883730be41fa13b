/** The kernel's instructions with heat: hits, latency, stall. It follows the focus of the trace. */
import { fill, h } from "../../base/dom.ts";
import { count, counted } from "../../base/format.ts";
import { instructionText, type InstructionsWire } from "../../wire/hardware.ts";
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

export interface InstructionEvents {
  onSelect(instruction: number): void;
  /** Whether the costliest are to come first. */
  onOrder(costly: boolean): void;
  /** The address of a kernel's code, at a line if there is one; null without that view. */
  code(context: number, line: number): string | null;
}

export class InstructionList {
  private list: VirtualList | null = null;
  private data: InstructionsWire | null = null;
  private heat: Heat = "stall";
  private lit = "";
  /** Whether the trace says of any instruction that it ran. */
  private mapped = false;
  private readonly body = h("div.hw-ins");
  private readonly column = h("button.link.num", { type: "button" });
  private readonly inOrder = h("button.link", { type: "button" }, "pc");
  private readonly said = h("div.hw-said", { hidden: true, "aria-live": "polite" });
  /** Instructions from top to bottom: as the program has them, or the costliest first. */
  private rows: number[] = [];
  private costly = false;
  private readonly buttons = new Map<Heat, HTMLElement>();
  private readonly follows = h("span.faint.small.wide", "follow the focus");
  private readonly register = h("span.faint.small.ell");

  constructor(
    private readonly host: HTMLElement,
    private readonly events: InstructionEvents,
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
        this.inOrder,
        h("span", "Instruction"),
        h("span.num", "Hits"),
        h("span.num", "Lat."),
        this.column,
      ),
      this.body,
      this.said,
    );
    this.inOrder.title = "In the order of the program";
    this.inOrder.addEventListener("click", () => this.events.onOrder(false));
    this.column.addEventListener("click", () => this.events.onOrder(!this.costly));
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
      onSelect: (index) => {
        this.explain(this.rows[index]!);
        this.events.onSelect(this.rows[index]!);
      },
    });
    this.sort();
    this.list.setCount(data.pc.length);
  }

  /** Puts the costliest first, or all in the order of the program. */
  order(costly: boolean): void {
    if (costly === this.costly) return;
    this.costly = costly;
    this.show(this.heat);
  }

  /** Selects an instruction without telling anyone. */
  select(instruction: number): void {
    const at = instruction < 0 ? -1 : this.rows.indexOf(instruction);
    this.list?.select(at, false);
    if (at >= 0) this.list?.centre(at);
    this.explain(instruction);
  }

  private sort(): void {
    const count = this.data?.pc.length ?? 0;
    this.rows = Array.from({ length: count }, (_, at) => at);
    if (this.costly) this.rows.sort((a, b) => this.value(b) - this.value(a) || a - b);
  }

  /** Below the list: what the chosen instruction waits for, and the line that it came from. */
  private explain(at: number): void {
    const { data } = this;
    const known = data !== null && at >= 0;
    const awaits = known ? data.awaits[at]! : -1;
    const line = known ? data.line[at]! : 0;
    const parts: HTMLElement[] = [];
    if (known && data.wait[at] !== "") {
      parts.push(h("div", h("b.mono", data.wait[at]), ` ${data.words[at]}`));
      if (awaits >= 0)
        parts.push(
          h(
            "div",
            "last to be done: ",
            h(
              "button.link.mono",
              { type: "button", onclick: () => this.events.onSelect(awaits) },
              `${data.pc[awaits]!.toString(16)} ${data.text[awaits]!.replace(/\(.*$/, "")}`,
            ),
          ),
        );
    }
    if (known && line > 0) {
      const address = data.context >= 0 ? this.events.code(data.context, line) : null;
      const label = `line ${count(line)}`;
      parts.push(
        h(
          "div.ell",
          address === null ? h("span", label) : h("a", { href: address }, label),
          " ",
          h("span.mono.dim", data.source[at]),
        ),
      );
    } else if (known && data.context >= 0) {
      const address = this.events.code(data.context, 0);
      if (address !== null)
        parts.push(
          h("div", h("a", { href: address }, "Code of the kernel"), h("span.faint", " (its binary has no lines)")),
        );
    }
    fill(this.said, ...parts);
    this.said.hidden = parts.length === 0;
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
    this.column.textContent = `${heat === "hits" ? "Hits" : `${TITLES[heat]}, cycles`}${this.costly ? " ▾" : ""}`;
    this.column.title = this.costly ? "In the order of the program" : "The largest first";
    this.column.setAttribute("aria-pressed", String(this.costly));
    this.inOrder.setAttribute("aria-pressed", String(!this.costly));
    const chosen = this.rows[this.list?.selected ?? -1] ?? -1;
    this.sort();
    this.list?.refresh();
    if (chosen >= 0) this.list?.select(this.rows.indexOf(chosen), false);
  }

  private value(index: number): number {
    const { data, heat } = this;
    if (!data) return 0;
    return heat === "hits" ? data.hits[index]! : data[heat].total[index]!;
  }

  private row(place: number): HTMLElement {
    const data = this.data!;
    const index = this.rows[place]!;
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
      h("span.ell.name", instructionText(data, index)),
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
      h("div.mono", instructionText(data, index)),
      data.words[index] !== "" && h("div", data.words[index]),
      data.line[index]! > 0 && h("div.dim.mono", `line ${data.line[index]} ${data.source[index]}`),
      h(
        "div.dim",
        `pc 0x${data.pc[index]!.toString(16)}${this.mapped ? ` · ${counted(data.hits[index]!, "hit")}` : ""}`,
      ),
      ...(["latency", "stall", "idle"] as const).map((name) => h("div.dim", figure(name))),
      data.registers[index]!.length > 0 && h("div.faint", data.registers[index]!.join(" ")),
    );
  }
}
