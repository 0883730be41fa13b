/** The focused slice: what it is, how fast it was, what it used, where it came from. */
import { nameNodes, plain } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { bufferHandle, bytes, clip, count, counted, duration, isOwnFile } from "../../base/format.ts";
import { moment } from "../../layout/timeline_scale.ts";
import type { Params } from "../../state/place.ts";
import type { LinksWire, SliceWire } from "../../wire/timeline.ts";
import { locationLink } from "../common/location.ts";
import { tip } from "../common/tooltip.ts";
import type { Page } from "../registry.ts";

export interface SliceActions {
  go(row: number): void;
  /** Goes to all that is one kernel, or has one name, with this slice. */
  runs(slice: SliceWire): void;
  close(): void;
}

const RATES: readonly [string, string][] = [
  ["flops", "FLOPS"],
  ["bytes_per_s", "B/s"],
  ["lds_bytes_per_s", "B/s LDS"],
];
const SHOWN = new Set([
  "flops",
  "bytes_per_s",
  "lds_bytes_per_s",
  "location",
  "file",
  "line",
  "step",
  "node",
  "inside",
]);
const MOST = 40;

export function drawSlice(
  host: HTMLElement,
  page: Page,
  slice: SliceWire,
  links: LinksWire | null,
  actions: SliceActions,
): void {
  const rates = RATES.flatMap(([key, unit]) => {
    const value = slice.args[key];
    return typeof value === "number" && value > 0 ? [rate(value, unit)] : [];
  });
  const moved = slice.args["bytes"];
  if (rates.length === 0 && typeof moved === "number" && moved > 0 && slice.dur > 0)
    rates.push(rate((moved * 1e9) / slice.dur, "B/s"));
  const from = fromOf(slice);
  const compiled = slice.contextName !== "" && slice.contextName !== plain(slice.name);
  const step = (row: number, label: string, text: string): HTMLElement =>
    h(
      "button.btn",
      { type: "button", "aria-label": label, title: label, disabled: row < 0, onclick: () => actions.go(row) },
      text,
    );
  const place =
    links && links.of > 1
      ? `${links.rank === 1 ? "longest" : `#${count(links.rank)}`} of ${count(links.of)} on ${slice.trackName}`
      : `on ${slice.trackName}`;
  fill(
    host,
    h(
      "div.h",
      h("span.grow", "Focused slice"),
      step(slice.before, "Slice before", "←"),
      step(slice.after, "Slice after", "→"),
      h(
        "button.btn",
        { type: "button", "aria-label": "Clear focus", title: "Clear focus (Esc)", onclick: () => actions.close() },
        "✕",
      ),
    ),
    tip(h("div.title.mono.name.tl-title", ...nameNodes(slice.name || "no name", 120)), () => plain(slice.name)),
    h(
      "dl.kv",
      h("dt", "Duration"),
      h("dd.tl-duration", { "data-ns": slice.dur }, duration(slice.dur), h("span.faint", ` · ${place}`)),
      h("dt", "Start"),
      h(
        "dd",
        { "data-ns": slice.start },
        tip(h("span", moment(slice.start, slice.dur || undefined)), () => `${count(slice.start)} ns from the begin`),
      ),
      rates.length > 0 && h("dt", "Rate"),
      rates.length > 0 && h("dd", rates.join(" · ")),
      from && h("dt", "From"),
      from && h("dd.ell", from),
      compiled && h("dt", "Compiled"),
      compiled && h("dd.ell.mono.name", slice.contextName),
      ...Object.entries(slice.args)
        .filter(([key]) => !SHOWN.has(key))
        .slice(0, MOST)
        .flatMap(([key, value]) => [
          h("dt.ell.name", clip(key, 40)),
          h(
            "dd.wrap.name",
            clip(
              key === "bytes" && typeof value === "number"
                ? bytes(value)
                : typeof value === "string"
                  ? value
                  : JSON.stringify(value),
              600,
            ),
          ),
        ]),
    ),
    links && links.buffers.length > 0 && bufferTable(page, links),
    links && links.flows.length > 0 && flowList(slice, links, actions),
    h(
      "div.buttons.below",
      slice.context >= 0 &&
        page.has("code") &&
        h("a.btn", { href: page.nav.address("code", { context: String(slice.context) }) }, "Code"),
      slice.context >= 0 &&
        page.has("rewrites") &&
        h("a.btn", { href: page.nav.address("rewrites", graphPlace(slice)) }, "Rewrites"),
      links?.runs !== 1 &&
        h(
          "button.btn",
          { type: "button", onclick: () => actions.runs(slice) },
          links && links.runs > 0 ? `All ${count(links.runs)} runs` : "All runs",
        ),
    ),
    slice.stack.length > 0 &&
      h(
        "details.tl-stack",
        h("summary.faint", `Stack, ${counted(slice.stack.length, "frame")}`),
        ...slice.stack
          .slice(0, MOST)
          .map((line) =>
            h(
              "div",
              locationLink(line.file, line.line),
              h("span.faint", ` in ${called(line.function)}`),
              line.source !== "" && h("div.src.name", line.source),
            ),
          ),
      ),
  );
}

