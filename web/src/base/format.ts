/** Figures and names as the user reads them. A number is never cut; a path keeps its file and line. */

const grouped = new Intl.NumberFormat("en-US");

/** 122,833 */
export function count(value: number): string {
  return grouped.format(value);
}

/** "1 match", "3 matches" */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

const PROCESS = 2 ** 40;

/** b7, or p2.b7 where buffers of several processes are there: a buffer's number in its process. */
export function bufferHandle(id: number, several: boolean): string {
  const own = `b${id % PROCESS}`;
  return several ? `p${Math.floor(id / PROCESS)}.${own}` : own;
}

/**
 * Nanoseconds in the unit that fits: 940 ns, 12.3 µs, 1.60 ms, 2.41 s, days from 100,000 s on; an empty text when
 * unknown.
 */
export function duration(ns: number): string {
  if (ns < 0) return "";
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 999_950) return `${(ns / 1e3).toFixed(ns < 1e4 ? 2 : 1)} µs`;
  if (ns < 999.95e6) return `${(ns / 1e6).toFixed(ns < 1e8 ? 2 : 1)} ms`;
  if (ns < 1e14) return `${(ns / 1e9).toFixed(2)} s`;
  return `${(ns / 86_400e9).toFixed(2)} d`; // no program runs for days: a wild time stamp
}

/** Nanoseconds as microseconds throughout, so that a column of them compares at a glance. */
export function micros(ns: number): string {
  if (ns < 0) return "";
  const us = ns / 1e3;
  return `${us < 10 ? us.toFixed(1) : grouped.format(Math.round(us))} µs`;
}

/** Bytes in powers of ten: 3 B, 196.6 kB, 26.92 MB */
export function bytes(value: number): string {
  if (value < 1e3) return `${value} B`;
  if (value < 1e6) return `${(value / 1e3).toFixed(1)} kB`;
  if (value < 1e9) return `${(value / 1e6).toFixed(2)} MB`;
  return `${(value / 1e9).toFixed(2)} GB`;
}

/** 49%, 0.5%; what is there but rounds to nothing is "under 0.1%". */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part < 0) return "";
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.05) return "under 0.1%";
  return `${share < 9.95 ? share.toFixed(1).replace(/\.0$/, "") : Math.round(share)}%`;
}

let packages: readonly string[] = [];

/** Folders of frameworks' packages, as the server names them: below them a path says enough, and no file is the user's. */
export function knowPackages(names: readonly string[]): void {
  packages = names;
}

/** The part of a path that tells files apart: below site-packages or the package's own folder, else the last two. */
export function shortPath(path: string): string {
  const parts = path.split(/[\\/]/).filter((part) => part !== "");
  const site = parts.lastIndexOf("site-packages");
  if (site >= 0 && parts.length > site + 2) return parts.slice(site + 2).join("/");
  for (const name of packages) {
    const at = parts.lastIndexOf(name);
    if (at >= 0 && at < parts.length - 1) return parts.slice(at + 1).join("/");
  }
  return parts.slice(-2).join("/");
}

/** codegen/__init__.py:231 */
export function location(file: string | null, line: number): string {
  if (file === null || file === "") return "";
  return line >= 0 ? `${shortPath(file)}:${line}` : shortPath(file);
}

/** The address that opens an editor at a line. The path is data: it is encoded, and only absolute paths get one. */
export function editorLink(file: string | null, line: number): string | null {
  if (file === null || !/^(\/|[A-Za-z]:[\\/])/.test(file)) return null;
  const path = file
    .replaceAll("\\", "/")
    .split("/")
    .map(encodeURIComponent)
    .join("/")
    .replace(/^([A-Za-z])%3A/, "/$1:");
  return `vscode://file${path.startsWith("/") ? "" : "/"}${path}${line >= 0 ? `:${line}` : ""}`;
}

/** Text of bounded length for a row; the full text is in the tooltip. */
export function clip(text: string, length = 240): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/**
 * True for a kernel's name and for what ends with one ("do_to_program for r_16_4"): many share a start and differ at
 * the end, some by a number behind a dot ("add_fusion.2"). A function behind its file ("$pjit.py:250 cache_miss") is
 * none: it has no number.
 */
export function endsAsKernel(name: string): boolean {
  return /^[A-Za-z]+_[\w.]+$/.test(name) || / [A-Za-z]+_(?=\w*\d)\w+$/.test(name);
}

/** " 15413" of "compile worker 15413": many threads share the words before it. Of a number nobody reads, its end. */
export function ownNumber(title: string): string {
  return /\d{10}$/.test(title) ? title.slice(-5) : (/ \d{1,9}$/.exec(title)?.[0] ?? "");
}

/** True for a file of the user's: not of Python itself, not of an installed package, not of the compiler. */
export function isOwnFile(path: string): boolean {
  if (/[\\/](site-packages|lib[\\/]python\d)[\\/.]/.test(path) || path.startsWith("<")) return false;
  return !path
    .split(/[\\/]/)
    .slice(1)
    .some((part) => packages.includes(part) || packages.includes(part.split(".")[0]!));
}

/** A path as a shell takes it. */
export function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
