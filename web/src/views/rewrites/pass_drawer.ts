/** Below the graph of a pass: the graphs that it made of one, and what it decided about nodes. */
import { fill, h } from "../../base/dom.ts";
import { clip, count, counted } from "../../base/format.ts";
import { isAbort, type CaptureClient } from "../../data/client.ts";
import type { DecisionsWire } from "../../wire/capture.ts";
import { LISTS, type GraphWire } from "../../wire/graph.ts";
import { locationLink } from "../common/location.ts";
import { tip } from "../common/tooltip.ts";

const MOST = 500;
const SIGNS: Record<string, string> = { fused: "✓", refused: "✕" };

export class PassDrawer {
  private readonly partition = h("section.partition", { "aria-label": "Partition", hidden: true });
  private readonly decisions = h("section.decisions", { "aria-label": "Decisions", hidden: true });
  private wire: DecisionsWire | null = null;
  private only = "";
  private chosen = -1;
  private step = -1;
  private asked = new AbortController();

  constructor(
    private readonly host: HTMLElement,
    private readonly client: CaptureClient,
    /** A decision was chosen: the boxes that it is about, -1 where names do not tell. */
    private readonly onLight: (a: number, b: number) => void,
  ) {
    host.append(this.partition, this.decisions);
  }

  /** Shows what there is about this step, and the graph that is drawn. */
  show(step: number, graph: GraphWire): void {
    this.drawPartition(graph);
    if (step !== this.step) {
      this.step = step;
      this.wire = null;
      this.only = "";
      this.chosen = -1;
      this.drawDecisions();
      this.asked.abort();
      this.asked = new AbortController();
      this.client.get<DecisionsWire>(`steps/${step}/decisions`, this.asked.signal).then(
        (wire) => {
          this.wire = wire;
          this.drawDecisions();
        },
        (error: unknown) => {
          if (!isAbort(error)) this.step = -1; // asked for again with the next graph
        },
      );
    }
  }

  clear(): void {
    this.asked.abort();
    this.step = -1;
    this.host.hidden = true;
  }

  dispose(): void {
    this.asked.abort();
  }

  /** One bar into several: the graphs that came out, with how much is in each. */
  private drawPartition(graph: GraphWire): void {
    const parts = graph.graphs ?? [];
    this.partition.hidden = parts.length < 2;
    this.settle();
    if (parts.length < 2) return;
    const sizes = parts.map((at) => graph.srcStart[at + 1]! - graph.srcStart[at]!);
    const nameOf = (at: number): string => graph.names?.[graph.name?.[at] ?? -1] ?? "graph";
    const whole = graph.removed.filter(({ fold, body }) => (fold & LISTS) !== 0 && (body ?? -1) < 0);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    const seen = new Map<number, number>();
    for (const at of parts)
      for (const member of graph.src.slice(graph.srcStart[at], graph.srcStart[at + 1])) {
        const name = graph.name?.[member] ?? -1;
        if (name >= 0) seen.set(name, (seen.get(name) ?? 0) + 1);
      }
    const both = [...seen.values()].filter((times) => times > 1).length;
    fill(
      this.partition,
      h(
        "div.bar",
        h("b", "Partition"),
        h("span.grow"),
        h("span.dim.num", `${count(Math.max(1, whole.length))} → ${count(parts.length)}`),
      ),
      h(
        "div.fork",
        h("div.from", ...whole.map(({ name }) => h("b.name.ell", clip(name || "graph", 60)))),
        h("i.whole"),
        h(
          "div.parts",
          ...parts.map((at, index) => {
            const bar = h("i.part");
            bar.style.flexGrow = String(sizes[index]! / Math.max(1, all));
            const row = h(
              "div.into",
              bar,
              h(
                "span.ell",
                h("b.name", clip(nameOf(at), 60)),
                " ",
                h("span.dim", counted(sizes[index]!, "instruction")),
              ),
            );
            row.style.flexGrow = String(Math.max(0.2, sizes[index]! / Math.max(1, all)));
            return row;
          }),
        ),
      ),
      both > 0 && h("p.dim.small", `${counted(both, "name")} in more than one of them: saved, or computed again.`),
    );
  }

  private drawDecisions(): void {
    const { wire } = this;
    const total = wire?.kind.length ?? 0;
    this.decisions.hidden = total === 0;
    this.settle();
    if (wire === null || total === 0) return;
    const kinds = new Map<string, number>();
    for (const kind of wire.kind) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const button = (kind: string, title: string): HTMLElement =>
      h(
        `button${this.only === kind ? ".on" : ""}`,
        {
          type: "button",
          "aria-pressed": String(this.only === kind),
          onclick: () => {
            this.only = kind;
            this.drawDecisions();
          },
        },
        title,
      );
    const rows = [...wire.kind.keys()].filter((at) => this.only === "" || wire.kind[at] === this.only);
    fill(
      this.decisions,
      h(
        "div.bar",
        h("b", "Decisions"),
        h("span.grow"),
        h(
          "span.seg",
          { role: "group", "aria-label": "Which decisions" },
          button("", `All ${count(total)}`),
          ...[...kinds].map(([kind, number]) => button(kind, `${clip(kind, 20)} ${count(number)}`)),
        ),
      ),
      h(
        "div.verdicts",
        { role: "listbox", "aria-label": "Decisions" },
        ...rows.slice(0, MOST).map((at) => this.row(wire, at)),
        rows.length > MOST && h("div.faint", `and ${count(rows.length - MOST)} more`),
      ),
    );
  }

  private row(wire: DecisionsWire, at: number): HTMLElement {
    const kind = wire.kind[at]!;
    const names = [wire.aName[at], wire.bName[at]].filter((name) => name !== null && name !== undefined);
    const act = (): void => {
      this.chosen = at;
      this.drawDecisions();
      this.onLight(wire.aIdentity[at]!, wire.bIdentity[at]!);
    };
    const element = h(
      "div.verdict",
      {
        role: "option",
        tabindex: 0,
        "aria-selected": String(at === this.chosen),
        onclick: act,
        onkeydown: (event: KeyboardEvent) => event.key === "Enter" && (event.stopPropagation(), act()),
      },
      h(`span.${kind === "fused" ? "good" : kind === "refused" ? "bad" : "dim"}`, SIGNS[kind] ?? "·"),
      h("span", clip(kind, 30)),
      h("span.mono.ell.name", clip(names.join(" + "), 200)),
      h("span.ell.name", clip(wire.reason[at]!, 400)),
      h("span.wide", wire.file[at] ? locationLink(wire.file[at], wire.line[at]!) : ""),
    );
    return tip(element, () =>
      [`${kind}: ${names.join(" + ")}`, wire.reason[at]!].filter((part) => part !== "").join("\n"),
    );
  }

  private settle(): void {
    this.host.hidden = this.partition.hidden && this.decisions.hidden;
  }
}
