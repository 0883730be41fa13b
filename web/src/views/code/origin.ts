/** The chain from the user's program to a kernel: the line, the tensor operations, the schedule. */
import { runsParams } from "../../state/runs.ts";
import { plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { clip, count, counted, duration, isOwnFile, percent } from "../../base/format.ts";
import { codeNodes } from "../../base/highlight.ts";
import type { ContextWire } from "../../wire/capture.ts";
import type { OriginWire, PlaceOfOrigin, RunsWire } from "../../wire/code.ts";
import { locationLink } from "../common/location.ts";
import { failure } from "../common/states.ts";
import type { Page } from "../registry.ts";

const MOST_OPERATIONS = 40;
const MOST_PLACES = 12;
const MOST_SCHEDULES = 6;

/** Fills itself when the server has answered. */
export function originSections(page: Page, context: ContextWire): HTMLElement {
  const host = h("div", chain(page, context, []));
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
  return host;
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
    ...origin.operations.slice(0, MOST_OPERATIONS).map((made) => {
      const [file, line] = splitPlace(made.line);
      return h(
        "div",
        h(
          "div.dim.ell",
          file !== "" && locationLink(file, line),
          file !== "" && " in ",
          h("span.mono.name", clip(made.name, 80)),
          made.nodes > 1 && h("span.faint", ` ${counted(made.nodes, "node")}`),
        ),
        sourceLine(made.source),
      );
    }),
    origin.operations.length > MOST_OPERATIONS &&
      h("div.faint", `and ${count(origin.operations.length - MOST_OPERATIONS)} more`),
  );
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
