/** A list or tree of any length that holds only the rows on the screen. One tab stop; arrows move the selection. */
import { h } from "../../base/dom.ts";

export interface ListOptions {
  rowHeight: number;
  role: "listbox" | "tree";
  label: string;
  /** The row's element; role, id, place and selection are added by the list. */
  render: (index: number) => HTMLElement;
  /** The user chose a row with pointer or key. */
  onSelect: (index: number, how: "pointer" | "key") => void;
  /** Enter on the selected row. */
  onEnter?: (index: number) => void;
  /** A key that the list does not use itself; true when it was used. */
  onKey?: (event: KeyboardEvent, index: number) => boolean;
}

const OVERSCAN = 6;
let serial = 0;

export class VirtualList {
  readonly element: HTMLElement;
  private readonly space = h("div.vspace", { role: "presentation" });
  private readonly prefix = `list${++serial}`;
  private rows = new Map<number, HTMLElement>();
  private length = 0;
  private chosen = -1;
  private readonly watcher: ResizeObserver;

  constructor(
    host: HTMLElement,
    private readonly options: ListOptions,
  ) {
    this.element = h("div.vlist", { role: options.role, "aria-label": options.label, tabindex: 0 }, this.space);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.element.addEventListener("pointerdown", (event) => this.onPointer(event));
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.element);
    host.append(this.element);
  }

  get count(): number {
    return this.length;
  }

  get selected(): number {
    return this.chosen;
  }

  /** How many rows there are now; every row on the screen is made anew. */
  setCount(count: number): void {
    this.length = count;
    this.space.style.height = `${count * this.options.rowHeight}px`;
    if (this.chosen >= count) this.chosen = -1;
    this.refresh();
  }

  /** Makes the rows on the screen anew. */
  refresh(): void {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.draw();
  }

  /** Selects without telling anyone; -1 for none. */
  select(index: number, reveal = true): void {
    if (index !== this.chosen) {
      this.mark(this.chosen, false);
      this.chosen = index;
      this.mark(index, true);
    }
    if (reveal && index >= 0) this.reveal(index);
    const shown = this.rows.has(index);
    if (shown) this.element.setAttribute("aria-activedescendant", this.idOf(index));
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** Scrolls as little as needed to show a row. */
  reveal(index: number): void {
    const { rowHeight } = this.options;
    const top = index * rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + rowHeight - clientHeight;
    this.draw();
  }

  /** Brings a row to the middle when it is out of sight. */
  centre(index: number): void {
    const { rowHeight } = this.options;
    const top = index * rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top >= scrollTop && top + rowHeight <= scrollTop + clientHeight) return;
    this.element.scrollTop = Math.max(0, top - clientHeight / 2 + rowHeight / 2);
    this.draw();
  }

  focus(): void {
    this.element.focus({ preventScroll: true });
  }

  /** The position of a row in the window, for what must not move when rows above it come or go. */
  offset(index: number): number {
    return index * this.options.rowHeight - this.element.scrollTop;
  }

  setOffset(index: number, offset: number): void {
    this.element.scrollTop = index * this.options.rowHeight - offset;
    this.draw();
  }

  dispose(): void {
    this.watcher.disconnect();
    this.element.remove();
  }

  private draw(): void {
    const { rowHeight, render, role } = this.options;
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - OVERSCAN);
    const past = Math.min(this.length, Math.ceil((scrollTop + clientHeight) / rowHeight) + OVERSCAN);
    for (const [index, row] of this.rows) {
      if (index >= first && index < past) continue;
      row.remove();
      this.rows.delete(index);
    }
    for (let index = first; index < past; index++) {
      if (this.rows.has(index)) continue;
      const row = render(index);
      row.id = this.idOf(index);
      row.classList.add("vrow");
      row.dataset["index"] = String(index);
      row.style.top = `${index * rowHeight}px`;
      row.setAttribute("role", role === "tree" ? "treeitem" : "option");
      row.setAttribute("aria-selected", String(index === this.chosen));
      row.setAttribute("aria-posinset", String(index + 1));
      row.setAttribute("aria-setsize", String(this.length));
      this.rows.set(index, row);
      this.space.append(row);
    }
    if (this.chosen >= 0 && this.rows.has(this.chosen)) {
      this.element.setAttribute("aria-activedescendant", this.idOf(this.chosen));
    }
  }

  private mark(index: number, on: boolean): void {
    this.rows.get(index)?.setAttribute("aria-selected", String(on));
  }

  private idOf(index: number): string {
    return `${this.prefix}-${index}`;
  }

  private choose(index: number, how: "pointer" | "key"): void {
    if (index < 0 || index >= this.length) return;
    this.select(index, how === "key");
    this.options.onSelect(index, how);
  }

  private onPointer(event: PointerEvent): void {
    if (event.button !== 0) return;
    const target = event.target as Element;
    if (target.closest("a")) return;
    const row = target.closest<HTMLElement>(".vrow");
    if (row?.dataset["index"] === undefined) return;
    const index = Number(row.dataset["index"]);
    if (target.closest(".tw") && this.options.onEnter) {
      event.preventDefault();
      this.focus();
      this.options.onEnter(index);
      return;
    }
    this.choose(index, "pointer");
  }

  private onKey(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.options.rowHeight) - 1);
    const moves: Record<string, number> = {
      ArrowDown: this.chosen + 1,
      ArrowUp: this.chosen < 0 ? this.length - 1 : this.chosen - 1,
      Home: 0,
      End: this.length - 1,
      PageDown: Math.min(this.length - 1, this.chosen + page),
      PageUp: Math.max(0, this.chosen - page),
    };
    const to = moves[event.key];
    if (to !== undefined) {
      this.choose(to, "key");
    } else if (event.key === "Enter" && this.chosen >= 0 && this.options.onEnter) {
      this.options.onEnter(this.chosen);
    } else if (!this.options.onKey?.(event, this.chosen)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
