/** SQL: a query over the tables of the capture, its answer as a table, what was asked before. The address has the query. */
import { fill, h } from "../../base/dom.ts";
import { bytes, count, counted, duration } from "../../base/format.ts";
import { isAbort, isSilence, sentenceOf } from "../../data/client.ts";
import { connection } from "../../data/connection.ts";
import { leadsOf, readHistory, remember, sqlCsv, type Asked } from "../../data/sql.ts";
import type { Params } from "../../state/place.ts";
import { readSetting, writeSetting } from "../../state/settings.ts";
import type { SqlSliceWire, SqlTablesWire, SqlWire } from "../../wire/sql.ts";
import { copyButton } from "../common/copy.ts";
import { filterBox, type FilterBox } from "../common/filter_box.ts";
import { failure, words } from "../common/states.ts";
import type { Page, View } from "../registry.ts";
import { SqlEditor } from "./editor.ts";
import { EXAMPLES } from "./examples.ts";
import { Results } from "./results.ts";
import { Schema } from "./schema.ts";
import { drawQueries, drawRow, type SideActions } from "./sql_side.ts";

const HISTORY = "sql.history";
const TICK_MS = 100;

export class SqlView implements View {
  private readonly editor: SqlEditor;
  private readonly filterBox: FilterBox;
  private readonly schema: Schema;
  private readonly results: Results;
  private readonly runButton = h("button.btn.on", { type: "button" }, "Run ", h("kbd", "Ctrl ↵"));
  private readonly name = h("input.sql-name", {
    type: "text",
    placeholder: "Name this query",
    "aria-label": "Name of this query",
    autocomplete: "off",
  }) as HTMLInputElement;
  private readonly title = h("b", "Result");
  private readonly chip = h("span.chip", { hidden: true });
  private readonly trouble = h("div.sql-trouble", { role: "alert", hidden: true });
  private readonly waiting = h("p.none", "Ctrl Enter runs the query; its rows will be here.");
  private readonly csv: HTMLElement;
  private readonly whole = h("a.btn", { download: "peephole.csv", hidden: true }, "All as CSV");
  private readonly seg = h("span.seg", { role: "group", "aria-label": "Which queries" });
  private readonly queries = h("div.scroll.sql-queries");
  private readonly chosenRow = h("div.sql-chosen");
  private readonly leaving = new AbortController();
  private asking: AbortController | null = null;
  private answer: SqlWire | null = null;
  private asked: string | null = null;
  private limits: SqlTablesWire | null = null;
  private history: Asked[] = readHistory(readSetting(HISTORY, "[]"));
  private listed: "mine" | "examples";
  private readonly actions: SideActions = {
    take: (sql) => {
      this.editor.text = sql;
      this.run();
    },
    forget: (sql) => this.keep(this.history.filter((one) => one.sql !== sql)),
    toTimeline: () => void this.toTimeline(),
  };

  constructor(private readonly page: Page) {
    this.listed = this.history.length > 0 ? "mine" : "examples";
    this.editor = new SqlEditor({
      run: () => this.run(),
      changed: () => this.drawName(),
      stop: () => this.stop(),
    });
    this.filterBox = filterBox(
      "Filter tables and columns",
      (text) => this.schema.narrow(text),
      () => this.schema.focus(),
    );
    page.left.append(
      this.filterBox.element,
      h("div.bar.chips", h("span.dim", "Table"), h("span.grow"), h("span.faint.small", "rows")),
    );
    this.schema = new Schema(page.left, (name) => this.editor.insert(name));
    this.results = new Results({
      select: () => this.drawRow(),
      enter: () => void this.toTimeline(),
    });
    this.csv = copyButton(() => (this.answer ? sqlCsv(this.answer) : ""), "Copy as CSV");
    this.runButton.addEventListener("click", () => (this.asking ? this.stop() : this.run()));
    this.name.addEventListener("change", () => this.rename());
    const explain = h("button.btn.wide", { type: "button", onclick: () => this.explain() }, "Explain");
    page.middle.append(
      h("div.bar", this.name, h("span.grow"), explain, this.runButton),
      this.editor.element,
      this.trouble,
      h("div.bar", this.title, this.chip, h("span.grow"), this.csv, this.whole),
      this.waiting,
      this.results.element,
    );
    page.right.append(h("div.bar", h("b", "Queries"), h("span.grow"), this.seg), this.queries, this.chosenRow);
    this.results.show(null);
    this.csv.hidden = true;
    this.drawSide();
    this.drawStatus();
    void this.load();
  }

