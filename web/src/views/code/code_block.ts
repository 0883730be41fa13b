/**
 * Code with line numbers and what stands beside the lines: selectable, searchable, any length. Blocks off the screen
 * are not laid out.
 */
import { fill, h } from "../../base/dom.ts";
import { codeNodes, type Language } from "../../base/highlight.ts";
import type { LineMark } from "../../data/line_origin.ts";
import { share, tokens } from "../../data/registers.ts";
import { tip } from "../common/tooltip.ts";

const BLOCK = 200;
const LINE = 19;
const MOST_LINES = 60_000;
const MOST_MARKS = 5000;

export class CodeBlock {
  readonly element: HTMLElement;
  private readonly lines: HTMLElement[] = [];
  private readonly texts: string[];
  private found: number[] = [];
  private foundAt = -1;
  private selected = -1;
  private alike: readonly number[] = [];
  /** The register that is lit, as it stands in the line where it was chosen. */
  private lit = "";
  /** The registers of machine code, as they stand in its lines. */
  private readonly registers: HTMLElement[] = [];

  /** `marked` keeps room for op, pass and rule beside each line, which decorate() fills later. */
  constructor(
    readonly text: string,
    language: Language,
    readonly marked: boolean,
    onLine: (line: number) => void,
    private readonly onRegister: (register: string) => void = () => undefined,
  ) {
    this.element = h(`div.code${marked ? ".marked" : ""}`, { tabindex: 0, role: "region", "aria-label": "Code" });
    this.texts = text.replace(/\n$/, "").split("\n");
    const shown = this.texts.slice(0, MOST_LINES);
    for (let first = 0; first < shown.length; first += BLOCK) {
      const part = shown.slice(first, first + BLOCK);
      const block = h("div.block");
      block.style.containIntrinsicHeight = `auto ${part.length * LINE}px`;
      for (const [index, line] of part.entries()) {
        const row = h(
          "div.ln",
          h("span.no0", { "data-n": first + index + 1, "aria-hidden": "true" }),
          h("span.tx", ...(language === "asm" ? this.machineNodes(line) : codeNodes(line, language)), "\n"),
          marked && h("span.pv"),
        );
        this.lines.push(row);
        block.append(row);
      }
      this.element.append(block);
    }
    if (this.texts.length > MOST_LINES)
      this.element.append(h("p.none", `${this.texts.length - MOST_LINES} more lines; Copy takes them all.`));
    this.element.addEventListener("click", (event) => {
      if (window.getSelection()?.isCollapsed === false) return;
      const target = event.target as HTMLElement;
      const register = target.closest<HTMLElement>(".reg")?.textContent;
      if (register !== undefined && register !== null) this.light(register === this.lit ? "" : register);
      const row = target.closest(".ln");
      if (row) onLine(this.lines.indexOf(row as HTMLElement) + 1);
    });
  }

  get length(): number {
    return this.texts.length;
  }

  /** The text of a line, from 1. */
  line(number: number): string {
    return this.texts[number - 1] ?? "";
  }

  /** Lights a register wherever it or a part of it is named; none for an empty text. */
  light(register: string): void {
    this.lit = register;
    const keys = keysOf(register);
    for (const part of this.registers) part.classList.toggle("lit", share(keysOf(part.textContent), keys));
    this.onRegister(register);
  }

  /** Lights the next register of a line, for whoever has no pointer; none after the last. Whether it has any. */
  lightNext(line: number): boolean {
    const own = [...(this.lines[line - 1]?.querySelectorAll(".reg") ?? [])].map((part) => part.textContent);
    const found = [...new Set(own)];
    if (found.length > 0) this.light(found[found.indexOf(this.lit) + 1] ?? "");
    return found.length > 0;
  }

  /** A line of machine code, each register an element of its own. */
  private machineNodes(line: string): Node[] {
    return codeNodes(line, "asm").flatMap((node) => {
      const comment = node instanceof Element && (node.classList.contains("c") || node.classList.contains("s"));
      const parts = comment ? [] : tokens(node.textContent ?? "");
      if (parts.every(({ keys }) => keys.length === 0)) return [node];
      return parts.map(({ text, keys }) => {
        if (keys.length === 0) return document.createTextNode(text);
        const part = h("span.ty.reg", text);
        this.registers.push(part);
        return part;
      });
    });
  }

  /** Gives the room beside the lines back to them: nothing is known about any. */
  bare(): void {
    this.element.classList.remove("marked");
    for (const beside of this.element.querySelectorAll(".pv")) beside.remove();
  }

  /** Writes op, pass and rule beside the lines. */
  decorate(marks: readonly LineMark[]): void {
    for (const [index, mark] of marks.entries()) {
      const row = this.lines[index];
      if (!row || !this.marked) continue;
      if (mark.colour > 0) row.style.setProperty("--pass", `var(--cat-${mark.colour})`);
      const made = mark.rule === "" ? mark.pass : `${mark.pass} · ${mark.rule}`;
      const beside = row.lastElementChild as HTMLElement;
      fill(beside, h("span", mark.op), h("span.ell.name", made));
      if (mark.full !== "") tip(beside, () => mark.full);
    }
  }

  /** Marks a line, from 1 (0 for none), and tints others that belong to it. */
  select(line: number, alike: readonly number[], reveal: "centre" | "near" | false): void {
    this.lines[this.selected - 1]?.removeAttribute("aria-current");
    for (const other of this.alike) this.lines[other - 1]?.classList.remove("same");
    this.selected = line;
    this.alike = alike;
    for (const other of alike) this.lines[other - 1]?.classList.add("same");
    const row = this.lines[line - 1];
    row?.setAttribute("aria-current", "true");
    if (reveal) row?.scrollIntoView({ block: reveal === "centre" ? "center" : "nearest", inline: "nearest" });
  }

  /** Marks every place that holds the text; how many lines there are. */
  find(text: string): number {
    const needle = text.toLowerCase();
    this.found = [];
    this.foundAt = -1;
    const marks: Range[] = [];
    if (needle !== "") {
      for (const [index, line] of this.texts.entries()) {
        let at = line.toLowerCase().indexOf(needle);
        if (at < 0) continue;
        this.found.push(index + 1);
        const row = this.lines[index]?.querySelector(".tx");
        for (
          ;
          row && at >= 0 && marks.length < MOST_MARKS;
          at = line.toLowerCase().indexOf(needle, at + needle.length)
        ) {
          marks.push(rangeOf(row, at, at + needle.length));
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...marks));
    return this.found.length;
  }

  /** Goes to the next line that was found; its number and place among them. */
  next(by: 1 | -1): [number, number] | null {
    if (this.found.length === 0) return null;
    this.foundAt = (this.foundAt + by + this.found.length) % this.found.length;
    const line = this.found[this.foundAt]!;
    this.lines[line - 1]?.scrollIntoView({ block: "center" });
    return [line, this.foundAt + 1];
  }

  dispose(): void {
    CSS.highlights.delete("found");
  }
}

/** The single registers that a piece of text stands for. */
function keysOf(register: string | null): string[] {
  return tokens(register ?? "").flatMap(({ keys }) => keys);
}

/** The range of characters within an element whose text is split over several nodes. */
function rangeOf(element: Element, from: number, to: number): Range {
  const range = document.createRange();
  let at = 0;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const length = node.nodeValue!.length;
    if (from >= at && from < at + length) range.setStart(node, from - at);
    if (to > at && to <= at + length) {
      range.setEnd(node, to - at);
      break;
    }
    at += length;
  }
  return range;
}
