/** The field for a query: plain text with colours behind it, as many lines as it has, up to a third of the window. */
import { fill, h } from "../../base/dom.ts";
import { tokens } from "../../base/highlight.ts";

const LINE_PX = 19;
const MOST_LINES = 14;

export class SqlEditor {
  readonly element: HTMLElement;
  readonly area: HTMLTextAreaElement;
  private readonly behind = h("pre.sql-behind", { "aria-hidden": "true" });
  private readonly numbers = h("div.sql-numbers", { "aria-hidden": "true" });
  /** Tab leaves the field once Escape was pressed in it: nobody is caught who has only a keyboard. */
  private leaving = false;

  constructor(private readonly actions: { run: () => void; changed: () => void; stop: () => boolean }) {
    this.area = h("textarea.sql-area", {
      "aria-label": "SQL query",
      "aria-description": "Ctrl Enter runs it. Escape, then Tab, leaves the field.",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      wrap: "off",
    }) as HTMLTextAreaElement;
    this.element = h("div.sql-editor", this.numbers, h("div.sql-text", this.behind, this.area));
    this.area.addEventListener("input", () => {
      this.draw();
      actions.changed();
    });
    this.area.addEventListener("scroll", () => this.follow(), { passive: true });
    this.area.addEventListener("keydown", (event) => this.onKey(event));
    this.area.addEventListener("blur", () => (this.leaving = false));
    this.draw();
  }

  get text(): string {
    return this.area.value;
  }

  set text(text: string) {
    if (this.area.value === text) return;
    this.area.value = text;
    this.draw();
  }

  /** Puts a name where the cursor is. */
  insert(text: string): void {
    const { selectionStart: from, selectionEnd: to } = this.area;
    this.area.setRangeText(text, from, to, "end");
    this.area.focus();
    this.draw();
    this.actions.changed();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.actions.run();
    } else if (event.key === "Tab" && !event.shiftKey && !event.altKey && !event.ctrlKey && !this.leaving) {
      event.preventDefault();
      this.insert("  ");
    } else if (event.key === "Escape") {
      this.leaving = true;
      if (this.actions.stop()) event.stopPropagation();
    } else if (event.key !== "Tab" && event.key !== "Shift") this.leaving = false;
  }

  private draw(): void {
    const lines = this.area.value.split("\n");
    fill(
      this.behind,
      ...lines.flatMap((line) => [
        ...tokens(line, "sql").map(({ text, style }) => (style === "" ? text : h(`span.${style}`, text))),
        "\n",
      ]),
    );
    fill(this.numbers, ...lines.map((_, at) => h("div", String(at + 1))));
    this.element.style.height = `${Math.min(MOST_LINES, Math.max(3, lines.length)) * LINE_PX + 16}px`;
    this.follow();
  }

  private follow(): void {
    const { scrollLeft, scrollTop } = this.area;
    this.behind.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`;
    this.numbers.style.transform = `translateY(${-scrollTop}px)`;
  }
}
