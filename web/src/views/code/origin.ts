/** The chain from the user's program to a kernel: the line, the tensor operations, the schedule. */
import { runsParams } from "../../state/runs.ts";
import { plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { clip, count, counted, duration, isOwnFile, percent } from "../../base/format.ts";
import { codeNodes } from "../../base/highlight.ts";
import type { ContextWire, LinkWire } from "../../wire/capture.ts";
import type { OriginWire, PlaceOfOrigin, RunsWire } from "../../wire/code.ts";
import { locationLink } from "../common/location.ts";
import { failure } from "../common/states.ts";
import type { Page } from "../registry.ts";

const MOST_OPERATIONS = 40;
const MOST_PLACES = 12;
const MOST_SCHEDULES = 6;
const MOST_INSTRUCTIONS = 24;
/** What the instructions of a kernel are to it. */
const INSTRUCTIONS: Partial<Record<LinkWire["stage"], string>> = {
  instruction: "runs as",
  traced: "computes",
  fused: "inside the fusion",
};

/** Fills itself when the server has answered. */
export function originSections(page: Page, context: ContextWire): HTMLElement {
  const host = h("div", chain(page, context, []));
  const inside = h("div");
  page.client.once<LinkWire[]>(`contexts/${context.id}/instructions`).then(
    (links) => fill(inside, instructionSection(page, links)),
    () => undefined,
  );
  const ask = (): Promise<void> =>
    page.client.once<OriginWire>(`contexts/${context.id}/origin`).then(
      ({ origins }) => {
        fill(host, chain(page, context, []));
        if (origins.length === 0) return;
        // places that the same line of the program led to, by the same operations, are one chain
        const chains = [...Map.groupBy(origins, (one) => JSON.stringify([one.realizedAt, one.operations])).values()];
        fill(
          host,
          ...chains.slice(0, MOST_PLACES).map((places) => chain(page, context, places)),
          chains.length > MOST_PLACES &&
            h("p.none", `${count(chains.length - MOST_PLACES)} more lines of the program led to it.`),
        );
      },
      (error: unknown) =>
        fill(
          host,
          chain(page, context, []),
          failure(error, () => void ask()),
        ),
    );
  void ask();
  return h("div", host, inside);
}

/** The kernel in the graphs of its compilation, each instruction a link to its box. */
function instructionSection(page: Page, links: readonly LinkWire[]): HTMLElement | null {
  if (links.length === 0 || !page.has("rewrites")) return null;
  const box = (link: LinkWire): HTMLElement =>
    h(
      "a.mono.name",
      {
        href: page.nav.address("rewrites", {
          step: String(link.step),
          match: String(link.match),
          node: String(link.identity),
        }),
        title: `${link.name} ${link.op}`.trim(),
      },
      clip(link.name, 80),
    );
  const rows = Object.entries(INSTRUCTIONS).flatMap(([stage, title]) => {
    const own = links.filter((link) => link.stage === stage);
    if (own.length === 0) return [];
    const shown = own.slice(0, MOST_INSTRUCTIONS).flatMap((link, at) => [at > 0 ? ", " : "", box(link)]);
    const left = own.length - MOST_INSTRUCTIONS;
    return [h("dt", title), h("dd", { "data-stage": stage }, ...shown, left > 0 && `, and ${count(left)} more`)];
  });
  return h("div.sec", h("div.h", "Instructions"), h("dl.kv.instructions", ...rows));
}

/** How often the kernel ran, when somebody counted, and what else there is to say about it. */
export function runsSection(page: Page, context: ContextWire, rest: Node[]): HTMLElement {
  const list = h("dl.kv", ...rest);
  page.client.once<RunsWire>(`contexts/${context.id}/runs`).then(
    ({ count: runs, total, all }) => {
      if (runs <= 0) return;
      const name = plain(context.name);
      const times = page.has("timeline")
        ? h(
            "a",
            { href: page.nav.address("timeline", runsParams({ text: name, group: "kernels", context: context.id })) },
            count(runs),
          )
        : count(runs);
      const share = percent(total, all);
      list.prepend(
        h("dt", "Total"),
        h("dd", duration(total), share !== "" && h("span.faint", ` · ${share} of kernels`)),
        h("dt", "Runs"),
        h("dd", times, h("span.faint", ` · mean ${duration(total / runs)}`)),
      );
    },
    () => undefined,
  );
  return h("div.sec", h("div.h", "Runs"), list);
}

function chain(page: Page, context: ContextWire, places: PlaceOfOrigin[]): HTMLElement {
  const first = places[0] ?? null;
  return h(
    "div.sec",
    h(
      "div.chain",
      programPart(context, first),
      operations(first),
      schedulePart(page, places),
      h("div.on", h("b", "This kernel"), h("div.dim.mono.ell.name", clip(plain(context.name), 80))),
    ),
  );
}

/** The user's line that had the kernel made; null when it is not known. */
export function programPart(context: ContextWire, origin: PlaceOfOrigin | null): HTMLElement | null {
  const [file, line] = splitPlace(origin?.realizedAt ?? null);
  const frame = context.stack.find((one) => isOwnFile(one.file));
  if (file !== "" && isOwnFile(file)) {
    return h(
      "div",
      h("b", "Your program"),
      h("div.dim.ell", locationLink(file, line)),
      sourceLine(origin?.realizedSource ?? null),
    );
  }
  if (!frame) return null;
  return h(
    "div",
    h("b", "Your program"),
    h("div.dim.ell", locationLink(frame.file, frame.line), " in ", h("span.mono", clip(frame.function, 80))),
    sourceLine(frame.source),
  );
}

function operations(origin: PlaceOfOrigin | null): HTMLElement | null {
  if (!origin || origin.operations.length === 0) return null;
  return h(
    "div",
    h("b", "Tensor operations"),
    ...[...Map.groupBy(origin.operations.slice(0, MOST_OPERATIONS), (made) => made.line).values()].map(ofOneLine),
    origin.operations.length > MOST_OPERATIONS &&
      h("div.faint", `and ${count(origin.operations.length - MOST_OPERATIONS)} more`),
  );
}

/** What one line of the program asked for: a line each once it is more than one operation, since names may be long. */
function ofOneLine(made: PlaceOfOrigin["operations"]): HTMLElement {
  const [file, line] = splitPlace(made[0]!.line);
  const place = file === "" ? null : locationLink(file, line);
  const names = made.map(({ name, nodes }) => [
    h("span.mono.name", clip(name, 80)),
    nodes > 1 && h("span.faint", ` ${counted(nodes, "node")}`),
  ]);
  const source = sourceLine(made[0]!.source);
  if (names.length === 1) return h("div", h("div.dim.ell", place, place !== null && " in ", ...names[0]!), source);
  return h("div", h("div.dim.ell", place), source, ...names.map((parts) => h("div.dim.wrap", ...parts)));
}

/** The schedules that run the kernel, each a link to it; null when none is known. */
export function schedulePart(page: Page, origins: PlaceOfOrigin[]): HTMLElement | null {
  const places = origins.filter((one) => one.schedule >= 0);
  if (places.length === 0) return null;
  const rest = places.length - MOST_SCHEDULES;
  return h(
    "div",
    h("b", "Schedule"),
    ...places
      .slice(0, MOST_SCHEDULES)
      .map((one, at) =>
        h(
          at === 0 ? "div.dim" : "div.faint",
          at === 0 ? "in " : "also in ",
          scheduleLink(page, one),
          `, kernel #${one.kernel}`,
        ),
      ),
    rest > 0 && h("div.faint", `and at ${counted(rest, "more place")}`),
  );
}

/** The schedule by name, as a link to the kernel in it. */
function scheduleLink(page: Page, origin: PlaceOfOrigin): HTMLElement {
  const there = page.has("schedule")
    ? page.nav.address("schedule", { context: String(origin.schedule), a: String(origin.kernel) })
    : page.nav.address("rewrites", { context: String(origin.schedule) });
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
