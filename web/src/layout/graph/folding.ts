import type { Switches } from "./fold.ts";

/** What the user folded and opened; kept from match to match. */
export interface Folding {
  switches: Switches;
  /** Identities whose constants and call bodies are shown. */
  opened: Set<number>;
  /** Identities whose own sources are folded into them. */
  closed: Set<number>;
  /** Blocks by the identities in them; null until the graph is large. */
  blocks: BlockList | null;
  /** Identities that are shown, when only a part of the graph is; null for all of it. */
  only: ReadonlySet<number> | null;
}

/** Blocks that are kept while stepping: a node is in the block that its identity was put into. */
export interface BlockList {
  of: Map<number, number>;
  names: Map<number, string>;
}
