/** A name in a row: a kernel keeps its head and its tail when the room is short, since many share a start. */
import { nameNodes, plain } from "../../base/ansi.ts";
import { h, type Attributes } from "../../base/dom.ts";
import { clip, endsAsKernel, ownNumber } from "../../base/format.ts";

const TAIL = 6;
/** Letters of what tells tracks of one name apart; the tooltip has it whole. */
const APART = 16;

/** The name of a kernel in a list, in the colours that it came with as long as it is short enough to be whole. */
export function kernelName(name: string): HTMLElement {
  return plain(name) === name ? bothEnds("span.mono", name) : h("span.ell.mono.name", ...nameNodes(name));
}

/** The title of a track, of which the part that tells it from others of its name stays when the room is short. */
export function trackName(tag: string, title: string, where: string, attributes: Attributes = {}): HTMLElement {
  const tail = ownNumber(title) || (where === "" ? "" : ` · ${clip(where, APART)}`);
  if (tail === "") return h(`${tag}.ell.name`, attributes, title);
  const head = title.endsWith(tail) ? title.slice(0, -tail.length) : title.slice(0, -` · ${where}`.length);
  return h(`${tag}.both.name`, { ...attributes, "aria-label": title }, h("span.ell", head), h("span", tail));
}

export function bothEnds(tag: string, text: string, attributes: Record<string, string> = {}): HTMLElement {
  const name = clip(text, 160);
  const serial = /#\d+$/.exec(name)?.[0] ?? "";
  const tail = TAIL + serial.length;
  // a head of one letter has no room for dots
  if (!endsAsKernel(name.slice(0, name.length - serial.length)) || name.length <= tail + 1)
    return h(`${tag}.ell.name`, attributes, name);
  const head = h("span.ell", name.slice(0, -tail));
  head.style.setProperty("--tail", String(tail));
  return h(`${tag}.both.name`, { ...attributes, "aria-label": name }, head, h("span", name.slice(-tail)));
}
