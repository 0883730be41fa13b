/** The right pane of the schedule: one kernel, or why two kernels are two. */
import { nameNodes, plain } from "../../base/ansi.ts";
import { h } from "../../base/dom.ts";
import { clip, count, duration, isOwnFile } from "../../base/format.ts";
import { codeNodes } from "../../base/highlight.ts";
import { runsParams } from "../../state/runs.ts";
import type { KernelWire, ReasonWire, ScheduleWire, WhyWire } from "../../wire/schedule.ts";
import { locationLink } from "../common/location.ts";
import type { Page } from "../registry.ts";

type Go = (kernel: number) => void;

/** What a kernel reads and writes, who made it and who needs it. */
export function kernelSections(
  schedule: ScheduleWire,
  kernel: KernelWire,
  link: (context: number, view: string) => string | null,
  page: Page,
  serial: string,
  go: Go,
  compare: Go,
): HTMLElement[] {
  const own = runsParams({ text: kernel.name, group: "kernels", context: kernel.context });
  const times =
    kernel.runs > 0 &&
    (page.has("timeline")
      ? h("a", { href: page.nav.address("timeline", own) }, count(kernel.runs))
      : count(kernel.runs));
  const code = link(kernel.context, "code");
  const rewrites = link(kernel.context, "rewrites");
  const others = (pick: (one: KernelWire) => number[], buffer: number): KernelWire[] =>
    schedule.kernels.filter((one) => one !== kernel && pick(one).includes(buffer));
  const rows = (title: string, list: number[], pick: (one: KernelWire) => number[], word: string): HTMLElement =>
    h(
      "div.sec",
      h("div.h", h("span.grow", title), h("span.chip", count(list.length))),
      ...list.map((at) => {
        const buffer = schedule.buffers[at]!;
        return h(
          "div.buf",
          h(
            "div.ell",
            h("span.mono.name", clip(buffer.name, 80)),
            " ",
            h("span.dim", `${buffer.dtype}${buffer.elements === null ? "" : ` (${count(buffer.elements)})`}`),
            buffer.own && h("span.faint", " · the program's own"),
          ),
          ...others(pick, at)
            .slice(0, 8)
            .map((other) =>
              h(
                "div.link-row",
                h("span.faint", `${word} `),
                h("button.link.mono", { type: "button", onclick: () => go(other.at) }, clip(plain(other.name), 60)),
                h("span.faint.small", { title: "Its place in the schedule" }, `#${other.at}`),
                h("button.btn.why", { type: "button", onclick: () => compare(other.at) }, "Why two?"),
              ),
            ),
        );
      }),
    );
  return [
    h(
      "div.sec",
      h("div.title.mono.name", ...nameNodes(kernel.name), serial),
      h(
        "dl.kv",
        h("dt", "Order"),
        h("dd", `#${kernel.at} of ${count(schedule.kernels.length)}`),
        times && h("dt", "Total"),
        times && h("dd", { "data-ns": kernel.total }, duration(kernel.total)),
        times && h("dt", "Runs"),
        times && h("dd", times, h("span.faint", ` · mean ${duration(kernel.total / kernel.runs)}`)),
        h("dt", "Computes"),
        h(
          "dd.wrap",
          kernel.ops.length === 0
            ? kernel.kind === "copy"
              ? "a copy"
              : "unknown"
            : clip([...new Set(kernel.ops)].join(", "), 300),
          kernel.members > 0 && h("span.faint", ` · ${count(kernel.members)} nodes of the program's graph`),
        ),
      ),
      h(
        "div.buttons.below",
        code !== null && h("a.btn", { href: code }, "Code"),
        rewrites !== null && h("a.btn", { href: rewrites }, "Rewrites"),
      ),
    ),
    rows("Reads", kernel.reads, (one) => one.writes, "made by"),
    rows("Writes", kernel.writes, (one) => one.reads, "read by"),
  ];
}

const RELATIONS: Record<string, string> = {
  dependent: "One needs the other",
  between: "A third kernel stands between",
  independent: "Independent",
  "other schedule": "Of different schedules",
};

/** The answer to "why are they two?". */
export function whySections(why: WhyWire, schedule: ScheduleWire, page: Page, go: Go): HTMLElement[] {
  const links = (title: string, kernels: number[]): HTMLElement | false =>
    kernels.length > 0 &&
    h(
      "div.below",
      h("div.h", h("span.grow", title)),
      ...kernels.map((at) =>
        h(
          "button.near",
          { type: "button", onclick: () => go(at) },
          h("span.ell.mono.name", plain(schedule.kernels[at]?.name ?? "")),
          h("span.faint", `#${at}`),
        ),
      ),
    );
  return [
    h(
      "div.sec",
      h("div.h", h("span.grow", "Why two kernels"), h("span.chip", RELATIONS[why.relation] ?? why.relation)),
      h(
        "div.pairname",
        h("span.mono.name", ...nameNodes(why.a)),
        h("span.faint", " and "),
        h("span.mono.name", ...nameNodes(why.b)),
      ),
      h("p.answer", sentence(clip(why.sentence, 1200))),
      links("Between them", why.between),
      links("Both read from", why.common),
    ),
    ...why.reasons.map((reason) => reasonSection(reason, page)),
  ];
}

function reasonSection(reason: ReasonWire, page: Page): HTMLElement {
  const match =
    reason.step >= 0 && page.has("rewrites")
      ? page.nav.address("rewrites", {
          step: String(reason.step),
          ...(reason.match > 0 ? { match: String(reason.match) } : {}),
        })
      : null;
  const [, file = "", line = "-1"] = /^(.*):(\d+)$/.exec(reason.userLine) ?? [];
  const program = [
    file !== "" && isOwnFile(file) && locationLink(file, Number(line)),
    ...reason.tensors.map((text) => clip(text, 120)),
  ].filter((part) => part !== false);
  return h(
    "div.sec",
    h(
      "div.h",
      h("span.grow", "Buffer between them"),
      h("span.mono", clip(reason.buffer, 60)),
      h("span.faint", reason.kind),
    ),
    h(
      "div.chain",
      program.length > 0 &&
        h("div", h("b", "Your program"), ...program.slice(0, 8).map((part) => h("div.dim.mono.ell.name", part))),
      reason.node !== "" && h("div", h("b", "What is stored"), h("div.dim.mono.wrap.name", clip(reason.node, 400))),
      h("div.on", h("b", sentence(reason.reason)), h("div.dim.wrap", sentence(reason.text))),
      reason.kept !== "" && h("div", h("b", "Why it stayed"), h("div.dim.wrap", sentence(reason.kept))),
      reason.stepName !== "" &&
        h(
          "div",
          h("b", "Pass"),
          h(
            "div.dim",
            match === null ? reason.stepName : h("a.name", { href: match }, reason.stepName),
            reason.match > 0 && ` › match ${count(reason.match)}`,
          ),
        ),
      reason.file !== "" &&
        h(
          "div",
          h("b", "Rule"),
          h("div.dim.ell", locationLink(reason.file, reason.line)),
          reason.source !== "" && h("div.src", ...codeNodes(clip(reason.source.trim(), 300), "python")),
        ),
    ),
  );
}

function sentence(text: string): string {
  // a kernel's name keeps its letters
  return /^[a-z]+ /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
