/** Small texts that list, pane and tooltips of a tape share. */
import { h } from "../../base/dom.ts";
import type { FamilyColour } from "../../draw/tape_colours.ts";
import type { TapeWire } from "../../wire/tape.ts";

/** Seconds as exact as the tape's clock. */
export function seconds(ns: number, resolution: number): string {
  return (ns / 1e9).toFixed(resolution >= 1e6 ? 3 : 6);
}

/** "Dispatcher → worker_0", or the one place where it happened. */
export function route(tape: TapeWire, source: number, target: number): string {
  const [a, b] = [tape.lanes[source]?.name ?? "", tape.lanes[target]?.name ?? ""];
  return source === target ? a : `${a} → ${b}`;
}

export function swatch(colour: FamilyColour | undefined): HTMLElement {
  const element = h("i.tp-sw");
  if (!colour) return element;
  element.style.background = colour.fill;
  element.style.opacity = String(colour.area);
  if (colour.outline !== null) element.style.boxShadow = `inset 0 0 0 1px ${colour.outline}`;
  return element;
}

/** What a clock of this resolution means for events of one moment. */
export function momentWords(resolution: number): string {
  return resolution >= 1e6
    ? "Events of one millisecond stand above each other in the order of their numbers: their order is known, their time is not."
    : "Events that would hide each other stand above each other in their order.";
}
