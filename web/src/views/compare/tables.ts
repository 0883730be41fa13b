/** The tables of a comparison: kernels, host phases, rules, passes, calls. */
import { h } from "../../base/dom.ts";
import { bytes, count, duration } from "../../base/format.ts";
import { bothNames, change, changeSize, claimed, pWords, totalChange, verdictWords } from "../../data/compare.ts";
import type { CallRowWire, KernelWire, PassCountWire, RuleCountWire, TimeWire } from "../../wire/compare.ts";
import { tip } from "../common/tooltip.ts";
import type { SortColumn } from "./sort_table.ts";

const SIGNS = { added: ["+", "a"], removed: ["−", "r"], changed: ["~", "c"], same: ["=", "s"] } as const;

/** The sign of a kernel's state. */
export function stateSign(kernel: KernelWire): HTMLElement {
  const [sign, style] = SIGNS[kernel.state];
  const words = kernel.state === "same" ? (kernel.coded ? "the same code" : "the same name; no code") : kernel.state;
  return h(`span.pm.${style}`, { title: words }, sign);
}

function tone(time: TimeWire | null): string {
  if (time?.verdict === "faster" || time?.verdict === "slower") return `.${time.verdict}`;
  return time && time.tested && time.verdict === "same" ? ".faint" : ".dim";
}

/** A bar to the left or right of the middle, as long as the change is large. */
function changeBar(delta: number, most: number, time: TimeWire | null): Node {
  const share = most > 0 ? Math.min(1, Math.abs(delta) / most) : 0;
  const bar = h(
    `i.bar${delta < 0 ? ".less" : ""}${time && (time.verdict === "faster" || time.verdict === "slower") ? `.${time.verdict}` : ""}`,
  );
  bar.style.width = `${(share * 50).toFixed(1)}%`;
  return h("span.change-bar", { "aria-hidden": "true" }, share > 0.004 ? bar : null);
}

export function kernelColumns(kernels: readonly KernelWire[]): SortColumn<KernelWire>[] {
  const most = Math.max(0, ...kernels.map((kernel) => Math.abs(totalChange(kernel))));
  const median = (time: TimeWire | null, side: "A" | "B"): Node | string => {
    const runs = side === "A" ? time?.nA : time?.nB;
    if (!time || !runs) return h("span.faint", "none");
    const [low, high] = (side === "A" ? time.intervalA : time.intervalB) ?? [0, 0];
    const cell = h("span", duration(side === "A" ? time.medianA : time.medianB));
    return high > 0 ? tip(cell, () => `95% between ${duration(low)} and ${duration(high)}`) : cell;
  };
  return [
    { id: "state", title: "", value: (row) => "cars".indexOf(SIGNS[row.state][1]) * -1, cell: stateSign },
    {
      id: "name",
      title: "Kernel",
      value: (row) => row.name,
      cell: (row) =>
        h(
          "span.mono.ell",
          { title: `${row.place}\nmatched by ${row.how || "nothing"}` },
          bothNames(row.a, row.b),
          row.kind === "kernel" ? null : h("span.faint", ` ${row.kind}`),
        ),
    },
    { id: "a", title: "A", num: true, value: (row) => row.time?.medianA ?? 0, cell: (row) => median(row.time, "A") },
    { id: "b", title: "B", num: true, value: (row) => row.time?.medianB ?? 0, cell: (row) => median(row.time, "B") },
    {
      id: "total",
      title: "Change of all runs",
      wide: true,
      value: (row) => Math.abs(totalChange(row)),
      cell: (row) => changeBar(totalChange(row), most, row.time),
    },
    {
      id: "change",
      title: "Change",
      num: true,
      value: (row) => (row.time && row.time.nA && row.time.nB ? changeSize(row.time.medianA, row.time.medianB) : -1),
      cell: (row) =>
        h(
          `span${tone(row.time)}`,
          row.time && row.time.nA && row.time.nB ? change(row.time.medianA, row.time.medianB) : "",
        ),
    },
    {
      id: "runs",
      title: "Runs A, B",
      num: true,
      wide: true,
      value: (row) => Math.abs(row.launchesA - row.launchesB),
      cell: (row) => h(`span${row.uneven ? "" : ".dim"}`, `${count(row.launchesA)}, ${count(row.launchesB)}`),
    },
    {
      id: "p",
      title: "p",
      num: true,
      wide: true,
      value: (row) => -(row.time?.p ?? 2),
      cell: (row) => h("span.dim", pWords(row.time?.p ?? null)),
    },
    {
      id: "verdict",
      title: "Verdict",
      value: (row) => (claimed(row) ? 1 : 0),
      cell: (row) => h(`span${tone(row.time)}`, kernelVerdict(row)),
    },
  ];
}

