/** What is selected in the rewrites: boxes of one graph, which are found again in the others. */
import type { Params } from "./place.ts";

/** A graph of a context. */
export interface GraphPlace {
  step: number;
  match: number;
}

export interface Selection extends GraphPlace {
  /** Identities in the graphs of that step: the current one, then those that are kept besides. */
  nodes: readonly number[];
}

const SEPARATOR = "~";

/** "12.3" as a graph; null for anything else. */
export function parsePlaceOf(text: string | undefined): GraphPlace | null {
  const found = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(text ?? "");
  return found === null ? null : { step: Number(found[1]), match: Number(found[2] ?? 0) };
}

export function formatPlaceOf({ step, match }: GraphPlace): string {
  return `${step}.${match}`;
}

/** The selection of an address, whose graph is that one unless it says otherwise. */
export function selectionOf(params: Params, shown: GraphPlace): Selection | null {
  const nodes = (params["node"] ?? "").split(SEPARATOR).filter((part) => /^\d{1,16}$/.test(part)).map(Number); // prettier-ignore
  if (nodes.length === 0) return null;
  return { ...(parsePlaceOf(params["held"]) ?? shown), nodes };
}

/** How an address names it, from a graph of that step. */
export function selectionParams(
  selection: Selection | null,
  step: number,
): { node: string | null; held: string | null } {
  if (selection === null || selection.nodes.length === 0) return { node: null, held: null };
  const held = selection.step === step ? null : formatPlaceOf(selection);
  return { node: selection.nodes.join(SEPARATOR), held };
}

/** How a box is chosen: by itself, besides others (or no longer), or as the next current one. */
export type How = "alone" | "add" | "move";

/** The selection after a box of a graph was chosen; `now` are the selected boxes as they are known there. */
export function chosen(now: readonly number[], at: GraphPlace, node: number | null, how: How): Selection | null {
  if (node === null) return how === "add" && now.length > 0 ? { ...at, nodes: now } : null;
  const others = [...new Set(now)].filter((one) => one !== node);
  if (how === "alone") return { ...at, nodes: [node] };
  if (how === "move") return { ...at, nodes: [node, ...new Set(now.slice(1))] };
  if (!now.includes(node)) return { ...at, nodes: [node, ...others] };
  return others.length === 0 ? null : { ...at, nodes: others };
}

/** The selection in which the current box is kept when another one is chosen, or no longer. */
export function marked(selection: Selection): Selection {
  const [current, ...kept] = selection.nodes;
  const others = kept.filter((one) => one !== current);
  return { ...selection, nodes: [current!, ...others, ...(others.length === kept.length ? [current!] : [])] };
}
