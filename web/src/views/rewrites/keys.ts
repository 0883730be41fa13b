import type { KeyHelp } from "../registry.ts";

export const REWRITES_KEYS: readonly KeyHelp[] = [
  ["Next, previous match", "→ ←"],
  ["Play", "hold →"],
  ["Steps and contexts", "↑ ↓"],
  ["Indexing", "R"],
  ["Call sources", "C"],
  ["Sink", "S"],
  ["Graph or text", "G"],
  ["Show the change", "Z"],
  ["Keep the change in sight", "K"],
  ["Kernel of a call", "O"],
  ["Find in graph", "Ctrl F"],
  ["Along the edges", "⇧ ← ↑ → ↓"],
];
