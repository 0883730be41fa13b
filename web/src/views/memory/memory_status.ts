/** The status line of the memory view: how many buffers, which of them have no band of their own. */
import { h } from "../../base/dom.ts";
import { bytes, count, counted } from "../../base/format.ts";
import type { DeviceWire } from "../../wire/memory.ts";

export interface StatusFacts {
  device: DeviceWire;
  /** Buffers that are drawn as one band, and the largest of them. */
  small: number;
  largest: number;
  /** Whether small ones are drawn as one. */
  merge: boolean;
  /** Buffers that are not drawn, and what they hold. */
  left: number;
  leftBytes: number;
}

export interface StatusActions {
  small(show: boolean): void;
  zoomIn(): void;
}

const link = (text: string, act: () => void): HTMLElement => h("button.link", { type: "button", onclick: act }, text);

/** Both ends of the status line. */
export function statusParts(facts: StatusFacts, actions: StatusActions): [HTMLElement[], HTMLElement[]] {
  const { device } = facts;
  const begin = [
    h(
      "span",
      h("b", count(device.buffers)),
      ` ${device.buffers === 1 ? "buffer" : "buffers"} on ${device.name || "an unnamed device"}`,
    ),
    h("span", h("b", count(device.living)), " never freed"),
  ];
  if (facts.small > 0)
    begin.push(
      h(
        "span.mem-small",
        `${counted(facts.small, "buffer")} of up to ${bytes(facts.largest)} drawn as one band · `,
        link("show", () => actions.small(true)),
      ),
    );
  if (!facts.merge)
    begin.push(
      h(
        "span.mem-small",
        "small buffers have bands of their own · ",
        link("draw as one", () => actions.small(false)),
      ),
    );
  const end = [h("span.wide", "sizes in decimal units")];
  if (facts.left > 0)
    end.unshift(
      h(
        "span.mem-left",
        `${counted(facts.left, "smaller buffer")} not drawn, ${bytes(facts.leftBytes)} · `,
        link("zoom in", () => actions.zoomIn()),
      ),
    );
  return [begin, end];
}
