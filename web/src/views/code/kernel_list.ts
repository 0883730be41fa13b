/** The left pane of the code: kernels, then other contexts that left code behind, with the lines of each. */
import { plain } from "../../base/ansi.ts";
import { h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import { fits, nothingFits, parseQuery } from "../../data/grammar.ts";
import { serials } from "../../data/serials.ts";
import type { ContextsWire } from "../../wire/capture.ts";
import type { CodeWire } from "../../wire/code.ts";
import { kernelName } from "../common/both_ends.ts";
import { filterBox, type FilterBox } from "../common/filter_box.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";

interface Kernel {
  context: number;
  name: string;
  lines: number;
  failed: boolean;
  /** "n2" for the second kernel of a name. */
  serial: string;
}

export class KernelList {
  private readonly list: VirtualList;
  private readonly box: FilterBox;
  private readonly none = h("div.none", { hidden: true });
  private readonly kernels: Kernel[];
  private rows: Kernel[];
  private chosen = -1;
  private filtered = "";

  constructor(
    host: HTMLElement,
    contexts: ContextsWire,
    code: CodeWire,
    private readonly onChoose: (context: number) => void,
    onFilter: (text: string) => void,
  ) {
    const at = new Map(contexts.id.map((id, index) => [id, index]));
    const serial = serials(contexts.name);
    this.kernels = code.context
      .map((context, index) => ({
        context,
        name: contexts.name[at.get(context) ?? -1] ?? `context ${context}`,
        lines: code.lines[index]!,
        failed: code.error[index] === 1,
        serial: serial[at.get(context) ?? -1] ?? "",
      }))
      .sort((a, b) => a.context - b.context);
    this.rows = this.kernels;
    this.box = filterBox("Filter kernels", onFilter, () => this.list.focus());
    host.append(
      this.box.element,
      h("div.bar.chips", h("span.dim", "Kernel"), h("span.grow"), h("span.faint.small", "lines")),
      this.none,
    );
    this.list = new VirtualList(host, {
      rowHeight: 24,
      role: "listbox",
      label: "Kernels",
      render: (index) => this.render(this.rows[index]!),
      onSelect: (index) => this.onChoose(this.rows[index]!.context),
    });
    this.list.setCount(this.rows.length);
  }

  get first(): number {
    return (this.kernels.find((kernel) => kernel.lines > 0) ?? this.kernels[0])?.context ?? -1;
  }

  show(context: number): void {
    this.chosen = context;
    const index = this.rows.findIndex((kernel) => kernel.context === context);
    this.list.select(index, false);
    if (index >= 0) this.list.centre(index);
  }

  move(by: 1 | -1): void {
    const next = this.list.selected + by;
    if (next < 0 || next >= this.rows.length) return;
    this.list.select(next);
    this.onChoose(this.rows[next]!.context);
  }

  focusFilter(): void {
    this.box.input.focus();
    this.box.input.select();
  }

  /** Leaves the kernels that the filter fits. */
  filter(text: string): void {
    if (text === this.filtered) return;
    this.filtered = text;
    if (this.box.input.value !== text) this.box.input.value = text;
    const query = parseQuery(text);
    this.rows = this.kernels.filter((kernel) => fits(query, plain(kernel.name), { kind: "kernel" }));
    this.none.hidden = this.rows.length > 0;
    this.none.textContent = this.rows.length > 0 ? "" : nothingFits(query, text, "kernel", ["kind"]);
    this.list.setCount(this.rows.length);
    this.list.select(this.rows.findIndex((kernel) => kernel.context === this.chosen));
  }

  private render(kernel: Kernel): HTMLElement {
    return tip(
      h(
        "div.row",
        kernelName(kernel.name),
        kernel.serial !== "" && h("span.faint", kernel.serial),
        kernel.failed && h("span.bad", "!"),
        h("span.n", kernel.lines > 0 ? count(kernel.lines) : ""),
      ),
      () => plain(kernel.name) + (kernel.failed ? "\nits compilation failed" : ""),
    );
  }
}
