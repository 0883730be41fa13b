/** Search over the whole capture: results as one types, arrows and Enter, close names when nothing is found. */
import { fill, h } from "../../base/dom.ts";
import { clip, count, counted, duration } from "../../base/format.ts";
import { icon } from "../../base/icons.ts";
import { isAbort, type CaptureClient } from "../../data/client.ts";
import { serials } from "../../data/serials.ts";
import type { ContextsWire } from "../../wire/capture.ts";
import type { Hit, SearchWire } from "../../wire/search.ts";
import { failure, words, PATIENCE_MS } from "../common/states.ts";
import { fitting, type Command } from "./commands.ts";
import { openOverlay, type Overlay } from "./overlay.ts";

const TITLES: Record<string, string> = {
  kernel: "Kernels",
  context: "Contexts",
  step: "Steps",
  rule: "Rules",
  node: "Nodes",
  op: "Ops",
  slice: "Timeline",
};
const LIMIT = 60;

export function openPalette(client: CaptureClient, commands: readonly Command[], onChoose: (hit: Hit) => void): void {
  const input = h("input", {
    type: "text",
    role: "combobox",
    "aria-label": "Search the capture",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    placeholder: "Search the capture",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
  }) as HTMLInputElement;
  const list = h("div.results", { role: "listbox", id: "palette-list", "aria-label": "Results" });
  const content = h("div.palette", h("div.search", icon("search", 14), input, h("kbd", "Esc")), list);
  let shown: (Hit | Command)[] = [];
  let chosen = 0;
  let asked = new AbortController();
  /** Settled when what is shown answers what is typed. */
  let answered = Promise.resolve();
  const serialOf = new Map<number, string>();
  client.once<ContextsWire>("contexts").then(
    (wire) => {
      const serial = serials(wire.name);
      wire.id.forEach((id, at) => serialOf.set(id, serial[at]!));
    },
    () => undefined,
  );
  const overlay: Overlay = openOverlay("Search", content, () => asked.abort());

  const take = (choice: Hit | Command | undefined): void => {
    if (!choice) return;
    overlay.close();
    if ("act" in choice) choice.act();
    else onChoose(choice);
  };
  const mark = (index: number): void => {
    chosen = Math.max(input.value.trim() === "" ? -1 : 0, Math.min(index, shown.length - 1));
    list.querySelectorAll<HTMLElement>(".row").forEach((row, at) => {
      row.setAttribute("aria-selected", String(at === chosen));
      if (at === chosen) row.scrollIntoView({ block: "nearest" });
    });
    if (shown.length > 0 && chosen >= 0) input.setAttribute("aria-activedescendant", `hit-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const option = (choice: Hit | Command, at: number, ...parts: HTMLElement[]): HTMLElement =>
    h(
      "div.row",
      { role: "option", id: `hit-${at}`, onclick: () => take(choice), onpointermove: () => at !== chosen && mark(at) },
      ...parts,
    );
  const row = (hit: Hit, at: number): HTMLElement =>
    option(
      hit,
      at,
      h("span.ell.mono.name", clip(hit.text)),
      h("span.ell.faint.name", noteOf(hit, serialOf.get(hit.context) ?? "")),
      h("span.n", figureOf(hit)),
    );
  /** What can be done, after what was found; it joins what the arrows walk over. */
  const commandRows = (text: string): HTMLElement[] => {
    const found = fitting(commands, text);
    if (found.length === 0) return [];
    const rows = found.map((command, k) =>
      option(command, shown.length + k, h("span.ell.name", command.label), h("span.ell.faint.name", command.note)),
    );
    shown.push(...found);
    return [h("div.group", { role: "presentation" }, "Commands"), ...rows];
  };
  const draw = (found: SearchWire): void => {
    if (found.error !== null) {
      shown = [];
      fill(list, h("div.none", { role: "alert" }, h("p", ...words(found.error))));
      mark(0);
      return;
    }
    const doable = fitting(commands, found.query).length > 0;
    const groups = Map.groupBy(found.hits.length > 0 ? found.hits : doable ? [] : found.near, (hit) => hit.kind);
    shown = [...groups.values()].flat();
    let at = 0;
    const searched = Object.entries(found.searched).map(([name, rows]) => `${count(rows)} ${name}`);
    const parts: Node[] = [];
    if (found.hits.length === 0 && !doable) {
      parts.push(
        h(
          "div.none",
          h("h2", `Nothing is named ${clip(found.query, 80)}`),
          h(
            "p",
            searched.length === 0
              ? "This capture has no names to search."
              : `Searched ${joined(searched)}.${shown.length > 0 ? " Close to it:" : ""}`,
          ),
        ),
      );
    }
    for (const [kind, hits] of groups) {
      if (found.hits.length > 0) parts.push(h("div.group", { role: "presentation" }, TITLES[kind] ?? kind));
      for (const hit of hits) parts.push(row(hit, at++));
    }
    if (found.total > found.hits.length)
      parts.push(h("div.group", `${count(found.total - found.hits.length)} more; type on to narrow it down`));
    fill(list, ...parts, ...commandRows(found.query));
    mark(0);
  };
  const search = async (): Promise<void> => {
    asked.abort();
    asked = new AbortController();
    const text = input.value.trim();
    if (text === "") {
      shown = [];
      fill(
        list,
        h(
          "div.none",
          h("p", "Every name of the capture, as you type: words in any order, “two words”, /patterns/, -without."),
          h(
            "p",
            ...["kind:kernel", "track:CPU", "rule:symbolic.py", "op:REDUCE"].flatMap((one) => [h("code", one), " "]),
            "look at that alone.",
          ),
        ),
        ...commandRows(""),
      );
      mark(-1);
      return;
    }
    const late = window.setTimeout(
      () => fill(list, h("div.none", { role: "status" }, h("p", "Reading the names of the capture"))),
      PATIENCE_MS,
    );
    asked.signal.addEventListener("abort", () => window.clearTimeout(late));
    try {
      draw(await client.get<SearchWire>(`search?q=${encodeURIComponent(text)}&limit=${LIMIT}`, asked.signal));
    } catch (error) {
      if (!isAbort(error)) {
        shown = [];
        fill(
          list,
          failure(error, () => {
            input.focus();
            answered = search();
          }),
        );
        mark(0);
      }
    } finally {
      window.clearTimeout(late);
    }
  };
  input.addEventListener("input", () => {
    answered = search();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") mark(chosen + 1);
    else if (event.key === "ArrowUp") mark(chosen - 1);
    else if (event.key === "Enter")
      void answered.then(() => take(shown[chosen])); // of what is typed, not of what was shown before
    else return;
    event.preventDefault();
  });
  void search();
  // the server's index is built on the first question: ask it now, so that the first letter is answered at once
  void client.get("search?q=").catch(() => undefined);
}

/** What tells a hit from others of its name: which of them it is, or the context that it is in. */
function noteOf(hit: Hit, serial: string): string {
  if (hit.kind === "slice" || hit.kind === "op") return "";
  if (hit.kind === "kernel") return serial;
  return `${hit.kind === "context" && hit.note !== "context" ? hit.note : clip(hit.note, 80)} ${serial}`.trim();
}

function figureOf(hit: Hit): string {
  if (hit.kind === "op" || hit.kind === "node") return counted(hit.count, "node");
  if (hit.runs > 0) return `${counted(hit.runs, hit.kind === "kernel" ? "run" : "time")} · ${duration(hit.total)}`;
  return hit.count > 0 ? counted(hit.count, "match", "matches") : "";
}

function joined(parts: string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
