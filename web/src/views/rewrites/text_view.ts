/** The graph as a listing that can be selected, copied and searched with the browser's own means. */
import { h } from "../../base/dom.ts";
import { codeNodes } from "../../base/highlight.ts";
import { listing, removedLines } from "../../data/listing.ts";
import type { GraphWire } from "../../wire/graph.ts";

/** Lines per block; blocks off the screen are not laid out. */
const BLOCK = 400;
const LINE = 18;
/** Above this many lines they stay plain: colours are not worth the wait. */
const COLOURED = 6000;

export function textView(graph: GraphWire, selected: number | null, onSelect: (identity: number) => void): HTMLElement {
  const marks = new Map<number, string>();
  for (const at of graph.added) marks.set(at, "a");
  for (const at of graph.changed) marks.set(at, "c");
  const lines = listing(graph);
  const host = h("div.listing", { tabindex: 0, role: "region", "aria-label": "Graph as text" });
  for (let first = 0; first < lines.length; first += BLOCK) {
    const block = lines.slice(first, first + BLOCK);
    const pre = h("pre");
    pre.style.containIntrinsicHeight = `auto ${block.length * LINE}px`;
    for (const line of block) {
      const mark = line.again ? "ref" : (marks.get(line.node) ?? "");
      const chosen = graph.identity[line.node] === selected;
      const span = h(
        `span.t${mark === "" ? "" : `.${mark}`}${chosen ? ".sel" : ""}`,
        ...(mark === "" && lines.length <= COLOURED ? codeNodes(line.text, "ops") : [line.text]),
        "\n",
      );
      span.dataset["node"] = String(line.node);
      pre.append(span);
    }
    host.append(pre);
  }
  for (const line of removedLines(graph)) host.append(h("pre", h("span.t.d", line)));
  host.addEventListener("click", (event) => {
    const row = (event.target as Element).closest<HTMLElement>(".t[data-node]");
    if (!row || window.getSelection()?.isCollapsed === false) return;
    onSelect(graph.identity[Number(row.dataset["node"])]!);
  });
  return host;
}

/** Marks the lines that hold a text and goes to one of them; how many there are. */
export function findInText(host: HTMLElement, text: string, at: number): number {
  const needle = text.toLowerCase();
  const hits: HTMLElement[] = [];
  for (const line of host.querySelectorAll<HTMLElement>(".t")) {
    const hit = needle !== "" && line.textContent.toLowerCase().includes(needle);
    line.classList.toggle("hit", hit);
    if (hit) hits.push(line);
  }
  hits[at % Math.max(1, hits.length)]?.scrollIntoView({ block: "center" });
  return hits.length;
}
