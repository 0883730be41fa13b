/**
 * Names of the rows: groups that fold, tracks that fold and can be pinned, a figure at the right. Only what is in
 * sight.
 */
import { h } from "../../base/dom.ts";
import { bytes } from "../../base/format.ts";
import { figure } from "../../draw/timeline/painter.ts";
import type { RowBox } from "../../layout/timeline_rows.ts";
import { trackName } from "../common/both_ends.ts";
import { tip } from "../common/tooltip.ts";

/** Letters of a name beside which a note has room. */
const ROOMY = 15;

interface Head {
  element: HTMLElement;
  note: HTMLElement;
  row: RowBox;
  /** Where it stands. */
  at: number;
}

export class TrackHeads {
  readonly element = h("div.tl-heads", { role: "list", "aria-label": "Tracks" });
  private heads = new Map<string, Head>();
  private notes = new Map<string, string>();

  constructor(
    private readonly onFold: (id: string) => void,
    private readonly onPin: (id: string) => void,
  ) {}

  get width(): number {
    return this.element.offsetWidth || 168;
  }

  clear(): void {
    this.element.replaceChildren();
    this.heads.clear();
  }

  draw(visible: readonly RowBox[], scroll: number, focused: number): void {
    const seen = new Set(visible.map((row) => row.id));
    for (const [id, head] of this.heads) {
      if (seen.has(id)) continue;
      head.element.remove();
      this.heads.delete(id);
    }
    for (const row of visible) {
      let head = this.heads.get(row.id);
      if (!head) {
        head = this.make(row);
        this.heads.set(row.id, head);
        this.element.append(head.element);
      }
      if (head.at !== row.y - scroll) {
        head.at = row.y - scroll;
        head.element.style.transform = `translateY(${head.at}px)`;
      }
      head.element.classList.toggle("sel", focused >= 0 && row.lanes.some((lane) => lane.track === focused));
    }
  }

  /** Figures beside the names; told when the picture has settled, so that they do not flicker while it moves. */
  setNotes(visible: readonly RowBox[], noteOf: (row: RowBox) => string | { peak: number }): void {
    for (const row of visible) {
      const head = this.heads.get(row.id);
      if (!head || row.kind === "group" || row.more !== null) continue;
      const note = noteOf(row);
      const text =
        typeof note === "string"
          ? note
          : row.series && "memory" in row.series
            ? short(bytes(note.peak))
            : figure(note.peak, row.unit);
      this.notes.set(row.id, text);
      if (head.note.textContent !== text) head.note.textContent = text;
    }
  }

  private make(row: RowBox): Head {
    const note =
      row.kind === "group"
        ? h("small", row.note, h("span.wide", row.note === "1" ? " track" : " tracks"))
        : h("small", row.more === null && (this.notes.get(row.id) ?? row.note));
    if (row.more !== null) {
      const { more } = row;
      note.append(
        h(
          "button.link",
          { type: "button", title: "Show all lanes, or the first twelve", onclick: () => this.onFold(more) },
          row.note,
        ),
      );
    }
    if (row.kind === "group") {
      const element = h(
        "div.hd.g",
        { role: "listitem" },
        h(
          "button.tl-fold",
          { type: "button", "aria-expanded": String(!row.shut), onclick: () => this.onFold(row.id) },
          h("span.tw", row.shut ? "▸" : "▾"),
          row.title,
        ),
        note,
      );
      element.style.height = `${row.h}px`;
      return { element, note, row, at: NaN };
    }
    const pin = h(
      "button.tl-pin",
      {
        type: "button",
        "aria-pressed": String(row.pinned),
        "aria-label": `${row.pinned ? "Unpin" : "Pin"} ${row.title}`,
        title: row.pinned ? "Unpin" : "Pin to the top",
        onclick: () => this.onPin(row.id),
      },
      row.pinned ? "●" : "○",
    );
    const copies = row.lanes.some((lane) => lane.track !== row.track);
    const name = row.foldable
      ? trackName("button.tl-name", row.title, row.where, {
          type: "button",
          "aria-expanded": String(!row.shut),
          onclick: () => this.onFold(row.id),
        })
      : trackName("span.tl-name", row.title, row.where);
    tip(name, () =>
      row.foldable
        ? `${row.title}\n${row.shut ? "Click shows all its lanes" : "Click shows its first lane only"}`
        : row.title,
    );
    // how deep a track is can be seen; a name that is cut cannot be read
    if (/ deep$/.test(row.note)) note.classList.add(row.title.length > ROOMY ? "gone" : "wide");
    const element = h("div.hd", { role: "listitem" }, name, copies && h("span.sub.wide", "+ copy"), note, pin);
    element.style.height = `${row.h}px`;
    return { element, note, row, at: NaN };
  }
}

/** 26.92 MB as 26.9 MB: beside a name three figures do. */
function short(text: string): string {
  return text.replace(/^(\d+\.\d)\d /, "$1 ");
}
