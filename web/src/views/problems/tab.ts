/** The tab Problems: what is known of it before its script is there. */
import type { ViewDef } from "../registry.ts";

export const PROBLEMS: ViewDef = {
  id: "problems",
  title: "Problems",
  panes: { left: null, right: "Problem" },
  keys: [
    ["Next, previous problem", "N ⇧N"],
    ["Through the list", "↓ ↑"],
    ["Its moment on the timeline", "T"],
    ["Its compilation", "P Enter"],
    ["Its code", "C"],
    ["Filter", "F"],
  ],
  first: ["problems"],
  available: (info) => (info.kinds["problems"] ?? 0) > 0,
  load: async () => {
    const { ProblemsView } = await import("../later.ts");
    return (page) => new ProblemsView(page);
  },
};
