/** What can be done with a box: the buttons of its tooltip. */
import type { Picture } from "../../draw/renderer.ts";
import type { Folding } from "../../layout/graph/folding.ts";
import { isCall } from "../../layout/graph/labels.ts";
import type { DrawnGraph } from "../../layout/instructions.ts";
import type { GraphWire } from "../../wire/graph.ts";
import type { Tool } from "./overlay.ts";

export interface ToolActions {
  open(box: number): void;
  onOpenCall(id: number): void;
  /** The body of what an instruction calls is to be shown, or left out again. */
  onOpenBody?(key: number): void;
  /** What is folded has changed: the picture is to be made anew around a box. */
  again(key: number): void;
}

export function toolsOf(graph: DrawnGraph, picture: Picture, folding: Folding, box: number, act: ToolActions): Tool[] {
  const { scene } = picture;
  const key = scene.key[box]!;
  const tools: Tool[] = [];
  const v = scene.node[box]!;
  const flip = (set: Set<number>): void => {
    if (!set.delete(key)) set.add(key);
    act.again(key);
  };
  if (scene.block[box]! >= 0) tools.push({ title: "Expand", act: () => act.open(box) });
  if (v < 0) return tools;
  if (isCall(graph, v)) tools.push({ title: "Open kernel", act: () => act.onOpenCall(graph.id[v]!) });
  const body = graph.bodied?.[v] ?? 0;
  if (body > 0 && act.onOpenBody)
    tools.push({ title: body === 1 ? "Open body" : "Close body", act: () => act.onOpenBody!(key) });
  if (folding.closed.has(key)) tools.push({ title: "Show sources", act: () => flip(folding.closed) });
  else if (scene.to.includes(box)) tools.push({ title: "Fold sources", act: () => flip(folding.closed) });
  const opened = folding.opened.has(key);
  if (opened || foldedSources(graph, picture, v))
    tools.push({ title: opened ? "Fold constants" : "Show constants", act: () => flip(folding.opened) });
  return tools;
}

function foldedSources({ srcStart, src }: GraphWire, picture: Picture, v: number): boolean {
  for (let i = srcStart[v]!; i < srcStart[v + 1]!; i++) if (picture.scene.boxOf[src[i]!]! < 0) return true;
  return false;
}

/** Whether a tool shows or hides sources: the one that a key has. */
export const isSources = (tool: Tool): boolean => tool.title.endsWith("sources");