  show(params: Params): void {
    const sql = params["q"] ?? "";
    if (sql === "" && this.editor.text === "") this.editor.text = EXAMPLES[0]![1];
    if (sql !== "" && sql !== this.asked) {
      this.editor.text = sql;
      void this.ask(sql);
    }
    this.drawName();
    this.page.middle.dataset["shown"] = "sql";
  }

  key(event: KeyboardEvent): boolean {
    if (event.key.toLowerCase() === "t" && !event.ctrlKey && !event.metaKey) {
      void this.toTimeline();
      return true;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.results.focus();
      return true;
    }
    return false;
  }

  escape(): boolean {
    return this.stop();
  }

  filter(): void {
    this.filterBox.input.focus();
    this.filterBox.input.select();
  }

  grown(): void {
    void this.load();
  }

  dispose(): void {
    this.leaving.abort();
    this.asking?.abort();
    this.schema.dispose();
    this.results.dispose();
  }

  private async load(): Promise<void> {
    try {
      this.limits = await this.page.client.get<SqlTablesWire>("sql/tables", this.leaving.signal);
      this.schema.show(this.limits.tables);
      this.drawStatus();
    } catch (error) {
      if (!isAbort(error)) this.page.left.append(failure(error, () => void this.load()));
    }
  }

  private run(): void {
    const sql = this.editor.text.trim();
    if (sql === "") return;
    if (this.page.nav.place.params["q"] === sql) void this.ask(sql);
    else this.page.nav.set({ q: sql });
  }

  private explain(): void {
    const sql = this.editor.text.trim();
    if (sql !== "") this.page.nav.set({ q: /^explain\b/i.test(sql) ? sql : `EXPLAIN ${sql}` });
  }

  private stop(): boolean {
    if (!this.asking) return false;
    this.asking.abort();
    return true;
  }

  private async ask(sql: string): Promise<void> {
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    this.asked = sql;
    const begun = performance.now();
    const seconds = (): string => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
    fill(this.runButton, "Stop ", h("kbd", "Esc"));
    this.trouble.hidden = true;
    this.waiting.hidden = true;
    this.chip.hidden = false;
    this.chip.textContent = "running";
    const ticking = window.setInterval(() => (this.chip.textContent = `running · ${seconds()}`), TICK_MS);
    this.results.element.classList.add("stale");
    let note: string;
    let failed = false;
    try {
      const answer = await this.page.client.get<SqlWire>(`sql?q=${encodeURIComponent(sql)}`, asking.signal);
      if (this.asking !== asking) return;
      if (answer.error !== null) throw new Error(answer.error);
      this.answer = answer;
      this.results.show(answer);
      note = `${rowsOf(answer)} · ${duration(answer.took)}`;
    } catch (error) {
      if (this.asking !== asking || this.leaving.signal.aborted) return;
      failed = true;
      if (isSilence(error)) this.askWhenBack(sql);
      note = isAbort(error) ? `stopped after ${seconds()}` : sentenceOf(error);
      this.answer = null;
      this.results.show(null);
      this.trouble.hidden = false;
      fill(this.trouble, h("span.mono", "!"), h("span", ...words(note)));
    } finally {
      window.clearInterval(ticking);
      if (this.asking === asking) {
        this.asking = null;
        fill(this.runButton, "Run ", h("kbd", "Ctrl ↵"));
        this.results.element.classList.remove("stale");
      }
    }
    if (!connection.gone) this.keep(remember(this.history, { sql, name: "", note, failed }));
    this.drawAnswer();
    this.page.middle.dataset["answered"] = failed ? "failed" : sql;
  }

