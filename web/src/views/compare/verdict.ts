/** The verdict: one sentence, the two sides, what could not be compared, and the figures that differ. */
import { fill, h } from "../../base/dom.ts";
import { duration } from "../../base/format.ts";
import { change, claimed } from "../../data/compare.ts";
import type { CompareWire } from "../../wire/compare.ts";
import { sideChip } from "./side_chip.ts";
import { figure } from "./tables.ts";

export function drawVerdict(element: HTMLElement, found: CompareWire): void {
  const name = (side: CompareWire["a"]): HTMLElement[] => [
    h("span", side.names.join(", ")),
    h(
      "span.faint",
      Object.entries(side.frameworks)
        .map(([key, version]) => ` ${key} ${version}`)
        .join(",") || ` ${side.source}`,
    ),
  ];
  const facts = found.counts.filter((row) => row.differs).slice(0, 4);
  const time = found.kernels.some(claimed);
  fill(
    element,
    h(
      "div.say",
      h("div.title", found.verdict),
      h("p", sideChip("a"), " ", ...name(found.a), h("span", "   "), sideChip("b"), " ", ...name(found.b)),
      ...found.notes.map((note) => h("p.note", note)),
    ),
    h("span.grow"),
    facts.length > 0 || time
      ? h(
          "dl.kv.wide",
          ...(time
            ? [
                h("dt", "Kernels"),
                h(
                  "dd.num",
                  `${duration(found.a.kernelNs)} → ${duration(found.b.kernelNs)} ${change(found.a.kernelNs, found.b.kernelNs)}`,
                ),
              ]
            : []),
          ...facts.flatMap((row) => [
            h("dt", row.name),
            h("dd.num", `${figure(row.name, row.a)} → ${figure(row.name, row.b)}`),
          ]),
        )
      : null,
  );
}
