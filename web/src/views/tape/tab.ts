/** The tab Messages: what is known of it before its script is there. */
import type { ViewDef } from "../registry.ts";

export const TAPE: ViewDef = {
  id: "messages",
  title: "Messages",
  panes: { left: null, right: "Message" },
  first: ["tape"],
  keys: [
    ["Zoom", "W S"],
    ["Pan", "A D"],
    ["Next, previous message", "→ ←"],
    ["Select, or bring into the middle", "Enter"],
    ["Select a range", "⇧ drag"],
    ["Zoom to the range", "Z"],
    ["Fit", "Space"],
    ["Filter", "F"],
  ],
  available: (info) => ["client", "dispatcher", "worker"].some((kind) => (info.kinds[`track:${kind}`] ?? 0) > 0),
  load: async () => {
    const { TapeView } = await import("../later.ts");
    return (page) => new TapeView(page);
  },
};
