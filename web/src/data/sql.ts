/** What is known about a query without asking the server: its history, how its answer is written, where a row leads. */
import type { SqlCell, SqlWire } from "../wire/sql.ts";

/** A query that was asked, newest first in a history. */
export interface Asked {
  sql: string;
  name: string;
  /** "3,214 rows · 41.8 ms", or what was wrong. */
  note: string;
  failed: boolean;
}

const MOST = 60;

/** A history with one more question in it: asked again, it moves to the front and keeps its name. */
export function remember(history: readonly Asked[], asked: Asked): Asked[] {
  const before = history.find((one) => one.sql === asked.sql);
  const name = asked.name || before?.name || "";
  const rest = history.filter((one) => one.sql !== asked.sql);
  const kept = [{ ...asked, name }, ...rest];
  if (kept.length <= MOST) return kept;
  // what has a name is not pushed out by what has none
  const last = kept.findLastIndex((one) => one.name === "");
  return kept.filter((_, at) => at !== (last < 1 ? kept.length - 1 : last));
}

/** A history out of storage; whatever is not one is nothing. */
export function readHistory(text: string): Asked[] {
  try {
    const value = JSON.parse(text) as unknown;
    return Array.isArray(value) ? value.filter(isAsked).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

function isAsked(value: unknown): value is Asked {
  if (typeof value !== "object" || value === null) return false;
  const { sql, name, note, failed } = value as Record<string, unknown>;
  return typeof sql === "string" && typeof name === "string" && typeof note === "string" && typeof failed === "boolean";
}

const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|DOUBLE|FLOAT|DECIMAL(\(.*\))?|NUMBER)$/i;

/** Whether a column of that SQL type holds numbers, which stand at the right. */
export function isNumeric(type: string): boolean {
  return NUMBERS.test(type);
}

const KEYS = new Set(
  "id track parent context step node root before after slice buffer correlation from to a b rank line ordinal".split(
    " ",
  ),
);

/** A cell as it is read; digits of whole numbers in threes, as everywhere, but of what goes into the next query. */
export function cellText(value: SqlCell | undefined, column = ""): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "number") {
    if (Number.isInteger(value)) return KEYS.has(column) ? String(value) : value.toLocaleString("en-US");
    const size = Math.abs(value);
    return size !== 0 && (size < 1e-4 || size >= 1e15) ? String(value) : value.toLocaleString("en-US", DIGITS);
  }
  return String(value);
}

const DIGITS: Intl.NumberFormatOptions = { maximumSignificantDigits: 9 };

/** The rows that are here as comma-separated values. */
export function sqlCsv(answer: SqlWire): string {
  const lines = [answer.columns.map(quoted).join(",")];
  for (let row = 0; row < answer.rows; row++) {
    lines.push(answer.values.map((column) => (column[row] === null ? "" : quoted(String(column[row])))).join(","));
  }
  return `${lines.join("\n")}\n`;
}

function quoted(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Where a row of an answer leads: a slice to look up, a context, a step, a buffer. */
export interface Leads {
  /** The question after the slice's row: "correlation=7", "track=3&start=17000". */
  slice?: string;
  context?: string;
  step?: string;
  buffer?: string;
}

/** What the cells of a row say by the names of their columns, which are those of the tables. */
export function leadsOf(answer: SqlWire, row: number): Leads {
  const whole = (name: string): string | undefined => {
    const at = answer.columns.indexOf(name);
    const value = at < 0 ? undefined : answer.values[at]![row];
    return value !== null && value !== undefined && /^\d{1,19}$/.test(String(value)) ? String(value) : undefined;
  };
  const leads: Leads = {};
  const [track, start, depth] = [whole("track"), whole("start"), whole("depth")];
  const correlation = [whole("correlation"), whole("slice"), whole("from")].find(
    (one) => one !== undefined && one !== "0",
  );
  if (track !== undefined && start !== undefined)
    leads.slice = `track=${track}&start=${start}${depth === undefined ? "" : `&depth=${depth}`}`;
  else if (correlation !== undefined) leads.slice = `correlation=${correlation}`;
  for (const name of ["context", "step", "buffer"] as const) {
    const value = whole(name);
    if (value !== undefined) leads[name] = value;
  }
  return leads;
}

/** The widths of an answer's columns in letters, from its head and the rows that are looked at first. */
export function widthsOf(answer: SqlWire, most = 48): number[] {
  return answer.columns.map((name, at) => {
    let width = name.length + Math.min(12, answer.types[at]!.length) * 0.8 + 1;
    const column = answer.values[at]!;
    for (let row = 0; row < Math.min(column.length, 300); row++) {
      width = Math.max(width, cellText(column[row], name).length);
      if (width >= most) return most;
    }
    return Math.max(6, width);
  });
}
