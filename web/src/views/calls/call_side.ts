/** The chosen function: here and in all places, what its time is made of, who calls it, its longest slices. */
import { nameNodes } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration, isOwnFile, percent } from "../../base/format.ts";
import type { Amount, CallModel, Palette } from "../../data/calls.ts";
import type { ContextWire } from "../../wire/capture.ts";
import type { CallSlicesWire } from "../../wire/calls.ts";
import { bothEnds } from "../common/both_ends.ts";
import { locationLink } from "../common/location.ts";
import { tip } from "../common/tooltip.ts";
import type { Page } from "../registry.ts";

const PARTS = 9;

export interface ChosenCall {
  model: CallModel;
  palette: Palette;
  node: number;
  /** Goes to a node of the tree. */
  go: (node: number) => void;
  timeline: string | null;
  code: string | null;
}

export function drawCallSide(
  host: HTMLElement,
  page: Page,
  chosen: ChosenCall,
  slices: CallSlicesWire | null,
  context: ContextWire | null,
): void {
  const { model, node } = chosen;
  const { wire } = model;
  const number = wire.function[node]!;
  const all = wire.functions;
  const top = model.name(0);
  const [file, line] = fileAndLine(model.place(node));
  // the line of the program, unless it is the place itself
  const own = context?.stack.find((frame) => isOwnFile(frame.file)) ?? context?.stack[0];
  const asked = own && (own.file !== file || own.line !== line) ? own : undefined;
  const elsewhere = number >= 0 && all.count[number]! !== wire.count[node]!;
  const extra = (text: string): HTMLElement | false => elsewhere && h("span.faint", ` · ${text} in all places`);
  fill(
    host,
    h(
      "div.bar",
      h("b", "Function"),
      h("span.grow"),
      chosen.timeline && h("a.btn", { href: chosen.timeline }, "Slices ", h("kbd", "T")),
      chosen.code && h("a.btn", { href: chosen.code }, "Code ", h("kbd", "C")),
    ),
    h(
      "div.scroll",
      h(
        "div.sec",
        h("div.title.mono.name.top-title", ...nameNodes(model.name(node), 400)),
        h(
          "dl.kv",
          !model.inverted && h("dt", "Total here"),
          !model.inverted &&
            h(
              "dd",
              { "data-ns": wire.total[node]! },
              duration(wire.total[node]!),
              node > 0 && h("span.faint", ` · ${percent(wire.total[node]!, model.weight(0))} of ${top}`),
            ),
          h("dt", model.inverted ? "Self" : "Self here"),
          h(
            "dd",
            { "data-self": wire.self[node]! },
            duration(wire.self[node]!),
            !model.inverted && number >= 0 && extra(duration(all.self[number]!)),
          ),
          h("dt", "Calls"),
          h("dd", count(wire.count[node]!), !model.inverted && number >= 0 && extra(count(all.count[number]!))),
          file !== "" && h("dt", "Place"),
          file !== "" && h("dd.ell", locationLink(file, line)),
          asked && h("dt", "Asked for"),
          asked && h("dd.ell", locationLink(asked.file, asked.line), h("span.faint", ` ${asked.source}`)),
        ),
      ),
      amounts(chosen, model.inverted ? "Callers" : "Where the time goes", "", model.parts(node)),
      !model.inverted && number >= 0 && amounts(chosen, "Called by", "its self", model.callers(node)),
      slices &&
        slices.slices.length > 0 &&
        h(
          "div.sec",
          h(
            "div.h",
            h("span.grow", `Longest of ${counted(number >= 0 ? all.count[number]! : wire.count[node]!, "slice")}`),
            chosen.timeline && h("a.plainw", { href: chosen.timeline }, "all in the timeline"),
          ),
          ...slices.slices.map((slice) =>
            h(
              "a.row.call-slice",
              { href: page.nav.address("timeline", { slice: String(slice.row) }) },
              h("span.ell.name", `at ${duration(slice.start)}${wire.thread === "*" ? ` on ${slice.thread}` : ""}`),
              h("span.num", duration(slice.dur)),
            ),
          ),
        ),
    ),
  );
}

/** A place's file and line, -1 when it has none. */
export function fileAndLine(place: string): [string, number] {
  const found = /^(.*):(\d{1,9})$/.exec(place);
  return found ? [found[1]!, Number(found[2])] : [place, -1];
}

function amounts(chosen: ChosenCall, title: string, note: string, parts: Amount[]): HTMLElement | false {
  if (parts.length === 0) return false;
  const { model, palette } = chosen;
  const most = Math.max(1, parts[0]!.time);
  return h(
    "div.sec",
    h("div.h", h("span.grow", title), note !== "" && h("span.faint.plainw", note)),
    ...parts.slice(0, PARTS).map((part) => {
      const bar = h("i");
      bar.style.width = `${((100 * part.time) / most).toFixed(1)}%`;
      const number = part.node < 0 ? -1 : model.wire.function[part.node]!;
      const colour = number < 0 ? 0 : (palette.colour[number] ?? 0);
      bar.style.background = colour === 0 ? "var(--fg-3)" : `var(--cat-${colour})`;
      const row = [
        tip(part.node < 0 ? h("span.ell.name", part.name) : bothEnds("span.mono", part.name), () => part.name),
        h("span.meter", bar),
        h("span.num", duration(part.time)),
      ];
      return part.node <= 0
        ? h("div.call-part", ...row)
        : h("button.call-part", { type: "button", onclick: () => chosen.go(part.node) }, ...row);
    }),
    parts.length > PARTS && h("p.faint.call-more", `${count(parts.length - PARTS)} more in the tree`),
  );
}
