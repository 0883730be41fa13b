/**
 * Control flow: blocks from the top down, weighted by the time spent in them where a trace tells, with the ways between
 * them at the side.
 */
import { fill, h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import { share, tokens, type Token } from "../../data/registers.ts";
import type { FlowWire, InstructionsWire, ResourcesWire } from "../../wire/hardware.ts";
import { emptyState } from "./states.ts";

const SVG = "http://www.w3.org/2000/svg";
const LANE = 12;
const STYLES: Record<string, string> = { taken: "way taken", "not taken": "way skipped", always: "way" };

export class FlowGraph {
  /** The register that was chosen, as it stands in an instruction, and the single registers that it stands for. */
  private lit = "";
  private litKeys: readonly string[] = [];
  /** Whether the trace says of any instruction that it ran. */
  private readonly mapped: boolean;

  constructor(
    private readonly host: HTMLElement,
    private readonly flow: FlowWire,
    private readonly code: Pick<InstructionsWire, "pc" | "text" | "hits">,
    private readonly resources: ResourcesWire | null,
  ) {
    this.mapped = code.hits.some((hits) => hits > 0);
    this.draw();
  }

  private draw(): void {
    const { flow, code } = this;
    if (flow.blocks.length === 0) {
      fill(
        this.host,
        emptyState("No control flow", flow.notes.join(" ") || "The capture holds no binary of this kernel."),
      );
      return;
    }
    const most = flow.blocks.reduce((best, block) => Math.max(best, block.cycles), 1);
    const blocks = flow.blocks.map((block, number) => {
      const share = block.cycles / most;
      const step = block.cycles === 0 ? 0 : share > 0.5 ? 4 : share > 0.05 ? 3 : share > 0.006 ? 2 : 1;
      const lines: HTMLElement[] = [];
      for (let i = block.first; i <= block.last; i++) lines.push(this.line(i));
      return h(
        `section.blk.hot-${step}`,
        { "data-block": number, "aria-label": `Block ${number}` },
        h(
          "div.h",
          h("b", `Block ${number}`),
          h("span.faint", `0x${code.pc[block.first]!.toString(16)}`),
          h("span.grow"),
          h(
            "span.num.dim",
            block.hits > 0
              ? `×${count(block.hits)} · ${count(block.cycles)} cycles`
              : this.mapped
                ? "not reached in the trace"
                : "",
          ),
        ),
        ...lines,
      );
    });
    const { resources } = this;
    const facts = resources
      ? [
          `${resources.vgprs} VGPRs`,
          `${count(resources.lds_bytes)} B LDS`,
          `${count(resources.scratch_bytes)} B scratch`,
        ]
      : [];
    const ways = document.createElementNS(SVG, "svg");
    ways.setAttribute("class", "ways");
    ways.setAttribute("aria-hidden", "true");
    const list = h("div.blks", ...blocks);
    fill(
      this.host,
      h(
        "div.bar.hw-legend",
        h("span.dim.ell", facts.join(" · ")),
        this.lit === "" ? null : h("b", `${this.lit} lit`),
        h("span.grow"),
        h("span.key.taken", "taken"),
        h("span.key.skipped", "not taken"),
        h("span.key", "always"),
      ),
      h("div.scroll.hw-flow", h("div.hw-flow-in", list)),
    );
    const inner = this.host.querySelector(".hw-flow-in")!;
    inner.append(ways);
    this.ways(ways, list);
  }

  private line(index: number): HTMLElement {
    const { code } = this;
    const parts = tokens(code.text[index]!);
    const uses = parts.some(({ keys }) => share(keys, this.litKeys));
    return h(
      `button.ln${uses ? ".lit" : ""}${this.mapped && code.hits[index] === 0 ? ".skip" : ""}`,
      { type: "button", onclick: () => this.next(parts.filter(({ keys }) => keys.length > 0)) },
      h("span.faint", code.pc[index]!.toString(16)),
      h("span.name", ...parts.map((part) => this.part(part))),
      h("span.num.faint", code.hits[index]! > 0 ? count(code.hits[index]!) : ""),
    );
  }

  /** A register is lit with all that name it; a click chooses it. */
  private part({ text, keys }: Token): HTMLElement | string {
    if (keys.length === 0) return text;
    const lit = share(keys, this.litKeys);
    const choose = (event: Event): void => {
      event.stopPropagation();
      this.light(text === this.lit ? "" : text, keys);
    };
    return h(`span.reg${lit ? ".lit" : ""}`, { "data-register": text, onclick: choose }, text);
  }

  /** The next register of a line, for whoever has no pointer; none after the last. */
  private next(registers: readonly Token[]): void {
    const at = registers.findIndex(({ text }) => text === this.lit);
    const chosen = registers[at + 1];
    this.light(chosen?.text ?? "", chosen?.keys ?? []);
  }

  private light(register: string, keys: readonly string[]): void {
    this.lit = register;
    this.litKeys = register === "" ? [] : keys;
    const scroll = this.host.querySelector(".hw-flow");
    const top = scroll?.scrollTop ?? 0;
    this.draw();
    const again = this.host.querySelector(".hw-flow");
    if (again) again.scrollTop = top;
  }

  /** Each way in a lane of its own left of the blocks: the shortest ways nearest to them. */
  private ways(svg: SVGSVGElement, list: HTMLElement): void {
    const boxes = [...list.children] as HTMLElement[];
    const edges = this.flow.edges.map((edge) => ({
      ...edge,
      low: Math.min(edge.source, edge.target),
      high: Math.max(edge.source, edge.target),
    }));
    edges.sort((a, b) => a.high - a.low - (b.high - b.low));
    const lanes: { low: number; high: number }[][] = [];
    const placed = edges.map((edge) => {
      let lane = lanes.findIndex((own) => own.every((other) => other.high < edge.low || other.low > edge.high));
      if (lane < 0) lane = lanes.push([]) - 1;
      lanes[lane]!.push(edge);
      return { edge, lane };
    });
    const room = Math.max(2, lanes.length + 1) * LANE;
    list.style.marginLeft = `${room + 8}px`;
    svg.setAttribute("width", String(room + 8));
    svg.setAttribute("height", String(list.offsetHeight + 16));
    for (const { edge, lane } of placed) {
      const from = boxes[edge.source]!;
      const to = boxes[edge.target]!;
      const y0 = from.offsetTop + from.offsetHeight - 10;
      const y1 = to.offsetTop + 12;
      const x = room - (lane + 1) * LANE;
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", STYLES[edge.kind] ?? "way");
      path.setAttribute(
        "d",
        `M${room + 8} ${y0}H${x + 4}Q${x} ${y0} ${x} ${y0 + (y1 > y0 ? 4 : -4)}V${y1 + (y1 > y0 ? -4 : 4)}Q${x} ${y1} ${x + 4} ${y1}H${room + 6}m-5 -4l5 4l-5 4`,
      );
      svg.append(path);
    }
  }
}
