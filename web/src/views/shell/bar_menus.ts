/** What the buttons of the bar offer. */
import { chosenTheme, setTheme } from "../../state/settings.ts";
import { menuItem, type Command } from "./commands.ts";
import type { MenuItem } from "./menu.ts";
import type { Panes } from "./panes.ts";

export function paneItems(panes: Panes): MenuItem[] {
  return (["left", "right"] as const)
    .filter((side) => panes.uses(side))
    .map((side) => ({
      label: side === "left" ? "Left pane" : "Right pane",
      role: "menuitemcheckbox",
      checked: panes.isOpen(side),
      act: () => panes.toggle(side),
    }));
}

export function themeItems(): MenuItem[] {
  return (["system", "dark", "light"] as const).map((value) => ({
    label: { system: "As the system", dark: "Dark", light: "Light" }[value],
    role: "menuitemradio",
    checked: chosenTheme() === value,
    act: () => setTheme(value),
  }));
}

export function pictureItems(commands: readonly Command[]): MenuItem[] {
  const none: MenuItem = { label: "Nothing is drawn in this view", role: "menuitem", act: () => undefined };
  return commands.length > 0 ? commands.map(menuItem) : [none];
}
