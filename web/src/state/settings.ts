/** What a browser remembers between visits: theme, pane widths, which panes are shut. */

export type Theme = "system" | "dark" | "light";

/** A setting out of local storage; the default when there is none or storage is closed to us. */
export function readSetting(name: string, otherwise: string): string {
  try {
    return localStorage.getItem(`peephole.${name}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function writeSetting(name: string, value: string): void {
  try {
    localStorage.setItem(`peephole.${name}`, value);
  } catch {
    // a browser without storage forgets, nothing more
  }
}

const light = window.matchMedia("(prefers-color-scheme: light)");
const watchers = new Set<() => void>();

/** The chosen theme. */
export function chosenTheme(): Theme {
  const value = readSetting("theme", "system");
  return value === "dark" || value === "light" ? value : "system";
}

/** What is on the screen now. */
export function theme(): "dark" | "light" {
  const chosen = chosenTheme();
  return chosen === "system" ? (light.matches ? "light" : "dark") : chosen;
}

/** Chooses a theme and tells everyone who draws. */
export function setTheme(value: Theme): void {
  writeSetting("theme", value);
  applyTheme();
}

/** Puts the theme on the page; no attribute means that the style sheet follows the system. */
export function applyTheme(): void {
  const chosen = chosenTheme();
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
  for (const watcher of watchers) watcher();
}

/** Calls back whenever the colours change; returns how to stop. */
export function onTheme(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

light.addEventListener("change", applyTheme);
