/** From the program's line over a node to the kernels that compute it: each link leads there. */
import { h } from "../../base/dom.ts";
import { clip } from "../../base/format.ts";
import type { LinkWire } from "../../wire/capture.ts";
import { locationLink } from "../common/location.ts";

const TITLES: Record<LinkWire["stage"], string> = {
  line: "Program",
  dynamo: "Program's graph",
  traced: "Traced into",
  rule: "Rule",
  pass: "Passes",
  lowered: "Lowered as",
  fused: "Inside the fusion",
  kernel: "Kernel",
  instruction: "Instruction",
};
const MOST = 8;

export interface ChainActions {
  /** Go to a match and show a box there, or the match alone when there is none. */
  goTo(step: number, match: number, identity: number): void;
  /** The address of a kernel's code. */
  code(context: number): string;
}

/** The links, grouped by what they are, from the program to the kernels. */
export function chainRows(links: readonly LinkWire[], actions: ChainActions): HTMLElement[] {
  const stages = [...new Set(links.map((link) => link.stage))];
  return stages.map((stage) => {
    const own = links.filter((link) => link.stage === stage);
    const left = own.length - MOST;
    return h(
      "div",
      { "data-stage": stage },
      h("div.dim", TITLES[stage]),
      ...own.slice(0, MOST).map((link) => h("div.ell", ...parts(link, actions))),
      left > 0 && h("div.faint", `and ${left} more`),
    );
  });
}

function parts(link: LinkWire, actions: ChainActions): (Node | null)[] {
  const [, file, line] = /^(.+):(\d+)$/.exec(link.line ?? "") ?? [];
  const place = file === undefined ? null : locationLink(file, Number(line));
  const faint = (text: string): HTMLElement => h("span.faint", ` ${clip(text, 120)}`);
  if (link.stage === "line") return [place, faint(link.name)];
  const title = clip(link.name === "" ? (link.line ?? "") : link.name, 120);
  const text = h("span.mono.name", title);
  const go = h(
    "button.link",
    { type: "button", title, onclick: () => actions.goTo(link.step, link.match, link.identity) },
    text,
  );
  if (link.stage === "kernel" && link.context >= 0)
    return [h("a.link", { href: actions.code(link.context), title }, text), faint(link.op)];
  return [go, faint(link.op), link.stage === "rule" ? place : null];
}
