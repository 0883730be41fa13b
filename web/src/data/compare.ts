/** What a comparison says, in words and in order. */
import type { KernelWire, TimeWire } from "../wire/compare.ts";

/** "+5.2%", "−15.6%"; empty when there is nothing to compare with. */
export function change(a: number, b: number): string {
  if (!(a > 0)) return "";
  const share = 100 * (b / a - 1);
  const size = Math.abs(share);
  return `${share < 0 ? "−" : "+"}${size < 99.95 ? size.toFixed(1) : String(Math.round(size))}%`;
}

/** What a column of changes is sorted by: the share that it shows, whichever way; last where it shows nothing. */
export function changeSize(a: number, b: number): number {
  return a > 0 ? Math.abs(b / a - 1) : -1;
}

/** A verdict in words: not to be shown to differ is not to be the same. */
export function verdictWords(time: TimeWire | null): string {
  if (!time) return "";
  if (time.verdict === "slower" || time.verdict === "faster") return time.verdict;
  if (time.nA === 0 || time.nB === 0) return time.nB > 0 ? "new" : "gone";
  if (!time.tested) return "too few runs";
  return time.verdict === "unsure" ? "not shown to differ" : "no difference";
}

export function pWords(p: number | null): string {
  if (p === null) return "";
  return p < 0.001 ? "< 0.001" : p < 0.1 ? p.toFixed(3) : p.toFixed(2);
}

/** By how much the time of all runs changed, ns. */
export function totalChange(kernel: KernelWire): number {
  return kernel.time ? kernel.time.totalB - kernel.time.totalA : 0;
}

export function differs(kernel: KernelWire): boolean {
  return kernel.state !== "same" || kernel.uneven || claimed(kernel);
}

export function claimed(kernel: KernelWire): boolean {
  return kernel.time?.verdict === "slower" || kernel.time?.verdict === "faster";
}

/** "r_4_8", or "E_4 → E_16" where the sides call it otherwise. */
export function bothNames(a: string, b: string): string {
  return a === b || a === "" || b === "" ? a || b : `${a} → ${b}`;
}
