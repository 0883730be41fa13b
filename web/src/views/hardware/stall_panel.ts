/** NVIDIA's stall samples in the Hardware view: their drawing, what stands beside it, and their part of the address. */
import { fill, h } from "../../base/dom.ts";
import { count, counted } from "../../base/format.ts";
import { REASON_COLOURS } from "../../draw/stall_draw.ts";
import { unitName } from "../../layout/stall_rows.ts";
import { numberParam, type Params } from "../../state/place.ts";
import type { HardwareEntry } from "../../wire/hardware.ts";
import { readStalls, type Stalls } from "../../wire/stalls.ts";
import { clearLayer, emptyState, showLayer, waitFor } from "../common/states.ts";
import type { Page } from "../registry.ts";
import { StallPane } from "./stall_pane.ts";
import { StallStage } from "./stall_stage.ts";

export class StallPanel {
  private readonly pane: StallPane;
  private readonly stage: StallStage;
  private entry: HardwareEntry | null = null;
  private stalls: Stalls | null = null;
  private waves = "";
  /** The window that the address was last told of: what is on the screen is exact, the address is whole cycles. */
  private told = "";

  constructor(
    private readonly page: Page,
    private readonly body: HTMLElement,
    private readonly leaving: AbortSignal,
  ) {
    this.pane = new StallPane((pc) => this.choosePlace(pc));
    this.stage = new StallStage(body, {
      moved: () => this.moved(),
      select: (run) => this.page.nav.set({ ev: run }, "push"),
      drawn: () => this.drawn(),
    });
    this.pane.element.hidden = true;
    page.right.append(this.pane.element);
  }

  set hidden(hidden: boolean) {
    this.pane.element.hidden = hidden;
  }

  /** Reads the samples of an entry. */
  async open(entry: HardwareEntry): Promise<void> {
    if (this.entry?.row === entry.row) return;
    const data = await waitFor(
      this.body,
      { title: `Decoding ${entry.source}` },
      () => this.page.client.bytes(`hardware/${entry.row}/stalls`, this.leaving).then(readStalls),
      this.leaving,
    );
    if (!data) return;
    [this.entry, this.stalls, this.told] = [entry, data, ""];
    const units = new Set(data.head.lanes.map(unitName)).size;
    this.waves = `${counted(data.head.lanes.length, "wave")} on ${counted(units, "multiprocessor")}`;
    this.stage.use(data);
    this.pane.set(data);
    this.status();
  }

  /** Colours and names of the reasons that were met, most first. */
  get legend(): [number, string][] {
    const head = this.stalls?.head;
    return head ? head.totals.map(([reason]) => [REASON_COLOURS[reason]!, head.reasons[reason]!]) : [];
  }

  show(params: Params): void {
    const { stalls, entry } = this;
    if (!stalls || !entry) return;
    clearLayer(this.body);
    if (stalls.head.samples === 0) {
      fill(this.body);
      showLayer(this.body, emptyState("No samples", "The profile has this kernel, but no sample of its warps."));
      this.status();
      this.page.middle.dataset["shown"] = `stalls/${entry.row}/`;
      return;
    }
    const told = `${params["t0"]}/${params["t1"]}`;
    const placed = told !== this.told;
    if (placed) {
      const [t0, t1] = [numberParam(params, "t0", NaN), numberParam(params, "t1", NaN)];
      if (t1 > t0) this.stage.setSpan({ t0, t1 });
      else this.stage.fit();
    }
    this.told = told;
    const asked = numberParam(params, "ev", -1);
    const run = asked < stalls.start.length ? asked : -1;
    if (run !== this.stage.picture!.focus) {
      this.stage.setFocus(run, !placed);
      this.pane.select(run);
    }
    this.stage.show();
  }

  key(event: KeyboardEvent): boolean {
    if (!this.stalls || this.stalls.head.samples === 0) return false;
    if (this.stage.viewport.key(event)) return true;
    if (event.key === " ") this.fit();
    else if (event.key === "ArrowRight") this.walk(1);
    else if (event.key === "ArrowLeft") this.walk(-1);
    else return false;
    return true;
  }

  fit(): void {
    this.page.nav.set({ t0: null, t1: null }, "push");
    this.stage.viewport.hideTip();
    this.stage.fit();
  }

  dispose(): void {
    this.stage.dispose();
    this.pane.dispose();
  }

  private moved(): void {
    const { t0, t1 } = this.stage.span;
    const place = { t0: Math.round(t0), t1: Math.round(t1) };
    this.told = `${place.t0}/${place.t1}`;
    this.page.nav.set(place, "replace");
  }

  private drawn(): void {
    this.page.middle.dataset["shown"] = `stalls/${this.entry!.row}/${Math.max(this.stage.picture!.focus, -1)}`;
    this.status();
  }

  private status(): void {
    const { head } = this.stalls!;
    const { t0, t1 } = this.stage.span;
    const seen = Math.max(0, Math.round(Math.min(t1, this.stage.cycles) - Math.max(t0, 0)));
    this.page.status(
      [
        h("b", this.entry!.source),
        counted(head.samples, "sample"),
        this.waves,
        ...(head.shown < head.samples ? [`only the first ${count(head.shown)} are drawn`] : []),
        head.lost > 0 ? `${count(head.lost)} × samples lost` : "0 packets lost",
      ],
      [`${count(head.cycles)} cycles a sample`, `${count(seen)} of ${count(this.stage.cycles)} cycles`],
    );
  }

  /** The next run of the lane; the first in the window when none is selected. */
  private walk(step: number): void {
    const { stalls } = this;
    const focus = this.stage.picture!.focus;
    const { t0, t1 } = this.stage.span;
    const next = focus < 0 ? stalls!.start.findIndex((start) => start >= t0 && start < t1) : focus + step;
    if (next < 0 || next >= stalls!.start.length) return;
    // runs of all lanes stand one behind the other: at the end of its lane it stays
    if (focus >= 0 && stalls!.from.includes(Math.max(focus, next))) return;
    this.page.nav.set({ ev: next }, "replace");
  }

  /** An instruction of the list: the first of its samples in the window, else the first of all. */
  private choosePlace(pc: number): void {
    const { start, pc: places } = this.stalls!;
    const { t0, t1 } = this.stage.span;
    const inside = places.findIndex((own, i) => own === pc && start[i]! >= t0 && start[i]! < t1);
    const run = inside >= 0 ? inside : places.indexOf(pc);
    if (run >= 0) this.page.nav.set({ ev: run }, "push");
  }
}
