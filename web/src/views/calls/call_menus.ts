/** What the menus of the bar offer: threads, ranges, how calls are merged. */
import { counted, duration } from "../../base/format.ts";
import type { CallModel } from "../../data/calls.ts";
import type { Params } from "../../state/place.ts";
import type { Page } from "../registry.ts";
import type { MenuItem } from "../shell/menu.ts";

/** What belongs to the tree that is left. */
export const OTHER_TREE = { focus: null, sel: null, open: null, shut: null };

export function threadItems(page: Page, model: CallModel | null): MenuItem[] {
  if (!model) return [];
  const { threads, thread } = model.wire;
  const items: MenuItem[] = threads.title.map((title, at) => ({
    label: title,
    note: counted(threads.slices[at]!, "slice"),
    role: "menuitemradio",
    checked: title === thread,
    act: () => page.nav.set({ thread: title, ...OTHER_TREE }),
  }));
  if (items.length > 1)
    items.unshift({
      label: "All threads",
      role: "menuitemradio",
      checked: thread === "*",
      act: () => page.nav.set({ thread: "*", ...OTHER_TREE }),
    });
  return items;
}

/** The whole trace, or the range that was chosen last, here or in the timeline. */
export function rangeItems(page: Page, params: Params, last: string | null): MenuItem[] {
  const items: MenuItem[] = [
    {
      label: "Whole trace",
      role: "menuitemradio",
      checked: params["range"] === undefined,
      act: () => page.nav.set({ range: null }),
    },
  ];
  const range = last ?? timelineRange(page);
  if (range !== null) {
    const [a, b] = range.split("-").map(Number);
    items.push({
      label: `Selected range, ${duration(b! - a!)}`,
      role: "menuitemradio",
      checked: params["range"] !== undefined,
      act: () => page.nav.set({ range }),
    });
  }
  return items;
}

function timelineRange(page: Page): string | null {
  const found = new URLSearchParams(page.nav.address("timeline").split("?")[1] ?? "");
  const [a, b] = [Math.floor(Number(found.get("r0") ?? NaN)), Math.ceil(Number(found.get("r1") ?? NaN))];
  return b > a ? `${Math.max(0, a)}-${b}` : null;
}

export function mergeItems(page: Page, params: Params): MenuItem[] {
  const item = (label: string, value: string | null): MenuItem => ({
    label,
    role: "menuitemradio",
    checked: (params["merge"] ?? null) === value,
    act: () => page.nav.set({ merge: value, ...OTHER_TREE }),
  });
  return [item("Merge calls of one name", null), item("Merge calls of one name and place", "place")];
}
