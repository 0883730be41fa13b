/** Notes in the frame of the page: the menu that lists and adds them, the card of those on what is chosen. */
import { fill, h } from "../../base/dom.ts";
import { clip } from "../../base/format.ts";
import { icon } from "../../base/icons.ts";
import { sentenceOf } from "../../data/client.ts";
import { notebook, pinsAt, type Pin } from "../../data/notes.ts";
import type { Navigator } from "../../state/navigator.ts";
import type { NoteWire } from "../../wire/notes.ts";
import { copyButton } from "../common/copy.ts";
import type { Command } from "./commands.ts";
import type { MenuItem } from "./menu.ts";
import { openOverlay } from "./overlay.ts";

const LONGEST = 10_000;
/** Letters of a note that a line of a list has. */
const LINE = 60;

/** Adds to what is chosen; then every note, and what it is on. */
export function noteItems(nav: Navigator): MenuItem[] {
  const adding = noteCommands(nav).map((command): MenuItem => ({
    label: command.label,
    role: "menuitem",
    act: () => command.act(),
  }));
  const none: MenuItem = {
    label: notebook.reason || "Choose something to pin a note to",
    role: "menuitem",
    act: () => 0,
  };
  const listed = notebook.notes.map((note): MenuItem => ({
    label: clip(note.text.replace(/\s+/g, " "), LINE),
    note: note.view === "" ? "gone" : whatOf(note),
    role: "menuitem",
    act: () => goTo(nav, note),
  }));
  return [...(adding.length > 0 ? adding : [none]), ...listed];
}

export function noteCommands(nav: Navigator): Command[] {
  if (notebook.reason !== "") return [];
  return pinsAt(nav.place.view, nav.place.params).map((pin) => ({
    label: `Pin a note to ${pin.label}`,
    note: "",
    act: () => writeNote(pin),
  }));
}

/** M: a note on the innermost thing that is chosen; false when nothing is. */
export function noteKey(nav: Navigator): boolean {
  const command = noteCommands(nav)[0];
  command?.act();
  return command !== undefined;
}

function goTo(nav: Navigator, note: NoteWire): void {
  if (note.view !== "") nav.go({ ...nav.place, view: note.view, params: note.params });
}

function whatOf(note: NoteWire): string {
  return clip(note.label || note.kind, 40);
}

function writeNote(pin: Pin): void {
  edit(`A note on ${pin.label}`, "", (text) => notebook.add(pin, text));
}

function edit(title: string, before: string, save: (text: string) => Promise<void>): void {
  const field = h("textarea", {
    "aria-label": title,
    rows: 6,
    maxlength: LONGEST,
    autofocus: true,
  }) as HTMLTextAreaElement;
  field.value = before;
  const problem = h("p.bad", { role: "alert", hidden: true });
  const done = h("button.btn.primary", { type: "button" }, "Save ", h("kbd", "Ctrl Enter"));
  const overlay = openOverlay(title, h("div.note-edit", h("h2", title), field, problem, h("div.acts", done)));
  const act = (): void => {
    if (field.value.trim() === "") return field.focus();
    save(field.value).then(
      () => overlay.close(),
      (error: unknown) => {
        problem.hidden = false;
        problem.textContent = sentenceOf(error);
      },
    );
  };
  done.addEventListener("click", act);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) act();
  });
  field.focus();
}

/** What is said about the thing that is chosen, in a corner of the view. */
export class NoteCard {
  readonly element = h("aside.note-card", { "aria-label": "Notes on what is chosen", hidden: true });
  private shut = "";

  constructor(private readonly nav: Navigator) {
    notebook.onChange(() => this.draw());
    nav.listen(() => this.draw());
  }

  private draw(): void {
    const { view, params } = this.nav.place;
    const found = notebook.at(view, params);
    const key = found.map((note) => note.id).join();
    if (key !== this.shut) this.shut = "";
    this.element.hidden = key === "" || this.shut === key;
    fill(
      this.element,
      h(
        "div.h",
        icon("note", 14),
        h("span.grow.ell", found[0] ? found[0].label || "This range" : ""),
        h(
          "button.icon",
          {
            type: "button",
            "aria-label": "Hide the note",
            onclick: () => {
              this.shut = key;
              this.draw();
            },
          },
          icon("close", 12),
        ),
      ),
      ...found.map((note) => this.note(note)),
    );
  }

  private note(note: NoteWire): HTMLElement {
    const problem = h("p.bad", { role: "alert", hidden: true });
    const link = (): string => `${location.origin}/${this.nav.address(note.view, note.params)}`;
    const remove = (): void =>
      void notebook.remove(note.id).catch((error: unknown) => {
        problem.hidden = false;
        problem.textContent = sentenceOf(error);
      });
    const change = (): void => edit(`Note ${note.id}`, note.text, (text) => notebook.change(note.id, text));
    const button = (label: string, act: () => void): HTMLElement =>
      h("button.btn", { type: "button", onclick: act }, label);
    return h(
      "div.note",
      h("p.note-text", note.text),
      h(
        "div.acts",
        h("span.faint.grow", `${note.id} · ${note.created.slice(0, 10)}`),
        copyButton(link, "Copy link"),
        notebook.reason === "" && button("Change", change),
        notebook.reason === "" && button("Remove", remove),
      ),
      problem,
    );
  }
}
