/** A slim bar that is there while the graph is not shown as usual: a difference, a part of it, other colours. */
import { fill, h } from "../../base/dom.ts";
import { clip, count } from "../../base/format.ts";
import { COLOURINGS, type Colouring, type LegendEntry } from "../../layout/graph/tints.ts";
import type { Near } from "../../layout/graph/near.ts";
import type { MenuItem } from "../shell/menu.ts";

export const COLOURED_BY: Record<Colouring, string> = {
  family: "family",
  dtype: "data type",
  rule: "rule that made it",
  birth: "pass that made it",
  time: "time of the match that made it",
};

/** What the keys and the menu do to how a graph is shown. */
export interface ModeActions {
  /** The graph on the screen becomes the first of a difference; again, there is none. */
  hold(): void;
  swap(): void;
  /** What the pass changed as a whole. */
  whole(): void;
  nearSelection(): void;
  nearChange(): void;
  grow(up: number, down: number): void;
  colour(by: Colouring): void;
  hideIdle(): void;
}

export interface Modes {
  /** The first graph of a difference, in words; null without one. */
  since: string | null;
  near: Near | null;
  colour: Colouring;
  legend: readonly LegendEntry[];
}

export class ModeBar {
  readonly element = h("div.bar.modes", { hidden: true, role: "group", "aria-label": "How the graph is shown" });

  constructor(private readonly act: ModeActions) {}

  draw({ since, near, colour, legend }: Modes): void {
    const parts = [since !== null && this.since(since), near !== null && this.near(near)];
    if (colour !== "family") parts.push(...this.legend(colour, legend));
    this.element.hidden = parts.every((part) => part === false);
    fill(this.element, ...parts);
  }

  private since(since: string): HTMLElement {
    return h(
      "span.mode.since",
      h("span.dim", "Since "),
      h("b.name.ell", clip(since, 80)),
      button("⇄", "Swap the two graphs (⇧A)", () => this.act.swap()),
      button("✕", "No difference (A)", () => this.act.hold()),
    );
  }

  private near({ of, up, down }: Near): HTMLElement {
    const off = (): void => (of === "change" ? this.act.nearChange() : this.act.nearSelection());
    const edges = (way: string, number: number, by: (step: 1 | -1) => void): HTMLElement =>
      h(
        "span.edges",
        button("−", `Fewer edges ${way}`, () => by(-1)),
        h("span.num", `${count(number)} ${way}`),
        button("+", `More edges ${way}`, () => by(1)),
      );
    return h(
      "span.mode.part",
      h("span.dim", of === "change" ? "Only the change, and " : "Only near the selection: "),
      edges("up", up, (step) => this.act.grow(step, 0)),
      edges("down", down, (step) => this.act.grow(0, step)),
      button("✕", `All of the graph (${of === "change" ? "⇧Z" : "V"})`, off),
    );
  }

  private legend(colour: Colouring, legend: readonly LegendEntry[]): HTMLElement[] {
    const entries = legend.map(({ colour: number, label, count: boxes }) => {
      const square = h("i");
      square.style.background = number < 13 ? `var(--cat-${number})` : `var(--heat-${number - 13})`;
      return h("span.entry", square, h("span.name", clip(label, 40)), " ", h("span.faint.num", count(boxes)));
    });
    return [
      h(
        "span.mode.tint",
        h("span.dim", `By ${COLOURED_BY[colour]} `),
        button("✕", "By family (L)", () => this.act.colour("family")),
      ),
      h("span.entries", { "aria-label": "Colours" }, ...entries),
    ];
  }
}

/** What the menu "Show" offers. */
export function modeItems(act: ModeActions, modes: Modes, idleHidden: boolean): MenuItem[] {
  const check = (label: string, note: string, checked: boolean, run: () => void): MenuItem => ({
    label,
    note,
    checked,
    role: "menuitemcheckbox",
    act: run,
  });
  const { since, near, colour } = modes;
  return [
    check("Difference from this graph on", "A", since !== null, () => act.hold()),
    check("What the whole pass changed", "P", false, () => act.whole()),
    check("Only near the selection", "V", near?.of === "selection", () => act.nearSelection()),
    check("Only the change", "⇧Z", near?.of === "change", () => act.nearChange()),
    check("No passes that changed nothing", "H", idleHidden, () => act.hideIdle()),
    ...COLOURINGS.map((by): MenuItem => ({
      label: `Coloured by ${COLOURED_BY[by]}`,
      ...(by === "family" ? { note: "L" } : {}),
      checked: colour === by,
      role: "menuitemradio",
      act: () => act.colour(by),
    })),
  ];
}

function button(text: string, title: string, onclick: () => void): HTMLElement {
  return h("button.btn.tiny", { type: "button", title, "aria-label": title, onclick }, text);
}
