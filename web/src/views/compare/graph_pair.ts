/** The graphs of both sides where they part; what both have is at the same place in either drawing. */
import { h } from "../../base/dom.ts";
import { counted } from "../../base/format.ts";
import { LETTER, placeBoth, type BothPlaces, type Placed } from "../../layout/both_graphs.ts";
import { BOX } from "../../layout/layered/drawing.ts";
import type { BothGraphsWire, BothNodeWire } from "../../wire/compare.ts";
import { sideChip } from "./side_chip.ts";

const SVG = "http://www.w3.org/2000/svg";
/** At this scale and above labels can be read. */
export const READABLE = 0.62;
export type Side = "a" | "b";
export const SIDES = ["a", "b"] as const;

export function svg(tag: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): Element {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

const isOn = (node: BothNodeWire, side: Side): boolean => node.side === "both" || node.side === side;

/** Whether a side has anything of the graphs. */
export const hasSide = (graphs: BothGraphsWire, side: Side): boolean => graphs.nodes.some((node) => isOn(node, side));

/** What a side did, above its drawing. */
export const halfHead = (side: Side, note: string): HTMLElement =>
  h("div.row.half-head", sideChip(side), h("span.dim.ell", note));

/** How much of both graphs is not drawn; null when all of it is. */
export function hiddenWords(graphs: BothGraphsWire): HTMLElement | null {
  const hidden = graphs.hidden_a + graphs.hidden_b;
  if (hidden === 0) return null;
  return h("p.faint.small", `${counted(hidden, "node")} of both graphs that surround this are not drawn.`);
}

/** Both drawings as wide as they have room, one above the other where they could not be read beside each other. */
export function graphPair(graphs: BothGraphsWire, notes: Record<Side, string>): HTMLElement {
  const places = placeBoth(graphs.nodes);
  const halves = SIDES.map((side) => {
    const drawn = hasSide(graphs, side);
    const half = h(
      "div",
      halfHead(side, notes[side]),
      h("div.graph-half", drawn ? whole(places, side) : h("p.none", "Nothing here on this side.")),
    );
    half.style.flexBasis = `${Math.round(places.width * READABLE)}px`;
    return half;
  });
  const [first, second] = halves.map((half) => half.querySelector<HTMLElement>(".graph-half")!);
  for (const [from, to] of [
    [first!, second!],
    [second!, first!],
  ] as const)
    from.addEventListener("scroll", () => {
      if (to.scrollTop !== from.scrollTop) to.scrollTop = from.scrollTop;
    });
  requestAnimationFrame(() => {
    // what differs first
    const box = first!.querySelector(".box.only-a") ?? second!.querySelector(".box.only-b");
    const half = box?.closest<HTMLElement>(".graph-half");
    if (!box || !half) return;
    const frame = half.getBoundingClientRect();
    half.scrollTop += box.getBoundingClientRect().top - frame.top - frame.height / 3;
  });
  return h("div", h("div.cmp-pair", ...halves), hiddenWords(graphs));
}

/** A drawing that is never wider than its place. */
function whole(places: BothPlaces, side: Side): Element {
  const { width, height } = places;
  const drawing = svg("svg", { class: "g", viewBox: `0 0 ${width} ${height}` }, scene(places, side));
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", `Graph of ${side.toUpperCase()}`);
  (drawing as SVGElement).style.maxWidth = `${Math.round(width)}px`;
  return drawing;
}

/** The boxes of a side and the lines between them, in the pixels of the layout. */
export function scene(places: BothPlaces, side: Side): Element {
  const lines = places.edges
    .filter(({ from, to, path }) => path !== "" && isOn(from, side) && isOn(to, side))
    .map(({ from, to, path }) => {
      const kind = to.side === side || from.side === side ? ` only-${side}` : "";
      return svg("path", { d: path, class: `edge${kind}`, fill: "none" });
    });
  const boxes = places.placed.flatMap((placed, at) => (isOn(placed.node, side) ? [box(placed, at, side)] : []));
  return svg("g", {}, ...lines, ...boxes);
}

function box({ node, x, y, width }: Placed, at: number, side: Side): Element {
  const only = node.side === side;
  const text = (y: number, size: number, style: string, content: string): Element =>
    svg("text", { x: 10, y, "font-size": size, class: style }, content);
  const fit = (content: string, letters: number): string =>
    content.length > letters ? `${content.slice(0, Math.max(0, letters - 1))}…` : content;
  const letters = Math.floor((width - 18) / LETTER);
  const op = fit(node.op, letters);
  const arg = fit(node.arg, letters - op.length - 1);
  const name = text(13.5, 11, "op", op);
  if (arg.length > 2 || (arg !== "" && arg === node.arg)) name.append(svg("tspan", { class: "arg", dx: 5 }, arg));
  const group = svg(
    "g",
    { transform: `translate(${x} ${y})`, class: only ? `box only-${side}` : "box", "data-node": at },
    svg("title", {}, [node.op, node.type, node.arg].filter(Boolean).join("  ")),
    svg("rect", { width, height: BOX, rx: 4 }),
    name,
    text(26, 10, "sub", fit(node.type, Math.floor(letters / 0.92))),
  );
  if (only)
    group.append(
      svg("circle", { cx: width - 2, cy: 1, r: 7, class: "badge" }),
      svg("path", {
        d: `M${width - 5.5} 1h7${side === "b" ? `M${width - 2} -2.5v7` : ""}`,
        class: "badge-sign",
      }),
    );
  return group;
}
