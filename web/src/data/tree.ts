/** Contexts with their steps as the rows of a tree: which are open, which pass the filter. */
import { plain } from "../base/ansi.ts";
import type { ContextsWire, StepsWire } from "../wire/capture.ts";
import { fits, parseQuery, touches, type Query } from "./grammar.ts";
import { serials } from "./serials.ts";

export interface TreeRow {
  kind: "context" | "step";
  /** Position in the contexts' or steps' columns. */
  at: number;
  level: number;
  /** null: nothing below it. */
  open: boolean | null;
}

export interface TreeFilter {
  text: string;
  matchesOnly: boolean;
  kernelsOnly: boolean;
}

export const NO_FILTER: TreeFilter = { text: "", matchesOnly: false, kernelsOnly: false };

/** Kinds of contexts that show those opened in them as their own: compile id, half of it, module, kernel, process. */
const HOLDS = new Set(["graph", "half", "module", "kernel", "process"]);

/** The tree over one capture. Closed contexts and folded steps are remembered by id. */
export class ContextTree {
  readonly openContexts = new Set<number>();
  readonly foldedSteps = new Set<number>();
  readonly contextAt = new Map<number, number>();
  readonly stepAt = new Map<number, number>();
  /** First and past-the-last position of a context's steps. */
  private readonly spans = new Map<number, [number, number]>();
  /** "n2" for the second context of a name. */
  readonly serials: string[];
  private readonly contextNames: string[];
  private readonly stepNames: string[];
  /** Positions of the contexts that stand below one; those below none are under -1. */
  private readonly below = new Map<number, number[]>();

  constructor(
    readonly contexts: ContextsWire,
    readonly steps: StepsWire,
  ) {
    contexts.id.forEach((id, at) => this.contextAt.set(id, at));
    steps.id.forEach((id, at) => this.stepAt.set(id, at));
    for (let at = 0; at < steps.id.length; at++) {
      const span = this.spans.get(steps.context[at]!);
      if (span) span[1] = at + 1;
      else this.spans.set(steps.context[at]!, [at, at + 1]);
    }
    contexts.id.forEach((_, at) => {
      const above = this.above(at);
      const siblings = this.below.get(above);
      if (siblings) siblings.push(at);
      else this.below.set(above, [at]);
    });
    this.serials = serials(contexts.name);
    this.contextNames = contexts.name.map((name) => plain(name));
    this.stepNames = steps.names;
  }

  /** Position of the context that one stands below; -1 for none. */
  above(at: number): number {
    const parent = this.contextAt.get(this.contexts.parent[at]!);
    return parent !== undefined && parent !== at && HOLDS.has(this.contexts.kind[parent]!) ? parent : -1;
  }

  /** Opens a context and those that it stands below; true when one was shut. */
  open(contextId: number): boolean {
    let changed = false;
    for (let at = this.contextAt.get(contextId) ?? -1, left = 16; at >= 0 && left > 0; at = this.above(at), left--) {
      const id = this.contexts.id[at]!;
      changed = changed || !this.openContexts.has(id);
      this.openContexts.add(id);
    }
    return changed;
  }

  /** Positions of a context's steps. */
  span(contextId: number): [number, number] {
    return this.spans.get(contextId) ?? [0, 0];
  }

  /** Boxes that a pass with a graph after it changed, by its id, as far as they are known. */
  readonly changed = new Map<number, number>();

  /** Whether a step did something, as far as that is known. */
  worked(at: number): boolean {
    const { matches, after, id } = this.steps;
    return matches[at]! > 0 || ((after?.[at] ?? -1) >= 0 && this.changed.get(id[at]!) !== 0);
  }

  stepName(at: number): string {
    const { names, name, files, file } = this.steps;
    return names[name[at]!] || (files[file[at]!] ? "(unnamed pass)" : "(between passes)");
  }

