/** What the page can do besides showing: the palette lists it, buttons of the bar do it. */
import { keepSheet, sheetsIn } from "../common/sheets.ts";
import { sentenceOf } from "../../data/client.ts";
import type { MenuItem } from "./menu.ts";

export interface Command {
  /** "Save the flame graph as SVG". */
  label: string;
  note: string;
  act(): void;
}

/** Pictures of what is on the screen, as SVG and PNG. `say` gets a sentence when one is not quite what was asked for. */
export function pictureCommands(root: Element, capture: string, say: (text: string) => void): Command[] {
  return sheetsIn(root).flatMap((sheet) =>
    (["svg", "png"] as const).map((kind) => ({
      label: `${sheet.title} as ${kind.toUpperCase()}`,
      note: sheet.detail,
      act: () =>
        void keepSheet(sheet, capture, kind).then(
          (note) => say(note || `${sheet.title} saved as ${kind.toUpperCase()}`),
          (error: unknown) => say(sentenceOf(error)),
        ),
    })),
  );
}

export function menuItem(command: Command): MenuItem {
  return { label: command.label, note: command.note, role: "menuitem", act: () => command.act() };
}

/** Commands that a text fits: every word of it is in the label, in any order. */
export function fitting(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}
