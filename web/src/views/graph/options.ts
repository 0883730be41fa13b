import type { Camera } from "../../draw/renderer.ts";

/** What a graph tells whoever shows it. */
export interface GraphOptions {
  onSelect(identity: number | null): void;
  /** A CALL was opened: the node's id. */
  onOpenCall(id: number): void;
  onCamera(camera: Camera): void;
  /** Nodes that stand by themselves, nodes of the graph, and what is hidden in words. */
  onCounts(shown: number, total: number, hidden: string): void;
  theme(): "dark" | "light";
}
