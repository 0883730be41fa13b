/** The rows of the tree: total, self, calls, function and place. */
import { nameNodes } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { count, duration } from "../../base/format.ts";
import type { CallModel, Palette } from "../../data/calls.ts";
import { tip } from "../common/tooltip.ts";
import { fileAndLine } from "./call_side.ts";

const TREE = ["Total ↓", "%", "", "Self", "%", "Calls", "Function", "Place"];
const INVERTED = ["Self ↓", "%", "", "", "", "Calls", "Function, then its callers", "Place"];
const CELLS = [".num", ".num", ".cm", ".num.cs", ".num.cs", ".num.cc", "", ".cp"];
const DEEPEST = 40;

/** The titles of the columns; those that nothing stands in are left out. */
export function drawCallHead(head: HTMLElement, list: HTMLElement, model: CallModel): void {
  const titles = model.inverted ? INVERTED : TREE;
  const placed = model.wire.functions.place.some((place) => place !== "");
  for (const part of [head, list]) {
    part.classList.toggle("inverted", model.inverted);
    part.classList.toggle("placeless", !placed);
  }
  fill(head, ...titles.map((title, at) => h(`div${CELLS[at]!}`, title)));
}

export function callRow(
  model: CallModel,
  palette: Palette,
  node: number,
  open: boolean,
  toggle: () => void,
): HTMLElement {
  const { wire } = model;
  const [whole, weight] = [Math.max(1, model.weight(0)), model.weight(node)];
  const share = (time: number): string => ((100 * time) / whole).toFixed(1);
  const colour = palette.colour[wire.function[node]!] ?? 0;
  const paint = colour === 0 ? "var(--fg-3)" : `var(--cat-${colour})`;
  const bar = h("i");
  const widest = model.inverted ? Math.max(1, model.weight(wire.function[0]! < 0 ? 1 : 0)) : whole;
  bar.style.width = `${Math.min(100, (100 * weight) / widest)}%`;
  bar.style.background = paint;
  const dot = h("span.dot");
  dot.style.background = paint;
  const parent = model.hasChildren(node);
  const twisty = h("span.tw", parent ? (open ? "▾" : "▸") : "");
  if (parent)
    twisty.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      toggle();
    });
  const level = wire.depth[node]! - (wire.function[0]! < 0 ? 1 : 0);
  const label = tip(h("span.mono.ell.name", ...nameNodes(model.label(node))), () => model.name(node));
  const name = h("div.cname", twisty, dot, label);
  name.style.paddingLeft = `${Math.min(level, DEEPEST) * 14}px`;
  const [file, line] = fileAndLine(model.place(node));
  const place = file.split(/[\\/]/).slice(-2).join("/") + (line >= 0 ? `:${line}` : "");
  return h(
    "div.crow",
    {
      "data-node": node,
      "data-name": model.name(node),
      "data-total": wire.total[node]!,
      "data-self": wire.self[node]!,
      "aria-level": level + 1,
      "aria-expanded": parent ? String(open) : null,
    },
    h("div.num", duration(weight)),
    h("div.num.dim", share(weight)),
    h("div.cm", h("span.meter", bar)),
    h("div.num.cs", duration(wire.self[node]!)),
    h("div.num.dim.cs", share(wire.self[node]!)),
    h("div.num.dim.cc", count(wire.count[node]!)),
    name,
    tip(h("div.mono.faint.ell.cp", place), () => model.place(node)),
  );
}
