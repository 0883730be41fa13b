/**
 * What a context left behind, as tabs: its errors first, then source, ops, machine code and the graph that it began as.
 */
import { h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import type { ArtifactRow, ContextWire } from "../../wire/capture.ts";

export interface Tab {
  id: string;
  title: string;
  /** Null for the graph that the context began with. */
  artifact: ArtifactRow | null;
  /** Blocks and the ways between them instead of the text. */
  flow?: boolean;
}

const TITLES: Record<string, string> = {
  source: "Source",
  oplist: "Ops",
  assembly: "Assembly",
  error: "Error",
  binary: "Assembly",
  table: "Table",
};
const ORDER = ["error", "source", "oplist", "assembly", "binary", "flow", "ast", "table"];
const MOST = 12;

/** `machine`: its binary holds instructions, which the bytes for a device that only pretends do not. */
export function tabsOf(context: ContextWire, machine: boolean): Tab[] {
  const counts = new Map<string, number>();
  const shown = context.artifacts.filter((artifact) => artifact.kind !== "file" && artifact.kind !== "data");
  // several of a kind are told apart by their names
  const named = (own: ArtifactRow): boolean =>
    own.name !== "" && shown.filter((artifact) => artifact.kind === own.kind).length > 1;
  const tabs: Tab[] = shown.map((artifact) => {
    const serial = (counts.get(artifact.kind) ?? 0) + 1;
    counts.set(artifact.kind, serial);
    const title = artifact.kind === "binary" && !machine ? "Binary" : (TITLES[artifact.kind] ?? artifact.kind);
    return {
      id: serial === 1 ? artifact.kind : `${artifact.kind}-${serial}`,
      title: named(artifact) ? artifact.name : serial === 1 ? title : `${title} ${serial}`,
      artifact,
    };
  });
  for (const { id, title, artifact } of [...tabs])
    if (machine && artifact && hasFlow(artifact))
      tabs.push({
        id: id.replace("binary", "flow"),
        title: title.replace("Assembly", "Control flow"),
        artifact,
        flow: true,
      });
  tabs.push({ id: "ast", title: context.kernelGraph, artifact: null });
  const place = (tab: Tab): number => ORDER.indexOf(tab.flow ? "flow" : (tab.artifact?.kind ?? "ast"));
  return tabs.sort((a, b) => place(a) - place(b)).slice(0, MOST);
}

/** Whether Peephole itself decodes these instructions and so knows where they branch to: a GPU's, not the CPU's. */
function hasFlow(artifact: ArtifactRow): boolean {
  return artifact.kind === "binary" && artifact.language.startsWith("gfx");
}

/** The tab's button; `rows` is how many ops there are, when that is known. */
export function tabButton(tab: Tab, current: boolean, rows: number | null, choose: () => void): HTMLElement {
  return h(
    `button${current ? ".on" : ""}`,
    { type: "button", "aria-pressed": String(current), onclick: choose },
    tab.title,
    rows !== null && h("span.faint", count(rows)),
  );
}