  /** Asks a query once more that the server did not hear, unless another was asked meanwhile. */
  private askWhenBack(sql: string): void {
    void connection.whenBack().then(() => {
      if (this.asked === sql && !this.asking && !this.leaving.signal.aborted) void this.ask(sql);
    });
  }

  private drawAnswer(): void {
    const { answer } = this;
    this.chip.hidden = answer === null;
    this.csv.hidden = answer === null;
    this.whole.hidden = !answer?.more;
    if (answer) {
      this.chip.textContent = answer.rows === 0 ? "no rows" : rowsOf(answer);
      const path = `/api/v1/captures/${encodeURIComponent(this.page.client.id)}/sql/csv`;
      this.whole.setAttribute("href", `${path}?q=${encodeURIComponent(this.asked ?? "")}`);
    }
    this.drawRow();
    this.drawStatus();
  }

  private drawRow(): void {
    const { answer } = this;
    const row = this.results.selected;
    drawRow(this.chosenRow, this.page, answer, row, answer && row >= 0 ? leadsOf(answer, row) : {}, this.actions);
  }

  private async toTimeline(): Promise<void> {
    const row = this.results.selected;
    if (!this.answer || row < 0 || !this.page.has("timeline")) return;
    const { slice } = leadsOf(this.answer, row);
    if (slice === undefined) return;
    try {
      const found = await this.page.client.get<SqlSliceWire>(`sql/slice?${slice}`, this.leaving.signal);
      if (found.row >= 0)
        this.page.nav.go({ ...this.page.nav.place, view: "timeline", params: { slice: String(found.row) } });
      else this.chosenRow.append(h("p.none", "No slice of this capture is that one."));
    } catch (error) {
      if (!isAbort(error)) this.chosenRow.append(failure(error, () => void this.toTimeline()));
    }
  }

  private rename(): void {
    const sql = this.editor.text.trim();
    const before = this.history.find((one) => one.sql === sql);
    if (sql === "") return;
    const kept = before ?? { sql, name: "", note: "", failed: false };
    const named = { ...kept, name: this.name.value.trim() };
    this.keep(before ? this.history.map((one) => (one === before ? named : one)) : remember(this.history, named));
  }

  private keep(history: Asked[]): void {
    this.history = history;
    writeSetting(HISTORY, JSON.stringify(history));
    if (history.length > 0) this.listed = "mine";
    this.drawSide();
    this.drawName();
  }

  private drawName(): void {
    if (document.activeElement === this.name) return;
    this.name.value = this.history.find((one) => one.sql === this.editor.text.trim())?.name ?? "";
  }

  private drawSide(): void {
    fill(
      this.seg,
      ...(["mine", "examples"] as const).map((which) =>
        h(
          `button${which === this.listed ? ".on" : ""}`,
          {
            type: "button",
            "aria-pressed": String(which === this.listed),
            onclick: () => {
              this.listed = which;
              this.drawSide();
            },
          },
          which === "mine" ? "Mine" : "Examples",
        ),
      ),
    );
    drawQueries(this.queries, this.listed, this.history, this.asked ?? "", this.actions);
  }

  private drawStatus(): void {
    const { answer, limits } = this;
    this.page.status(
      answer ? [`${rowsOf(answer)}`, duration(answer.took)] : [],
      limits ? [`read only · stops after ${limits.seconds} s or ${bytes(limits.bytes)}`] : [],
    );
  }
}

function rowsOf(answer: SqlWire): string {
  return answer.more ? `the first ${count(answer.rows)} rows` : counted(answer.rows, "row");
}
