/** A name in a row: a kernel keeps its head and its tail when the room is short, since many share a start. */
import { nameNodes, plain } from "../../base/ansi.ts";
import { h } from "../../base/dom.ts";
import { clip, endsAsKernel } from "../../base/format.ts";

const TAIL = 6;

/** The name of a kernel in a list, in the colours that it came with as long as it is short enough to be whole. */
export function kernelName(name: string): HTMLElement {
  return plain(name) === name ? bothEnds("span.mono", name) : h("span.ell.mono.name", ...nameNodes(name));
}

export function bothEnds(tag: string, text: string, attributes: Record<string, string> = {}): HTMLElement {
  const name = clip(text, 160);
  if (!endsAsKernel(name) || name.length <= TAIL) return h(`${tag}.ell.name`, attributes, name);
  return h(`${tag}.both.name`, { ...attributes, "aria-label": name }, h("span.ell", name.slice(0, -TAIL)), h("span", name.slice(-TAIL)));
}
