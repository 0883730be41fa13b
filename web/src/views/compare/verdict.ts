/** The verdict: one sentence, the two sides, what could not be compared, and the figures that differ. */
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import { change, claimed } from "../../data/compare.ts";
import type { CompareWire } from "../../wire/compare.ts";
import { words } from "../common/states.ts";
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
  const total = found.totals.find((row) => row.group === "kernels");
  const time = found.kernels.some(claimed) || total?.verdict === "slower" || total?.verdict === "faster";
  fill(
    element,
    h(
      "div.say",
      h("div.title", signed(found.verdict)),
      h("p", sideChip("a"), " ", ...name(found.a), h("span", "   "), sideChip("b"), " ", ...name(found.b)),
      ...found.notes.map((note) => h("p.note", ...words(note))),
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
          ...found.portions
            .filter((part) => part.name !== "not shown to differ" && Math.abs(part.ns) >= 1)
            .flatMap((part) => [
              h("dt", `${part.name} kernels`),
              h(
                `dd.num${part.ns > 0 ? ".slower" : ".faster"}`,
                `${part.ns < 0 ? "−" : "+"}${duration(Math.abs(part.ns))}`,
              ),
            ]),
          ...facts.flatMap((row) => [
            h("dt", row.name),
            h(
              "dd.num",
              row.a === row.b
                ? `${figure(row.name, row.a)} (others)`
                : `${figure(row.name, row.a)} → ${figure(row.name, row.b)}`,
            ),
          ]),
        )
      : null,
  );
}

/** A sentence with the sign that the page's figures have: "take -94.6%" is typed, "−94.6%" is set. */
function signed(sentence: string): string {
  return sentence.replace(/ -(?=\d[\d.]*%)/g, " −");
}

/** What the status bar says at the left and at the right. */
export function statusParts(found: CompareWire): [HTMLElement[], HTMLElement[]] {
  const kernels = found.kernels.filter((row) => row.kind === "kernel");
  const of = (state: string): number => kernels.filter((row) => row.state === state).length;
  const part = (value: number, label: string): HTMLElement => h("span", h("b", count(value)), ` ${label}`);
  return [
    [
      part(kernels.length, kernels.length === 1 ? "kernel" : "kernels"),
      part(of("added"), "added"),
      part(of("removed"), "removed"),
      part(of("changed"), "changed"),
      h("span.wide", h("b", count(of("same"))), " the same"),
    ],
    [
      h(
        "span.wide",
        { title: found.normalised.join("\n") },
        `${counted(found.normalised.length, "kind")} of accidents taken out`,
      ),
      h("span.wide", "p: Mann–Whitney, Benjamini–Hochberg; first run left out"),
    ],
  ];
}