function kernelVerdict(row: KernelWire): string {
  if (row.state === "added") return "new";
  if (row.state === "removed") return "gone";
  return verdictWords(row.time);
}

/** "+1.5 ms": how much longer B took. */
function difference(a: number, b: number): string {
  return `${b < a ? "−" : "+"}${duration(Math.abs(b - a))}`;
}

function phaseName(row: TimeWire): string {
  return row.nA && row.nB ? bothNames(row.name, row.nameB) : row.nA ? row.name : row.nameB;
}

export function timeColumns(): SortColumn<TimeWire>[] {
  return [
    { id: "name", title: "Phase", value: (row) => row.name, cell: (row) => h("span.mono.ell", phaseName(row)) },
    { id: "group", title: "Where", wide: true, value: (row) => row.group, cell: (row) => h("span.dim", row.group) },
    {
      id: "a",
      title: "A",
      num: true,
      value: (row) => row.medianA,
      cell: (row) => (row.nA ? duration(row.medianA) : h("span.faint", "none")),
    },
    {
      id: "b",
      title: "B",
      num: true,
      value: (row) => row.medianB,
      cell: (row) => (row.nB ? duration(row.medianB) : h("span.faint", "none")),
    },
    {
      id: "total",
      title: "All runs",
      num: true,
      value: (row) => Math.abs(row.totalB - row.totalA),
      cell: (row) => difference(row.totalA, row.totalB),
    },
    {
      id: "change",
      title: "Change",
      num: true,
      value: (row) => (row.nA && row.nB ? changeSize(row.medianA, row.medianB) : -1),
      cell: (row) => h(`span${tone(row)}`, row.nA && row.nB ? change(row.medianA, row.medianB) : ""),
    },
    {
      id: "runs",
      title: "Runs A, B",
      num: true,
      wide: true,
      value: (row) => row.nA + row.nB,
      cell: (row) => h("span.dim", `${count(row.nA)}, ${count(row.nB)}`),
    },
    {
      id: "p",
      title: "p",
      num: true,
      wide: true,
      value: (row) => -(row.p ?? 2),
      cell: (row) => h("span.dim", pWords(row.p)),
    },
    { id: "verdict", title: "Verdict", cell: (row) => h(`span${tone(row)}`, verdictWords(row)) },
  ];
}

export function ruleColumns(): SortColumn<RuleCountWire>[] {
  return [
    { id: "rule", title: "Rule", value: (row) => row.rule, cell: (row) => h("span.mono.ell", row.rule) },
    { id: "a", title: "A", num: true, value: (row) => row.a, cell: (row) => count(row.a) },
    { id: "b", title: "B", num: true, value: (row) => row.b, cell: (row) => count(row.b) },
    {
      id: "total",
      title: "Change",
      num: true,
      value: (row) => Math.abs(row.b - row.a),
      cell: (row) => `${row.b < row.a ? "−" : "+"}${count(Math.abs(row.b - row.a))}`,
    },
    {
      id: "text",
      title: "Source",
      cell: (row) =>
        row.edited
          ? h("span.mono.ell", { title: `− ${row.text_a}\n+ ${row.text_b}` }, h("span.pm.c", "~"), " ", row.text_b)
          : h("span.mono.ell.dim", { title: row.text_a || row.text_b }, row.text_a || row.text_b),
    },
  ];
}

