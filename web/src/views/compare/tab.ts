/** The tab Compare: what is known of it before its script is there. */
import type { ViewDef } from "../registry.ts";

export const COMPARE: ViewDef = {
  id: "compare",
  title: "Compare",
  panes: { left: null, right: "Where they part" },
  keys: [
    ["Next, previous difference", "N ⇧N"],
    ["Swap A and B", "X"],
    ["Filter", "F"],
  ],
  available: (info) => info.partner !== undefined,
  load: async () => {
    const { CompareView } = await import("../later.ts");
    return (page) => new CompareView(page);
  },
};
