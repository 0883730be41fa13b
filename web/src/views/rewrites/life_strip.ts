/** The strip below the graph: in which passes the selected nodes live, change and die. */
import { fill, h } from "../../base/dom.ts";
import { clip, count } from "../../base/format.ts";
import { fateOf, type Fate } from "../../data/lives.ts";
import type { LifeWire } from "../../wire/capture.ts";
import { tip } from "../common/tooltip.ts";

/** Rows that are shown; the selection may be larger. */
const MOST = 5;
const WORDS: Record<Fate, string> = {
  lives: "goes through unchanged",
  changes: "is changed",
  made: "is made",
  dies: "is removed",
  passing: "is made and removed again",
};
const SIGNS: Record<Fate, string> = { lives: "", changes: "~", made: "+", dies: "−", passing: "±" };

export interface StripPass {
  step: number;
  name: string;
}

export interface StripRow {
  label: string;
  life: LifeWire;
}

export class LifeStrip {
  readonly element = h("div.lives", { role: "group", "aria-label": "Where the selected nodes live", hidden: true });

  constructor(private readonly onGo: (step: number, life: LifeWire) => void) {
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** Shows a row for each node and a cell for each pass; `shown` is the pass on the screen. */
  draw(rows: readonly StripRow[], passes: readonly StripPass[], shown: number): void {
    this.element.hidden = rows.length === 0;
    this.element.style.setProperty("--passes", String(passes.length));
    const at = passes.findIndex(({ step }) => step === shown);
    fill(
      this.element,
      ...rows.slice(0, MOST).map((row) => this.row(row, passes, at)),
      rows.length > MOST && h("div.faint.small.more", `and ${count(rows.length - MOST)} more`),
    );
  }

  clear(): void {
    this.element.hidden = true;
    fill(this.element);
  }

  private row({ label, life }: StripRow, passes: readonly StripPass[], shown: number): HTMLElement {
    const place = new Map(life.step.map((step, index) => [step, index]));
    const fates = passes.map(({ step }) => (place.has(step) ? fateOf(life, place.get(step)!) : null));
    const known = fates.filter((fate) => fate !== null);
    const sum = `${count(known.length)} of ${count(passes.length)} passes`;
    return h(
      "div.life",
      h("span.mono.ell.name", { title: label }, clip(label, 60)),
      h(
        "div.cells",
        ...passes.map(({ step, name }, index) => {
          const fate = fates[index]!;
          const words = fate === null ? "is not there" : WORDS[fate];
          const cell = h(
            `button.cell${fate === null ? "" : `.${fate === "lives" ? "stays" : fate}`}${index === shown ? ".now" : ""}`,
            {
              type: "button",
              tabindex: index === Math.max(0, shown) ? 0 : -1,
              "aria-label": `${name}: ${words}`,
              "aria-current": index === shown && "step",
              "data-step": step,
              onclick: () => this.onGo(step, life),
            },
            fate === null ? "" : SIGNS[fate],
          );
          return tip(cell, () => `${name}\n${words}`);
        }),
      ),
      h("span.faint.small.num.wide", sum),
    );
  }

  /** Arrows go through the cells of a row, and from row to row. */
  private key(event: KeyboardEvent): void {
    const cell = (event.target as HTMLElement).closest<HTMLElement>(".cell");
    if (cell === null || event.shiftKey) return;
    const cells = [...cell.parentElement!.children] as HTMLElement[];
    const at = cells.indexOf(cell);
    const rows = [...this.element.querySelectorAll<HTMLElement>(".cells")];
    const row = rows.indexOf(cell.parentElement!);
    const to = {
      ArrowLeft: cells[at - 1],
      ArrowRight: cells[at + 1],
      ArrowUp: rows[row - 1]?.children[at] as HTMLElement | undefined,
      ArrowDown: rows[row + 1]?.children[at] as HTMLElement | undefined,
      Home: cells[0],
      End: cells.at(-1),
    }[event.key];
    if (event.key !== "Enter" && event.key !== " " && !event.key.startsWith("Arrow") && to === undefined) return;
    to?.focus();
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
    event.stopPropagation();
  }
}
