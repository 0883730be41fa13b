/** The field above the timeline: filters tracks by name, finds slices in the whole trace and steps through them. */
import { fill, h } from "../../base/dom.ts";
import { clip, count } from "../../base/format.ts";
import { icon } from "../../base/icons.ts";
import { isAbort, sentenceOf, type CaptureClient } from "../../data/client.ts";
import type { HitsWire } from "../../wire/timeline.ts";
import { tip } from "../common/tooltip.ts";

export interface FinderOptions {
  onText(text: string): void;
  /** A hit; with the extent of all hits when these are the runs of a row of Top. */
  onHit(row: number, extent: [number, number] | null): void;
  /** Numbers of the names that match, null when nothing is searched for. */
  onHits(names: ReadonlySet<number> | null): void;
  /** The arrow down leaves the field, with what it finds, for the drawing. */
  onDown(): void;
  /** The time from which the next hit is looked for. */
  from(): number;
}

const PAUSE_MS = 160;

export class Finder {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly found = h("span.hits", { role: "status" });
  private text = "";
  /** What of a row of Top is shown instead of all that has the text in its name. */
  private runs = "";
  private hits: HitsWire | null = null;
  private asking = new AbortController();
  private timer = 0;
  /** Enter was pressed before the hits were there: on to the first as soon as they are. */
  private eager = false;

  constructor(
    private readonly client: CaptureClient,
    private readonly options: FinderOptions,
  ) {
    const label = "Filter tracks and slices";
    this.input = h("input", {
      type: "text",
      placeholder: label,
      "aria-label": label,
      autocomplete: "off",
      spellcheck: "false",
      "aria-keyshortcuts": "F",
      maxlength: 200,
    }) as HTMLInputElement;
    this.input.addEventListener("input", () => {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => options.onText(this.input.value.trim()), PAUSE_MS);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        window.clearTimeout(this.timer);
        const text = this.input.value.trim();
        if (text === this.text && this.hits) return void this.step(event.shiftKey ? -1 : 1);
        this.eager = text !== "";
        if (text !== this.text) options.onText(text);
      } else if (event.key === "Escape" && this.input.value !== "") {
        this.input.value = "";
        options.onText("");
        event.stopPropagation();
      } else if (event.key === "ArrowDown") {
        event.preventDefault();
        options.onDown();
      }
    });
    this.element = h("div.tl-find", h("label.search", icon("filter", 14), this.input, h("kbd", "F")), this.found);
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  /** Shows the hits of a text; `go` moves on to the first. */
  show(text: string, runs: string, go: boolean): void {
    if (document.activeElement !== this.input) this.input.value = text;
    if (text === this.text && runs === this.runs) return;
    this.text = text;
    this.runs = runs;
    this.fresh = true;
    this.hits = null;
    this.asking.abort();
    if (text === "") {
      this.eager = false;
      fill(this.found);
      this.options.onHits(null);
      return;
    }
    // of runs the first: they are shown all at once
    const from = runs === "" ? `time=${Math.round(this.options.from())}` : "place=0";
    void this.ask(from, go && document.activeElement !== this.input);
  }

  /** The next hit, or the one before. */
  async step(by: 1 | -1): Promise<void> {
    if (!this.hits || this.hits.total === 0) return;
    const { place, total } = this.hits;
    await this.ask(`place=${(place + (this.stepped ? by : 0) + total) % total}`, true);
  }

  private stepped = false;
  /** The first answer to a text. */
  private fresh = false;

  private async ask(where: string, go: boolean): Promise<void> {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const { text, runs } = this;
    try {
      const path = `timeline/search?q=${encodeURIComponent(text)}&${where}${runs}`;
      const hits = await this.client.get<HitsWire>(path, signal);
      if (signal.aborted || text !== this.text || runs !== this.runs) return;
      const extent = this.fresh ? hits.extent : null;
      this.fresh = false;
      this.hits = hits;
      go ||= this.eager;
      this.eager = false;
      this.stepped = go;
      this.options.onHits(hits.total > 0 ? new Set(hits.names) : null);
      this.draw();
      if (go && hits.row >= 0) this.options.onHit(hits.row, extent);
    } catch (error) {
      if (!isAbort(error))
        fill(
          this.found,
          tip(h("button.link", { type: "button", onclick: () => void this.ask(where, go) }, "Try again"), () =>
            sentenceOf(error),
          ),
        );
    }
  }

  private draw(): void {
    const { hits } = this;
    if (!hits) return;
    if (hits.total === 0) {
      const near = hits.near[0];
      fill(
        this.found,
        h("span.faint", `Nothing is named ${clip(hits.query, 24)}`),
        near !== undefined &&
          h("button.link", { type: "button", onclick: () => this.options.onText(near) }, clip(near, 30)),
      );
      return;
    }
    const button = (by: 1 | -1, label: string, text: string): HTMLElement =>
      h("button.btn", { type: "button", "aria-label": label, title: label, onclick: () => void this.step(by) }, text);
    fill(
      this.found,
      h("span.dim", this.stepped ? `${count(hits.place + 1)} of ${count(hits.total)}` : `${count(hits.total)} slices`),
      button(-1, "Previous hit (Shift N)", "‹"),
      button(1, "Next hit (N)", "›"),
    );
  }
}
