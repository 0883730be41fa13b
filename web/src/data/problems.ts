/** The problems of a capture as they are listed: filtered, sorted, in groups, without those that were muted. */
import { bytes, duration, location } from "../base/format.ts";
import type { ProblemWire } from "../wire/problems.ts";

/** Of each kind what it is called, one of it, and what it means. */
export const KINDS: Record<string, readonly [string, string, string]> = {
  break: ["Graph breaks", "Graph break", "each splits the program in two graphs"],
  recompile: ["Recompilations", "Recompilation", "what was compiled did not fit, so it was compiled again"],
  specialization: ["Specialisations", "Specialisation", "a value that may vary was taken as a constant"],
  fallback: ["Fallbacks", "Fallback", "what runs outside of the compiled code"],
  copy: ["Copies", "Copy", "which passes put in, of values in another layout or still needed"],
  memory: ["Memory at the peak", "Memory at the peak", "by line of the program"],
  buffer: ["Largest buffers", "Large buffer", "of each module"],
  slow: ["Slow phases", "Slow phase", "longer than 0.5 s by themselves"],
};

export type Order = "cost" | "time" | "place";

/** A row of the list: the head of a kind with how many there are, or a problem. */
export type Row = { head: string; count: number } | { problem: ProblemWire };

export interface Choice {
  q: string;
  order: Order;
  /** Empty for all, "own" for lines of the program, "library" for the others. */
  who: string;
  muted: ReadonlySet<string>;
  /** Whether those that were muted are listed too. */
  all: boolean;
}

/** What is muted at once: every problem of that kind at that place. */
export function muteKey(problem: ProblemWire): string {
  return [problem.kind, problem.file, problem.line, problem.file === "" ? problem.title : ""].join("|");
}

export function words(problem: ProblemWire): string {
  const { title, reason, contextName, group, file, line, kind, function: name } = problem;
  return [title, reason, contextName, group, location(file, line), kind, name].join(" ").toLowerCase();
}

/** The rows that are listed, and how many problems were left out because they are muted. */
export function listed(problems: readonly ProblemWire[], choice: Choice): { rows: Row[]; hidden: number } {
  const wanted = choice.q.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = problems.filter(
    (one) =>
      (choice.who === "" || one.own === (choice.who === "own")) && wanted.every((word) => words(one).includes(word)),
  );
  const shown = choice.all ? fits : fits.filter((one) => !choice.muted.has(muteKey(one)));
  const rows: Row[] = [];
  const kinds = [...new Set([...Object.keys(KINDS), ...shown.map((one) => one.kind)])];
  for (const kind of kinds) {
    const own = shown.filter((one) => one.kind === kind);
    if (own.length === 0) continue;
    rows.push({ head: kind, count: own.length }, ...own.sort(by(choice.order)).map((problem) => ({ problem })));
  }
  return { rows, hidden: fits.length - shown.length };
}

function by(order: Order): (a: ProblemWire, b: ProblemWire) => number {
  if (order === "time") return (a, b) => a.time - b.time;
  if (order === "place") return (a, b) => a.file.localeCompare(b.file) || a.line - b.line;
  return (a, b) => b.cost - a.cost || b.bytes - a.bytes;
}

/** What a problem costs: its time or its memory; empty when neither is known. */
export function costText(problem: ProblemWire): string {
  if (problem.cost >= 0) return duration(problem.cost);
  return problem.bytes >= 0 ? bytes(problem.bytes) : "";
}

/** The list as text, to send around. */
export function report(rows: readonly Row[], compilations: number): string {
  const lines: string[] = [];
  for (const row of rows) {
    if ("head" in row) {
      lines.push(`${lines.length > 0 ? "\n" : ""}${KINDS[row.head]?.[0] ?? row.head}: ${row.count}`);
      continue;
    }
    const { problem } = row;
    const cost = problem.cost >= 0 || problem.bytes >= 0 ? `, ${costText(problem)}` : "";
    lines.push(`- ${problem.title} at ${place(problem)} (${problem.id})${cost}`, `  ${problem.reason}`);
    for (const hint of problem.hint.split("\n").filter(Boolean)) lines.push(`  hint: ${hint}`);
  }
  return `${lines.join("\n")}\n\nin ${compilations} compilations\n`;
}

function place(problem: ProblemWire): string {
  return problem.file === "" ? "an unknown place" : `${problem.file}:${problem.line}`;
}
