/** The left pane of the code: kernels, then other contexts that left code behind, with the lines of each. */
import { plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import { fits, nothingFits, parseQuery } from "../../data/grammar.ts";
import { serials } from "../../data/serials.ts";
import type { ContextsWire } from "../../wire/capture.ts";
import type { CodeWire } from "../../wire/code.ts";
import { kernelName } from "../common/both_ends.ts";
import { filterBox, type FilterBox } from "../common/filter_box.ts";
import { tip } from "../common/tooltip.ts";
import { VirtualList } from "../common/virtual_list.ts";

const SORTS = ["time", "lines", "name", "order"] as const;
/** What the list is sorted by: `order` is that of compilation. */
export type Sort = (typeof SORTS)[number];

interface Kernel {
  context: number;
  name: string;
  lines: number;
  /** ns of its runs on devices, 0 for none. */
  total: number;
  runs: number;
  failed: boolean;
  /** "#2" for the second kernel of a name. */
  serial: string;
}

export class KernelList {
  private readonly list: VirtualList;
  private readonly box: FilterBox;
  private readonly none = h("div.none", { hidden: true });
  private readonly kernels: Kernel[];
  private rows: Kernel[];
  private readonly head = h("div.bar.chips.code-sorts");
  private readonly timed: boolean;
  private sort: Sort = "order";
  private chosen = -1;
  private filtered = "";

  constructor(
    host: HTMLElement,
    contexts: ContextsWire,
    code: CodeWire,
    private readonly onChoose: (context: number) => void,
    private readonly onSort: (sort: Sort) => void,
    onFilter: (text: string) => void,
  ) {
    const at = new Map(contexts.id.map((id, index) => [id, index]));
    const serial = serials(contexts.name);
    this.kernels = code.context
      .map((context, index) => ({
        context,
        name: contexts.name[at.get(context) ?? -1] ?? `context ${context}`,
        lines: code.lines[index]!,
        total: Math.max(0, code.total[index]!),
        runs: Math.max(0, code.runs[index]!),
        failed: code.error[index] === 1,
        serial: serial[at.get(context) ?? -1] ?? "",
      }))
      .sort((a, b) => a.context - b.context);
    this.timed = this.kernels.some((kernel) => kernel.runs > 0);
    this.rows = this.kernels;
    this.box = filterBox("Filter kernels", onFilter, () => this.list.focus());
    host.append(this.box.element, this.head, this.none);
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
    return (this.rows.find((kernel) => kernel.lines > 0) ?? this.kernels[0])?.context ?? -1;
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
  filter(text: string, wanted: string | undefined): void {
    const sort = SORTS.find((one) => one === wanted) ?? (this.timed ? "time" : "order");
    if (text === this.filtered && sort === this.sort && this.head.childElementCount > 0) return;
    this.filtered = text;
    this.sort = sort;
    this.drawHead();
    if (this.box.input.value !== text) this.box.input.value = text;
    const query = parseQuery(text);
    this.rows = this.kernels.filter((kernel) => fits(query, plain(kernel.name), { kind: "kernel" }));
    // equal ones stay in the order in which they were compiled
    if (sort === "time") this.rows.sort((a, b) => b.total - a.total);
    else if (sort === "lines") this.rows.sort((a, b) => b.lines - a.lines);
    else if (sort === "name") this.rows.sort((a, b) => (plain(a.name) < plain(b.name) ? -1 : 1));
    this.none.hidden = this.rows.length > 0;
    this.none.textContent = this.rows.length > 0 ? "" : nothingFits(query, text, "kernel", ["kind"]);
    this.list.setCount(this.rows.length);
    this.list.select(this.rows.findIndex((kernel) => kernel.context === this.chosen));
  }

  private drawHead(): void {
    const button = (sort: Sort, title: string, label: string): HTMLElement =>
      h(
        `button${this.sort === sort ? ".on" : ""}`,
        { type: "button", "aria-pressed": String(this.sort === sort), title: label, onclick: () => this.onSort(sort) },
        title,
      );
    fill(
      this.head,
      button("name", "Kernel", "Sort by name"),
      button("order", "order", "As they were compiled"),
      h("span.grow"),
      this.timed && button("time", "time", "Sort by the time that their runs took, most first"),
      button("lines", "lines", "Sort by lines of source, most first"),
    );
  }

  private render(kernel: Kernel): HTMLElement {
    return tip(
      h(
        "div.row",
        kernelName(kernel.name),
        kernel.serial !== "" && h("span.faint", kernel.serial),
        kernel.failed && h("span.bad", "!"),
        this.timed && h("span.n.time", { "data-ns": kernel.total }, kernel.runs > 0 ? duration(kernel.total) : ""),
        h("span.n.lines", kernel.lines > 0 ? count(kernel.lines) : ""),
      ),
      () =>
        plain(kernel.name) +
        kernel.serial +
        (kernel.runs > 0 ? `\n${duration(kernel.total)} in ${counted(kernel.runs, "run")}` : "") +
        (kernel.failed ? "\nits compilation failed" : ""),
    );
  }
}
