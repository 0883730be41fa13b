/** The graphs of both sides where they part; what both have is at the same place in either drawing. */
import { h } from "../../base/dom.ts";
import { counted } from "../../base/format.ts";
import { BOX_H, BOX_W, placeBoth, type BothPlaces } from "../../layout/both_graphs.ts";
import type { BothGraphsWire, BothNodeWire } from "../../wire/compare.ts";
import { sideChip } from "./side_chip.ts";

const SVG = "http://www.w3.org/2000/svg";
type Side = "a" | "b";

function s(tag: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** Both drawings, each under what its side did; they scroll together. */
export function graphPair(graphs: BothGraphsWire, notes: { a: string; b: string }, widest: number): HTMLElement {
  const places = placeBoth(graphs.nodes);
  const halves = (["a", "b"] as const).map((side) => {
    const shown = graphs.nodes.some((node) => node.side === "both" || node.side === side);
    return h(
      "div",
      h("div.row.half-head", sideChip(side), h("span.dim.ell", notes[side])),
      h(
        "div.graph-half",
        shown ? drawing(graphs.nodes, places, side, widest) : h("p.none", "Nothing here on this side."),
      ),
    );
  });
  const [first, second] = halves.map((half) => half.querySelector<HTMLElement>(".graph-half")!);
  for (const [from, to] of [
    [first!, second!],
    [second!, first!],
  ] as const)
    from.addEventListener("scroll", () => {
      if (to.scrollLeft !== from.scrollLeft) to.scrollLeft = from.scrollLeft;
      if (to.scrollTop !== from.scrollTop) to.scrollTop = from.scrollTop;
    });
  requestAnimationFrame(() => {
    // what differs first, else the middle
    const found = first!.querySelector(".box.only-a") ?? second!.querySelector(".box.only-b");
    const half = found?.closest<HTMLElement>(".graph-half") ?? first!;
    const box = found?.getBoundingClientRect();
    const frame = half.getBoundingClientRect();
    half.scrollLeft += box
      ? box.left + box.width / 2 - frame.left - frame.width / 2
      : (half.scrollWidth - frame.width) / 2;
    if (box) half.scrollTop += box.top - frame.top - frame.height / 3;
  });
  const hidden = graphs.hidden_a + graphs.hidden_b;
  return h(
    "div",
    h("div.cmp-pair", ...halves),
    hidden > 0 && h("p.faint.small", `${counted(hidden, "node")} of both graphs that surround this are not drawn.`),
  );
}

/** Wide graphs are drawn smaller, as far as they can still be read. */
function scaleOf(places: BothPlaces, widest: number): number {
  return Math.max(0.62, Math.min(1, widest / places.width));
}

function drawing(nodes: readonly BothNodeWire[], places: BothPlaces, side: Side, widest: number): SVGElement {
  const own = nodes.filter((node) => node.side === "both" || node.side === side);
  const here = new Set(own.map((node) => node.key));
  const lines: SVGElement[] = [];
  const boxes: SVGElement[] = [];
  for (const node of own) {
    const to = places.placed.get(node.key)!;
    node.src.forEach((key, at) => {
      const from = here.has(key) ? places.placed.get(key) : undefined;
      if (!from) return;
      const x0 = from.x + BOX_W / 2;
      const y0 = from.y + BOX_H;
      const x1 = to.x + (BOX_W * (at + 1)) / (node.src.length + 1);
      const bend = Math.max(8, (to.y - y0) / 2);
      const kind = node.side === side || from.node.side === side ? ` only-${side}` : "";
      const d = `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${to.y - bend} ${x1} ${to.y}`;
      lines.push(s("path", { d, class: `edge${kind}`, fill: "none" }));
    });
    boxes.push(box(node, to.x, to.y, side));
  }
  return s(
    "svg",
    {
      class: "g",
      viewBox: `0 0 ${places.width} ${places.height}`,
      width: Math.round(places.width * scaleOf(places, widest)),
      height: Math.round(places.height * scaleOf(places, widest)),
      role: "img",
      "aria-label": `Graph of ${side.toUpperCase()}`,
    },
    ...lines,
    ...boxes,
  );
}

function box(node: BothNodeWire, x: number, y: number, side: Side): SVGElement {
  const only = node.side === side;
  const text = (at: number, size: number, style: string, content: string): SVGElement =>
    s("text", { x: 10, y: at, "font-size": size, class: style }, content);
  const fit = (content: string, letters: number): string =>
    content.length > letters ? `${content.slice(0, letters - 1)}…` : content;
  const op = fit(node.op, 18);
  const arg = fit(node.arg, Math.max(0, 17 - op.length));
  const group = s(
    "g",
    { transform: `translate(${x} ${y})`, class: only ? `box only-${side}` : "box" },
    s("title", {}, [node.op, node.type, node.arg].filter(Boolean).join("  ")),
    s("rect", { width: BOX_W, height: BOX_H, rx: 4 }),
    text(13.5, 11, "op", op),
    text(26, 10, "sub", fit(node.type, 20)),
  );
  if (arg.length > 2 || (arg !== "" && arg === node.arg)) {
    const extra = s("tspan", { class: "arg", dx: 5 }, arg);
    group.querySelector("text.op")!.append(extra);
  }
  if (only) {
    group.append(
      s("circle", { cx: BOX_W - 2, cy: 1, r: 7, class: "badge" }),
      s("path", {
        d: `M${BOX_W - 5.5} 1h7${side === "b" ? `M${BOX_W - 2} -2.5v7` : ""}`,
        class: "badge-sign",
      }),
    );
  }
  return group;
}
