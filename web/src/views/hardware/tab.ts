/** The tab Hardware: what is known of it before its script is there. */
import type { ViewDef } from "../registry.ts";

export const HARDWARE: ViewDef = {
  id: "hardware",
  title: "Hardware",
  panes: { left: null, right: "Instructions" },
  keys: [
    ["Zoom", "W S"],
    ["Pan", "A D"],
    ["Next, previous event of the lane", "→ ←"],
    ["Fit", "Space"],
  ],
  available: (info) => (info.tables["hardware"] ?? 0) > 0,
  load: async () => {
    const { HardwareView } = await import("../later.ts");
    return (page) => new HardwareView(page);
  },
};