export function passColumns(): SortColumn<PassCountWire>[] {
  const both = (a: number, b: number): Node =>
    h(`span${a === b ? ".dim" : ""}`, a === b ? count(a) : `${count(a)} → ${count(b)}`);
  return [
    { id: "name", title: "Pass", value: (row) => row.name, cell: (row) => h("span.ell", row.name) },
    { id: "a", title: "A", num: true, value: (row) => row.ns_a, cell: (row) => duration(row.ns_a) },
    { id: "b", title: "B", num: true, value: (row) => row.ns_b, cell: (row) => duration(row.ns_b) },
    {
      id: "total",
      title: "Difference",
      num: true,
      value: (row) => Math.abs(row.ns_b - row.ns_a),
      cell: (row) => difference(row.ns_a, row.ns_b),
    },
    {
      id: "change",
      title: "Change",
      num: true,
      value: (row) => changeSize(row.ns_a, row.ns_b),
      cell: (row) => h("span.dim", change(row.ns_a, row.ns_b)),
    },
    {
      id: "steps",
      title: "Steps",
      num: true,
      value: (row) => Math.abs(row.steps_a - row.steps_b),
      cell: (row) => both(row.steps_a, row.steps_b),
    },
    {
      id: "matches",
      title: "Matches",
      num: true,
      value: (row) => Math.abs(row.matches_a - row.matches_b),
      cell: (row) => both(row.matches_a, row.matches_b),
    },
  ];
}

/** Columns of the call trees of both; `open` says whether what a row calls is shown, null where it calls nothing. */
export function callColumns(open: (row: CallRowWire) => boolean | null): SortColumn<CallRowWire>[] {
  const called = (row: CallRowWire): string =>
    row.calls_a && row.calls_b ? bothNames(row.name, row.name_b) : row.calls_a ? row.name : row.name_b;
  return [
    {
      id: "name",
      title: "Function",
      value: called,
      cell: (row) => {
        const twisty = h("span.tw", { "aria-hidden": "true" }, open(row) === null ? "" : open(row) ? "▾" : "▸");
        const cell = h("span.mono.ell", { title: called(row) }, twisty, called(row));
        cell.style.paddingLeft = `${row.depth * 14}px`;
        return cell;
      },
    },
    {
      id: "a",
      title: "A",
      num: true,
      value: (row) => row.total_a,
      cell: (row) => (row.calls_a ? duration(row.total_a) : h("span.faint", "none")),
    },
    {
      id: "b",
      title: "B",
      num: true,
      value: (row) => row.total_b,
      cell: (row) => (row.calls_b ? duration(row.total_b) : h("span.faint", "none")),
    },
    {
      id: "total",
      title: "Difference",
      num: true,
      value: (row) => Math.abs(row.total_b - row.total_a),
      cell: (row) => difference(row.total_a, row.total_b),
    },
    {
      id: "self",
      title: "Self",
      num: true,
      wide: true,
      value: (row) => Math.abs(row.self_b - row.self_a),
      cell: (row) => h("span.dim", difference(row.self_a, row.self_b)),
    },
    {
      id: "calls",
      title: "Calls A, B",
      num: true,
      wide: true,
      value: (row) => row.calls_a + row.calls_b,
      cell: (row) =>
        h(`span${row.calls_a === row.calls_b ? ".dim" : ""}`, `${count(row.calls_a)}, ${count(row.calls_b)}`),
    },
  ];
}

/** What a figure of the counts reads as. */
export function figure(name: string, value: number): string {
  return name === "bytes" ? bytes(value) : count(Math.round(value));
}