/** Where the graphs of its compilation are; its own node, where the slice is the run of one. */
function graphPlace(slice: SliceWire): Params {
  const { step, node, inside } = slice.args;
  if (typeof step !== "number" || typeof node !== "number") return { context: String(slice.context) };
  return { step: String(step), id: String(node), ...(inside === undefined ? {} : { show: "calls" }) };
}

function fromOf(slice: SliceWire): HTMLElement | null {
  const place = slice.args["location"];
  if (typeof place === "string") {
    const cut = /^(.*):(\d+)$/.exec(place);
    return cut ? h("span", locationLink(cut[1]!, Number(cut[2]))) : h("span.mono.name", place);
  }
  const own = slice.stack.find((line) => isOwnFile(line.file)) ?? slice.stack[0];
  return own ? h("span", locationLink(own.file, own.line), h("span.faint", ` in ${called(own.function)}`)) : null;
}

/** "step()"; what Python itself names, as <module>, is none that is called. */
function called(name: string): string {
  return name.startsWith("<") ? name : `${name}()`;
}

function bufferTable(page: Page, links: LinksWire): HTMLElement {
  return h(
    "table.tl-buffers",
    h("thead", h("tr", h("th", "Buffer"), h("th.bufdev", "Device"), h("th", "Mode"), h("th.num", "Size"))),
    h(
      "tbody",
      ...links.buffers
        .slice(0, MOST)
        .map((buffer) =>
          h(
            "tr",
            h(
              "td.mono",
              h("span", `data${buffer.position} `),
              page.has("memory")
                ? h(
                    "a",
                    { href: page.nav.address("memory", { buffer: String(buffer.id) }) },
                    bufferHandle(buffer.id, links.several),
                  )
                : h("span.faint", bufferHandle(buffer.id, links.several)),
            ),
            h("td.bufdev.dim.name", buffer.device),
            h("td", buffer.mode),
            h("td.num", bytes(buffer.bytes)),
          ),
        ),
    ),
  );
}

function flowList(slice: SliceWire, links: LinksWire, actions: SliceActions): HTMLElement {
  return h(
    "div.tl-flows",
    h("div.h.more", "Flows"),
    ...links.flows.slice(0, 12).map((flow) => {
      const outgoing = flow.from.row === slice.row;
      const other = outgoing ? flow.to : flow.from;
      return h(
        "button.near",
        { type: "button", onclick: () => actions.go(other.row) },
        h("span.num", outgoing ? "→" : "←"),
        h("span.ell.mono.name", clip(other.name, 80)),
        h("span.faint", flow.kind),
        flow.bytes >= 0 && h("span.num.faint", bytes(flow.bytes)),
      );
    }),
  );
}

/** 1.36 TFLOPS */
function rate(value: number, unit: string): string {
  const [scale, prefix] =
    value >= 1e12 ? [1e12, "T"] : value >= 1e9 ? [1e9, "G"] : value >= 1e6 ? [1e6, "M"] : [1e3, "k"];
  return `${(value / scale).toFixed(2)} ${prefix}${unit}`;
}
