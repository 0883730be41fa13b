/** The code of a kernel on both sides: equal lines next to each other, both scroll as one. */
import { h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import { codeNodes, languageOf } from "../../base/highlight.ts";
import type { CodeLineWire, KernelPairWire } from "../../wire/compare.ts";
import { sideChip } from "./side_chip.ts";

/** Two columns; where a side has no line, an empty one keeps the others next to each other. */
export function codePair(pair: KernelPairWire): HTMLElement {
  if (pair.code.length === 0)
    return h(
      "p.none",
      "No code was recorded of this one; what is known of it is how it was rewritten and how long it ran.",
    );
  const language = languageOf(pair.language, "source");
  const line = (one: CodeLineWire, side: "a" | "b"): HTMLElement => {
    const [number, text] = side === "a" ? [one.number_a, one.text_a] : [one.number_b, one.text_b];
    const style = one.kind === "same" ? "" : number === 0 ? ".g" : side === "a" ? ".d" : ".a";
    return h(
      `div.cl${style}`,
      h("span", number === 0 ? "" : String(number)),
      h("span", { "aria-hidden": "true" }, style === ".d" ? "−" : style === ".a" ? "+" : ""),
      h("span", ...codeNodes(text, language)),
    );
  };
  const half = (side: "a" | "b"): HTMLElement => {
    const time = pair.row?.time;
    const [median, runs] = side === "a" ? [time?.medianA, time?.nA] : [time?.medianB, time?.nB];
    const lines = pair.code.filter((one) => (side === "a" ? one.number_a : one.number_b) > 0).length;
    const facts = [runs ? `${duration(median!)} · ${counted(runs, "run")}` : "", counted(lines, "line")];
    const name = side === "a" ? pair.a : pair.b;
    return h(
      "div.half",
      h(
        "div.row.half-head",
        sideChip(side),
        h("span.mono.ell", name || "none"),
        h("span.dim.ell", facts.filter(Boolean).join(" · ")),
      ),
      h("div.half-code", ...pair.code.map((one) => line(one, side))),
    );
  };
  const halves = h(
    "div.halves",
    { tabindex: 0, role: "region", "aria-label": `Code of both, ${count(pair.code.length)} lines` },
    half("a"),
    half("b"),
  );
  requestAnimationFrame(() => {
    // what differs first, with a few lines above it
    const first = halves.querySelector(".cl.d, .cl.a")?.getBoundingClientRect();
    const frame = halves.getBoundingClientRect();
    if (first && first.bottom > frame.bottom) halves.scrollTop += first.top - frame.top - frame.height / 3;
  });
  return halves;
}
