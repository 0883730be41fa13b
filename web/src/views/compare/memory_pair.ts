/** Memory of both over each other, each scaled to its own length. */
import { h } from "../../base/dom.ts";
import { bytes } from "../../base/format.ts";
import type { CurvesWire, CurveWire, MemoryPeakWire } from "../../wire/compare.ts";
import { change } from "../../data/compare.ts";

const SVG = "http://www.w3.org/2000/svg";
const W = 430;

/** The same as a page of its own, which keys scroll. */
export function memoryPage(curves: CurvesWire, peaks: readonly MemoryPeakWire[]): HTMLElement {
  const about = { tabindex: 0, role: "region", "aria-label": "Memory of both" };
  return h("div.scroll.cmp-scroll", about, memoryPair(curves, peaks, 220));
}

/** One drawing a device that both or either have. */
export function memoryPair(curves: CurvesWire, peaks: readonly MemoryPeakWire[], height: number): HTMLElement {
  const devices = [...new Set([...curves.a, ...curves.b].map((curve) => curve.device))];
  if (devices.length === 0) return h("p.none", "No buffers were recorded.");
  const weight = (device: string): number =>
    Math.max(...[...curves.a, ...curves.b].filter((curve) => curve.device === device).map((curve) => curve.peak));
  devices.sort((p, q) => weight(q) - weight(p));
  return h(
    "div",
    ...devices.map((device) => {
      const of = (side: CurveWire[]): CurveWire | undefined => side.find((curve) => curve.device === device);
      const [a, b] = [of(curves.a), of(curves.b)];
      const held = peaks.find((row) => row.device === device)?.held.filter((one) => one.count_a !== one.count_b) ?? [];
      return h(
        "div.sec",
        h(
          "div.h",
          h("span.grow", `Memory of ${device || "the device"}`),
          h(
            "span.legend",
            h("span", h("i.line-a"), `A ${bytes(a?.peak ?? 0)}`),
            h("span", h("i.line-b"), `B ${bytes(b?.peak ?? 0)}`),
            a && b && a.peak !== b.peak ? h("b", change(a.peak, b.peak)) : null,
          ),
        ),
        drawing(a, b, height),
        h(
          "div.row.faint.axis",
          h("span", "begin"),
          h("span.grow"),
          h("span", "each scaled to its length"),
          h("span.grow"),
          h("span", "end"),
        ),
        held.length > 0 && h("p.faint.small", "Alive at the peak, A → B"),
        ...held
          .slice(0, 8)
          .map((one) =>
            h(
              "div.row.held",
              h("span.num", `${one.count_a} → ${one.count_b}`),
              h("span.ell", [one.name, one.dtype, bytes(one.bytes)].filter(Boolean).join(" ")),
            ),
          ),
      );
    }),
  );
}

function drawing(a: CurveWire | undefined, b: CurveWire | undefined, height: number): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  const top = Math.max(1, a?.peak ?? 0, b?.peak ?? 0);
  const set = (element: Element, attributes: Record<string, string | number>): void => {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  };
  set(svg, {
    class: "g curves",
    width: "100%",
    height,
    viewBox: `0 0 ${W} ${height}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": "Memory of A and B over time",
  });
  const add = (style: string, d: string): void => {
    const path = document.createElementNS(SVG, "path");
    set(path, { class: style, d, "vector-effect": "non-scaling-stroke" });
    svg.append(path);
  };
  const path = (curve: CurveWire): string => {
    const y = (value: number): string => (height - 1 - (value / top) * (height - 6)).toFixed(1);
    const x = (time: number): string => ((time / Math.max(1, curve.end)) * W).toFixed(1);
    return `M0 ${y(0)}${curve.time.map((time, at) => `H${x(time)}V${y(curve.bytes[at]!)}`).join("")}H${W}`;
  };
  if (b) {
    add("area-b", `${path(b)}V${height}H0Z`);
    add("curve-b", path(b));
  }
  if (a) add("curve-a", path(a));
  return svg;
}
