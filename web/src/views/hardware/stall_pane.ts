/** Beside stall samples: the selected one, what was waited for in all, and the instructions that were met most. */
import { fill, h } from "../../base/dom.ts";
import { count, counted, percent } from "../../base/format.ts";
import { REASON_COLOURS } from "../../draw/stall_draw.ts";
import { laneOf, unitName } from "../../layout/stall_rows.ts";
import type { Stalls } from "../../wire/stalls.ts";
import { VirtualList } from "../common/virtual_list.ts";
import { placeText } from "./stall_stage.ts";

export class StallPane {
  readonly element = h("div.hw-side.hw-stalls");
  private readonly facts = h("div.sec", { "aria-live": "polite" });
  private readonly totals = h("div.sec");
  private readonly title = h("div.bar");
  private readonly body = h("div.hw-ins");
  private readonly list: VirtualList;
  private stalls: Stalls | null = null;

  /** `onPlace` is told the instruction that was chosen. */
  constructor(onPlace: (pc: number) => void) {
    this.element.append(
      h("div.bar", h("b", "Stall samples")),
      this.facts,
      this.totals,
      this.title,
      h("div.hw-place.hw-head", h("span", "pc"), h("span", "Waits for"), h("span.num", "Samples")),
      this.body,
    );
    this.list = new VirtualList(this.body, {
      rowHeight: 19,
      role: "listbox",
      label: "Instructions that were met most",
      render: (index) => this.place(index),
      onSelect: (index) => onPlace(this.stalls!.head.places[index]!.pc),
    });
  }

  set(stalls: Stalls): void {
    this.stalls = stalls;
    const { places, sites, totals, reasons, samples } = stalls.head;
    fill(
      this.totals,
      h("div.h", "Reasons"),
      h(
        "table.hw-reasons",
        h(
          "tbody",
          ...totals.map(([reason, number]) =>
            h(
              "tr",
              h("td", h(`i.sw.cat-${REASON_COLOURS[reason]}`), reasons[reason]),
              h("td.num", count(number)),
              h("td.num.dim", percent(number, samples)),
            ),
          ),
        ),
      ),
    );
    fill(
      this.title,
      h("b", "Instructions"),
      h(
        "span.faint.small",
        sites > places.length ? `the ${count(places.length)} met most of ${count(sites)}` : "met most first",
      ),
    );
    this.list.setCount(places.length);
    this.select(-1);
  }

  /** Shows a run, -1 for none. */
  select(run: number): void {
    const { stalls } = this;
    if (!stalls) return;
    if (run < 0) {
      fill(this.facts, h("p.dim", "Choose a sample to see where its warp stood."));
      this.list.select(-1, false);
      return;
    }
    const { head, start, end, pc, reason, active } = stalls;
    const lane = head.lanes[laneOf(stalls, run)]!;
    fill(
      this.facts,
      h("div.title", h(`i.sw.cat-${REASON_COLOURS[reason[run]!]}`), head.reasons[reason[run]!]),
      h(
        "dl.kv",
        h("dt", "pc"),
        h("dd.mono", placeText(pc[run]!)),
        h("dt", "Active"),
        h("dd", active[run] === 1 ? "yes: the warp was executing" : "no: it was scheduled, but did not issue"),
        h("dt", "Wave"),
        h("dd", `${unitName(lane)} WAVE:${lane.wave}`),
        h("dt", "Cycles"),
        h(
          "dd",
          `${count(start[run]!)} to ${count(end[run]!)}`,
          h("span.faint", ` · ${counted((end[run]! - start[run]!) / head.cycles, "sample")}`),
        ),
      ),
    );
    const at = head.places.findIndex((place) => place.pc === pc[run]);
    this.list.select(at, false);
    if (at >= 0) this.list.centre(at);
  }

  dispose(): void {
    this.list.dispose();
  }

  private place(index: number): HTMLElement {
    const { reasons, places } = this.stalls!.head;
    const { pc, samples, reasons: own } = places[index]!;
    const words = own.map(([reason, number]) => `${reasons[reason]} ${count(number)}`).join(", ");
    return h(
      "div.hw-place",
      h("span", placeText(pc)),
      h("span.ell", { title: words }, h(`i.sw.cat-${REASON_COLOURS[own[0]![0]]}`), words),
      h("span.num", count(samples)),
    );
  }
}
