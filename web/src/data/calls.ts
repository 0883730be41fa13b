/** A call tree on the page: who is whose caller, which rows are open, what a function does elsewhere. */
import { plain } from "../base/ansi.ts";
import type { CallsWire } from "../wire/calls.ts";

/** Part of the whole from which a branch is open by itself. */
const OPEN = 0.05;
const DEEPEST = 14;
const SEPARATOR = ",";

/** A path of names for the address; none of them can be taken for a separator. */
export function formatPath(names: readonly string[]): string {
  return names.map(encodeURIComponent).join("/");
}

export function parsePath(text: string | undefined): string[] {
  if (text === undefined || text === "") return [];
  return text.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

/** Paths that were opened or shut by hand. */
export function parsePaths(text: string | undefined): Set<string> {
  return new Set((text ?? "").split(SEPARATOR).filter((path) => path !== ""));
}

export function formatPaths(paths: ReadonlySet<string>): string | null {
  return paths.size === 0 ? null : [...paths].join(SEPARATOR);
}

export interface Amount {
  name: string;
  time: number;
  /** A node that the amount belongs to; -1 for what is no call. */
  node: number;
}

export class CallModel {
  readonly size: number;
  readonly parent: Int32Array;
  /** Past the last node below each. */
  readonly past: Int32Array;
  /** Names from the thread down to the top of what is shown; empty when that is the thread. */
  readonly top: readonly string[];

  constructor(readonly wire: CallsWire) {
    this.size = wire.depth.length;
    this.parent = new Int32Array(this.size).fill(-1);
    this.past = new Int32Array(this.size).fill(this.size);
    const stack: number[] = [];
    for (let node = 0; node < this.size; node++) {
      while (stack.length > wire.depth[node]!) this.past[stack.pop()!] = node;
      this.parent[node] = stack.length > 0 ? stack[stack.length - 1]! : -1;
      stack.push(node);
    }
    const functions = [...wire.path.function, ...(this.size > 0 ? [wire.function[0]!] : [])];
    this.top = functions.filter((number) => number >= 0).map((number) => plain(wire.functions.name[number]!));
  }

  get inverted(): boolean {
    return this.wire.mode === "inverted";
  }

  name(node: number): string {
    const number = this.wire.function[node]!;
    return number < 0 ? this.wire.title : plain(this.wire.functions.name[number]!) || "no name";
  }

  /** The name without the place at its end, which stands beside it or in the tooltip. */
  label(node: number): string {
    const name = this.name(node);
    return this.place(node) === "" ? name : name.replace(/ \([^()]*\.\w+:\d+\)$/, "");
  }

  place(node: number): string {
    const number = this.wire.function[node]!;
    return number < 0 ? "" : this.wire.functions.place[number]!;
  }

  /** What nodes are compared by: total, of an inverted tree the function's own time. */
  weight(node: number): number {
    return this.inverted ? this.wire.self[node]! : this.wire.total[node]!;
  }

  children(node: number): number[] {
    const found: number[] = [];
    for (let at = node + 1; at < this.past[node]!; at = this.past[at]!) found.push(at);
    return found;
  }

  hasChildren(node: number): boolean {
    return this.past[node]! > node + 1;
  }

  /** The names from the thread to a node. */
  path(node: number): string[] {
    const names: string[] = [];
    for (let at = node; at > 0; at = this.parent[at]!) names.unshift(this.rawName(at));
    return [...this.top, ...names];
  }

  /** The node of a path; -1 when it is not among those shown. */
  find(path: readonly string[]): number {
    if (this.size === 0 || path.length < this.top.length) return -1;
    if (this.top.some((name, at) => name !== path[at])) return -1;
    let node = 0;
    for (const name of path.slice(this.top.length)) {
      const next = this.children(node).find((child) => this.rawName(child) === name);
      if (next === undefined) return -1;
      node = next;
    }
    return node;
  }

  private rawName(node: number): string {
    const number = this.wire.function[node]!;
    return number < 0 ? "" : plain(this.wire.functions.name[number]!);
  }

  /** Whether a node is open unless the user says otherwise. */
  opensItself(node: number): boolean {
    if (node === 0) return true;
    const large = this.weight(node) >= OPEN * Math.max(1, this.weight(0));
    return large && this.wire.depth[node]! < (this.inverted ? 1 : DEEPEST);
  }

  /** Nodes that are rows of the tree; the top is one only when it is a function. */
  rows(opened: ReadonlySet<string>, shut: ReadonlySet<string>, reveal = -1): number[] {
    const shown: number[] = [];
    const first = this.size > 0 && this.wire.function[0]! >= 0 ? 0 : 1;
    let node = first;
    while (node < this.size) {
      shown.push(node);
      node = this.isOpen(node, opened, shut, reveal) ? node + 1 : this.past[node]!;
    }
    return shown;
  }

  isOpen(node: number, opened: ReadonlySet<string>, shut: ReadonlySet<string>, reveal = -1): boolean {
    if (reveal > node && reveal < this.past[node]!) return true;
    if (opened.size > 0 || shut.size > 0) {
      const key = formatPath(this.path(node));
      if (opened.has(key)) return true;
      if (shut.has(key)) return false;
    }
    return this.opensItself(node);
  }

  /** Where the time of a node goes: what it calls, and itself, most first. */
  parts(node: number): Amount[] {
    const parts = this.children(node).map((child) => ({
      name: this.name(child),
      time: this.weight(child),
      node: child,
    }));
    const own = this.wire.self[node]!;
    if (!this.inverted && own > 0) parts.push({ name: "self", time: own, node: -1 });
    const rest = this.wire.width[node]! - parts.reduce((sum, part) => sum + part.time, 0);
    if (this.wire.folded[node]! > 0 && rest > 0)
      parts.push({ name: `${this.wire.folded[node]!} smaller`, time: rest, node: -1 });
    return parts.sort((a, b) => b.time - a.time);
  }

  /** Who calls the function of a node, among those shown, with the function's own time under each. */
  callers(node: number): Amount[] {
    const wanted = this.wire.function[node]!;
    const found = new Map<string, Amount>();
    for (let at = 1; at < this.size; at++) {
      if (this.wire.function[at] !== wanted) continue;
      const name = this.name(this.parent[at]!);
      const own = found.get(name);
      if (own) own.time += this.wire.self[at]!;
      else found.set(name, { name, time: this.wire.self[at]!, node: this.parent[at]! });
    }
    return [...found.values()].sort((a, b) => b.time - a.time);
  }

  get foldedAll(): number {
    return this.wire.folded.reduce((sum, each) => sum + each, 0);
  }
}

/** What a function belongs to, as far as its place or its name tells: a folder or file, "aten", a class. */
export function familyOf(name: string, place: string): string {
  if (place !== "") {
    const parts = place.replace(/:\d+$/, "").split(/[\\/]/).filter(Boolean);
    const file = (parts[parts.length - 1] ?? "").replace(/\.\w+$/, "");
    const folder = parts[parts.length - 2] ?? "";
    return folder === "" ? file : file === "__init__" ? folder : `${folder}/${file}`;
  }
  const scope = /^([A-Za-z_]\w*)(?:::|\.)\w/.exec(name);
  return scope ? scope[1]! : "";
}

export interface Palette {
  /** Data colour of each function, 0 for neutral. */
  colour: number[];
  legend: { name: string; colour: number }[];
}

const FAMILY_COLOURS = [5, 1, 7, 10, 2, 8, 3, 4, 11];
const FAMILIES = 6;

/** Colours by family where there are several of them, else as the timeline colours names. */
export function paletteOf(wire: CallsWire): Palette {
  const { name, place, self, colour } = wire.functions;
  const families = name.map((each, at) => familyOf(plain(each), place[at]!));
  const sums = new Map<string, number>();
  let [known, all] = [0, 0];
  families.forEach((family, at) => {
    all += self[at]!;
    if (family === "") return;
    known += self[at]!;
    sums.set(family, (sums.get(family) ?? 0) + self[at]!);
  });
  if (sums.size < 2 || known < 0.5 * all) return { colour: [...colour], legend: [] };
  const order = [...sums].sort((a, b) => b[1] - a[1]).slice(0, FAMILIES);
  const numbers = new Map<string, number>();
  const taken = new Set<number>();
  for (const [family] of order) {
    // by its name, so that it keeps its colour when a filter leaves others out
    let at = [...family].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)!) % 65_521, 7);
    while (taken.has(at % FAMILY_COLOURS.length)) at += 1;
    taken.add(at % FAMILY_COLOURS.length);
    numbers.set(family, FAMILY_COLOURS[at % FAMILY_COLOURS.length]!);
  }
  return {
    colour: families.map((family) => numbers.get(family) ?? 0),
    legend: order.map(([family]) => ({ name: family, colour: numbers.get(family)! })),
  };
}
