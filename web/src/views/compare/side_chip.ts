/** The two sides everywhere: A is hollow and dashed, B filled and solid. */
import { h } from "../../base/dom.ts";

export function sideChip(side: "a" | "b"): HTMLElement {
  return h(side === "a" ? "span.side" : "span.side.b", side.toUpperCase());
}
