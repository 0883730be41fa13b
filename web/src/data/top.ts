/** The rows of the Top page: sorted, filtered, as CSV. */
import { plain } from "../base/ansi.ts";
import type { TopWire } from "../wire/top.ts";
import { fits, parseQuery } from "./grammar.ts";
import { serial } from "./serials.ts";

export type SortKey = "name" | "total" | "self" | "runs" | "mean" | "p95" | "max" | "flops" | "bytes";

export const SORTS: Record<SortKey, (top: TopWire, row: number) => number | string> = {
  name: (top, row) => plain(top.name[row]!),
  total: (top, row) => top.sum[row]!,
  self: (top, row) => top.self[row]!,
  runs: (top, row) => top.runs[row]!,
  mean: (top, row) => top.mean[row]!,
  p95: (top, row) => top.p95[row]!,
  max: (top, row) => top.longest[row]!,
  flops: (top, row) => top.flops[row]!,
  bytes: (top, row) => top.bytesPerS[row]!,
};

/** Places of the rows that the filter fits, in order; `down` puts the largest first. */
export function orderRows(top: TopWire, key: SortKey, down: boolean, filter: string): number[] {
  const query = parseQuery(filter);
  const rows = top.name.flatMap((name, at) => (fits(query, plain(name)) ? [at] : []));
  const value = SORTS[key];
  const sign = down ? -1 : 1;
  // equal rows stay as the server ordered them: by total
  return rows.sort((a, b) => {
    const [x, y] = [value(top, a), value(top, b)];
    return x === y ? a - b : (x < y ? -1 : 1) * sign;
  });
}

/** The rows as comma-separated values, times in ns. */
export function toCsv(top: TopWire, rows: readonly number[]): string {
  const head = "name,total_ns,self_ns,share,runs,mean_ns,median_ns,p95_ns,min_ns,max_ns,flops,bytes_per_s";
  const lines = rows.map((at) =>
    [
      quoted(plain(top.name[at]!) + serial(top.serial[at]!)),
      top.sum[at]!,
      top.self[at]!,
      (top.sum[at]! / Math.max(1, top.total)).toFixed(6),
      top.runs[at]!,
      Math.round(top.mean[at]!),
      Math.round(top.median[at]!),
      Math.round(top.p95[at]!),
      top.shortest[at]!,
      top.longest[at]!,
      rate(top.flops[at]!),
      rate(top.bytesPerS[at]!),
    ].join(","),
  );
  return [head, ...lines].join("\n") + "\n";
}

function rate(value: number): string {
  return value < 0 ? "" : String(Math.round(value));
}

/** A name is data: a spreadsheet must not take it for a formula. */
function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
