/** The tab SQL: what is known of it before its script is there. */
import type { ViewDef } from "../registry.ts";

export const SQL: ViewDef = {
  id: "sql",
  title: "SQL",
  panes: { left: "Schema", right: "History" },
  keys: [
    ["Run the query", "Ctrl Enter"],
    ["Stop it", "Escape"],
    ["The row's slice on the timeline", "T"],
    ["Filter tables and columns", "F"],
    ["Leave the query's field", "Escape, then Tab"],
  ],
  available: (info) => Object.values(info.tables).some((rows) => rows > 0),
  load: async () => {
    const { SqlView } = await import("../later.ts");
    return (page) => new SqlView(page);
  },
};
