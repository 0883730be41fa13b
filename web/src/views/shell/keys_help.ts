/** The overlay that lists the keys: those of everywhere, and those of each view that this capture has. */
import { h } from "../../base/dom.ts";
import type { KeyHelp, ViewDef } from "../registry.ts";
import { openOverlay } from "./overlay.ts";

const EVERYWHERE: readonly KeyHelp[] = [
  ["Search", "/"],
  ["Next, previous view", "] ["],
  ["Fit", "Space"],
  ["Pin a note", "M"],
  ["Close, clear", "Esc"],
  ["Back, forward", "Alt ← →"],
  ["These keys", "?"],
];
const LISTS: readonly KeyHelp[] = [
  ["Move", "↑ ↓"],
  ["Open, close", "Enter"],
  ["Filter", "F"],
];

export function openKeys(views: readonly ViewDef[]): void {
  const groups: [string, readonly KeyHelp[]][] = [
    ["Everywhere", EVERYWHERE],
    ["Lists and trees", LISTS],
    ...views
      .filter((view) => view.keys.length > 0)
      .map((view): [string, readonly KeyHelp[]] => [view.title, view.keys]),
  ];
  const content = h(
    "div.keyhelp",
    h("div.h", h("span.grow.title", "Keys"), h("kbd", "?")),
    h("div.keys", ...groups.map(([title, rows]) => h("section", h("h3", title), ...rows.map(line)))),
  );
  const overlay = openOverlay("Keys", content);
  content.closest(".shade")?.addEventListener("keydown", (event) => {
    if ((event as KeyboardEvent).key === "?") overlay.close();
  });
}

function line([what, keys]: KeyHelp): HTMLElement {
  const parts = keys.split(" ").flatMap((key) => [" ", /^[a-z]{2,}$/.test(key) ? h("span.dim", key) : h("kbd", key)]);
  return h("div", h("span", what), h("span", ...parts));
}
