/** The chain from the user's program to a kernel: the line, the tensor operations, the schedule. */
import { plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { clip, count, counted, duration, isOwnFile, percent } from "../../base/format.ts";
import { codeNodes } from "../../base/highlight.ts";
import type { ContextWire } from "../../wire/capture.ts";
import type { OriginWire, PlaceOfOrigin, RunsWire } from "../../wire/code.ts";
import { locationLink } from "../common/location.ts";
import type { Page } from "../registry.ts";

const MOST_OPERATIONS = 40;
const MOST_PLACES = 12;

/** Fills itself when the server has answered. */
export function originSections(page: Page, context: ContextWire): HTMLElement {
  const host = h("div", chain(page, context, null));
  page.client.once<OriginWire>(`contexts/${context.id}/origin`).then(
    ({ origins }) => {
      if (origins.length === 0) return;
      fill(host, ...origins.slice(0, MOST_PLACES).map((origin) => chain(page, context, origin)),
        origins.length > MOST_PLACES && h("p.none", `${count(origins.length - MOST_PLACES)} more places run this kernel.`));
    },
    () => undefined,
  );
  return host;
}

/** How often the kernel ran, when somebody counted, and what else there is to say about it. */
export function runsSection(page: Page, context: ContextWire, rest: Node[]): HTMLElement {
  const list = h("dl.kv", ...rest);
  page.client.once<RunsWire>(`contexts/${context.id}/runs`).then(
    ({ count: runs, total, all }) => {
      if (runs <= 0) return;
      const name = plain(context.name);
      const times = page.has("timeline") ? h("a", { href: page.nav.address("timeline", { find: name }) }, count(runs)) : count(runs);
      const share = percent(total, all);
      list.prepend(h("dt", "Total"), h("dd", duration(total), share !== "" && h("span.faint", ` · ${share} of kernels`)), h("dt", "Runs"), h("dd", times, h("span.faint", ` · mean ${duration(total / runs)}`)));
    },
    () => undefined,
  );
  return h("div.sec", h("div.h", "Runs"), list);
}

function chain(page: Page, context: ContextWire, origin: PlaceOfOrigin | null): HTMLElement {
  return h("div.sec", h("div.chain", programPart(context, origin), operations(origin), schedule(page, origin), h("div.on", h("b", "This kernel"), h("div.dim.mono.ell.name", clip(plain(context.name), 80)))));
}

/** The user's line that had the kernel made; null when it is not known. */
export function programPart(context: ContextWire, origin: PlaceOfOrigin | null): HTMLElement | null {
  const [file, line] = splitPlace(origin?.realizedAt ?? null);
  const frame = context.stack.find((one) => isOwnFile(one.file));
  if (file !== "" && isOwnFile(file)) {
    return h("div", h("b", "Your program"), h("div.dim.ell", locationLink(file, line)), sourceLine(origin?.realizedSource ?? null));
  }
  if (!frame) return null;
  return h("div", h("b", "Your program"), h("div.dim.ell", locationLink(frame.file, frame.line), " in ", h("span.mono", clip(frame.function, 80))), sourceLine(frame.source));
}

function operations(origin: PlaceOfOrigin | null): HTMLElement | null {
  if (!origin || origin.operations.length === 0) return null;
  return h(
    "div", h("b", "Tensor operations"),
    ...origin.operations.slice(0, MOST_OPERATIONS).map((made) => {
      const [file, line] = splitPlace(made.line);
      return h("div", h("div.dim.ell", h("span.mono.name", clip(made.name, 80)), " ", file !== "" && locationLink(file, line), made.nodes > 1 && h("span.faint", ` ${counted(made.nodes, "node")}`)), sourceLine(made.source));
    }),
    origin.operations.length > MOST_OPERATIONS && h("div.faint", `and ${count(origin.operations.length - MOST_OPERATIONS)} more`),
  );
}

function schedule(page: Page, origin: PlaceOfOrigin | null): HTMLElement | null {
  if (!origin) return null;
  return h("div", h("b", "Schedule"), h("div.dim", `kernel ${count(origin.kernel + 1)} of `, scheduleLink(page, origin)));
}

/** The schedule by name, as a link to the kernel in it. */
export function scheduleLink(page: Page, origin: PlaceOfOrigin): HTMLElement {
  const there = page.has("schedule") ? page.nav.address("schedule", { context: String(origin.schedule), a: String(origin.kernel) }) : page.nav.address("rewrites", { context: String(origin.schedule) });
  return h("a.name", { href: there }, clip(origin.scheduleName, 120));
}

/** A line of the program in a box; nothing for an empty one. */
export function sourceLine(text: string | null): HTMLElement | null {
  return text === null || text.trim() === "" ? null : h("div.src", ...codeNodes(clip(text.trim(), 300), "python"));
}

/** "file:line" in its parts. */
export function splitPlace(place: string | null): [string, number] {
  const found = /^(.*):(\d+)$/.exec(place ?? "");
  return found ? [found[1]!, Number(found[2])] : ["", -1];
}
