/** A place in a source file as a link that opens the editor. */
import { h } from "../../base/dom.ts";
import { editorLink, location } from "../../base/format.ts";
import { tip } from "./tooltip.ts";

/** The path is data: it is encoded into a plain link, and a path that is not absolute stays text. */
export function locationLink(file: string, line: number): HTMLElement {
  const href = editorLink(file, line);
  const text = location(file, line);
  const link = href === null ? h("span.mono.faint", text || "unknown") : h("a.mono", { href }, text);
  return tip(link, () => (file === "" ? null : `${file}${line >= 0 ? `:${line}` : ""}`));
}
