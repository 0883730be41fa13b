import type { Camera } from "../../draw/renderer.ts";
import type { How } from "../../state/selection.ts";

/** What a graph tells whoever shows it. */
export interface GraphOptions {
  /** A box was selected: by itself, besides others, or as the next current one. */
  onSelect(identity: number | null, how: How): void;
  /** A CALL was opened: the node's id. */
  onOpenCall(id: number): void;
  /** The body of what an instruction calls is to be shown, or left out again. */
  onOpenBody?(key: number): void;
  onCamera(camera: Camera): void;
  /** Nodes that stand by themselves, nodes of the graph, and what is hidden in words. */
  onCounts(shown: number, total: number, hidden: string): void;
  theme(): "dark" | "light";
  /** A graph that is too large to be read whole is opened where most of it is, not at its result. */
  atFullest?: boolean;
}