  hasChildren(at: number): boolean {
    const { depth, context } = this.steps;
    return context[at + 1] === context[at] && (depth[at + 1] ?? -1) > depth[at]!;
  }

  /** The rows to show, in order. With a filter, what matches is shown with its ancestors, open. */
  rows(filter: TreeFilter): TreeRow[] {
    const query = parseQuery(filter.text);
    const filtered = query.terms.length > 0 || query.wrong !== "";
    const rows: TreeRow[] = [];
    const { contexts } = this;
    if (!filtered && !filter.kernelsOnly) {
      for (const c of this.below.get(-1) ?? []) this.pushContext(rows, c, 0, filter.matchesOnly);
      return rows;
    }
    for (let c = 0; c < contexts.id.length; c++) {
      if (filter.kernelsOnly && contexts.kind[c] !== "kernel") continue;
      const id = contexts.id[c]!;
      const [first, past] = this.span(id);
      if (filter.matchesOnly && contexts.matches[c] === 0 && !this.anyWorked(first, past)) continue;
      if (filtered && !fits(query, this.contextNames[c]!, { kind: contexts.kind[c]! })) {
        const inside = this.filtered(c, first, past, query, filter.matchesOnly);
        if (inside.length === 0) continue;
        rows.push({ kind: "context", at: c, level: 0, open: true });
        for (const at of inside) rows.push({ kind: "step", at, level: 1 + this.steps.depth[at]!, open: null });
        continue;
      }
      const open = this.openContexts.has(id);
      rows.push({ kind: "context", at: c, level: 0, open: past > first ? open : null });
      if (open) this.pushSteps(rows, first, past, filter.matchesOnly, 1);
    }
    return rows;
  }

  private pushContext(rows: TreeRow[], c: number, level: number, matchesOnly: boolean): void {
    if (matchesOnly && !this.anyWorkedWithin(c)) return;
    const id = this.contexts.id[c]!;
    const [first, past] = this.span(id);
    const below = this.below.get(c) ?? [];
    const open = this.openContexts.has(id);
    rows.push({ kind: "context", at: c, level, open: past > first || below.length > 0 ? open : null });
    if (!open) return;
    this.pushSteps(rows, first, past, matchesOnly, level + 1);
    for (const inner of below) this.pushContext(rows, inner, level + 1, matchesOnly);
  }

  private anyWorkedWithin(c: number): boolean {
    const [first, past] = this.span(this.contexts.id[c]!);
    if (this.contexts.matches[c]! > 0 || this.anyWorked(first, past)) return true;
    return (this.below.get(c) ?? []).some((inner) => this.anyWorkedWithin(inner));
  }

  private anyWorked(first: number, past: number): boolean {
    for (let at = first; at < past; at++) if (this.worked(at)) return true;
    return false;
  }

  private pushSteps(rows: TreeRow[], first: number, past: number, matchesOnly: boolean, base: number): void {
    const { depth, id } = this.steps;
    let hiddenBelow = Infinity;
    for (let at = first; at < past; at++) {
      const level = depth[at]!;
      if (level > hiddenBelow) continue;
      hiddenBelow = Infinity;
      const parent = this.hasChildren(at);
      if (matchesOnly && !this.worked(at) && !parent) continue;
      const folded = this.foldedSteps.has(id[at]!);
      if (parent && folded) hiddenBelow = level;
      rows.push({ kind: "step", at, level: base + level, open: parent ? !folded : null });
    }
  }

  private filtered(context: number, first: number, past: number, query: Query, matchesOnly: boolean): number[] {
    const { name } = this.steps;
    const outer = this.contextNames[context]!;
    const found: number[] = [];
    for (let at = first; at < past; at++) {
      if (matchesOnly && !this.worked(at)) continue;
      const text = this.stepNames[name[at]!]!;
      if (touches(query, text) && fits(query, `${text}\n${outer}`, { kind: "step" })) found.push(at);
    }
    return found;
  }
}
