/** Pairs made by hand: which kernel of A is which of B, whatever their content says. They are in the address. */
import { fill, h } from "../../base/dom.ts";
import type { CompareWire } from "../../wire/compare.ts";
import { sideChip } from "./side_chip.ts";

export type HandPair = readonly [string, string];

/** Pairs out of the address: names may hold any letter, so each is written as in a URL. */
export function parsePairs(text: string | undefined): HandPair[] {
  return (text ?? "").split(",").flatMap((part) => {
    const [a, b] = part.split("=").map(decoded);
    return a && b ? [[a, b] as const] : [];
  });
}

export function formatPairs(pairs: readonly HandPair[]): string {
  return pairs.map((pair) => pair.map(encodeURIComponent).join("=")).join(",");
}

/** The same as parameters of a request. */
export function pairQuery(pairs: readonly HandPair[]): string {
  return pairs.map(([a, b]) => `pairA=${encodeURIComponent(a)}&pairB=${encodeURIComponent(b)}`).join("&");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** A row of the page in which two kernels are chosen and paired, and pairs taken apart again. */
export class HandPairs {
  readonly element = h("div.bar.cmp-hand", { hidden: true });
  private open = false;

  constructor(private readonly set: (pairs: readonly HandPair[]) => void) {}

  toggle(): void {
    this.open = !this.open;
    this.element.hidden = !this.open;
    if (this.open) this.element.querySelector<HTMLElement>("select")?.focus();
  }

  /** Shows the kernels of both sides, the chosen one first; what is paired already stays in sight. */
  show(found: CompareWire | null, pairs: readonly HandPair[], chosen: string): void {
    this.element.hidden = !this.open && pairs.length === 0;
    const row = found?.kernels.find((one) => one.name === chosen);
    const choice = (side: "a" | "b", label: string): HTMLSelectElement => {
      const names = (found?.kernels ?? []).map((one) => one[side]).filter((name) => name !== "");
      const options = [...new Set(names)].sort().map((name) => h("option", { value: name }, name));
      const select = h("select.mono", { "aria-label": label }, ...options) as HTMLSelectElement;
      if (row?.[side]) select.value = row[side];
      return select;
    };
    const [a, b] = [choice("a", "Kernel of A"), choice("b", "Kernel of B")];
    const made = pairs.map((pair) =>
      h(
        "span.chip",
        h("span.mono.ell", `${pair[0]} = ${pair[1]}`),
        h(
          "button",
          {
            type: "button",
            "aria-label": `Take ${pair[0]} and ${pair[1]} apart`,
            onclick: () => this.set(pairs.filter((other) => other !== pair)),
          },
          "×",
        ),
      ),
    );
    const pair = (): void => {
      const rest = pairs.filter(([x, y]) => x !== a.value && y !== b.value);
      if (a.value && b.value) this.set([...rest, [a.value, b.value]]);
    };
    fill(
      this.element,
      sideChip("a"),
      a,
      sideChip("b"),
      b,
      h("button.btn", { type: "button", onclick: pair }, "Pair"),
      ...made,
    );
  }
}
