/** The tab Ranks: what is known of it before its script is there. */
import type { ViewDef } from "../registry.ts";

export const RANKS: ViewDef = {
  id: "ranks",
  title: "Ranks",
  panes: { left: null, right: "Step" },
  keys: [
    ["Cell", "← → ↑ ↓"],
    ["First and last step", "Home End"],
    ["Next, previous step with a slow rank", "N ⇧N"],
    ["Select steps", "⇧← ⇧→ ⇧Home ⇧End"],
    ["Open the step: its ranks in all of the middle", "Enter"],
    ["Keep the rank in the lanes below", "K"],
    ["Critical path", "P"],
    ["Zoom, move the lanes", "W S A D"],
    ["The whole step", "Space"],
    ["The rank's own timeline", "T"],
  ],
  first: ["ranks"],
  available: (info) => (info.kinds["ranks"] ?? 0) > 1,
  load: async () => {
    const { RanksView } = await import("../later.ts");
    return (page) => new RanksView(page);
  },
};
