/** The captures that one can be compared with. */
import { h } from "../../base/dom.ts";
import type { CaptureRow } from "../../wire/capture.ts";
import { emptyState } from "../common/states.ts";
import type { Page } from "../registry.ts";

export function otherCaptures({ info, nav }: Page, captures: readonly CaptureRow[]): HTMLElement {
  const others = captures.filter((row) => row.id !== info.id);
  if (others.length === 0) {
    const none = emptyState("One capture: nothing to compare", "Serve two, or record another.", ["peephole serve A B"]);
    return h("div.layer", none);
  }
  const link = (row: CaptureRow): HTMLElement =>
    h("a.row", { href: nav.address("compare", { a: info.id, b: row.id }) }, row.name);
  return h("div.scroll.cmp-choose", ...others.map(link));
}
