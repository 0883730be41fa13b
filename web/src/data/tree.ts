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
    this.serials = serials(contexts.name);
    this.contextNames = contexts.name.map((name) => plain(name));
    this.stepNames = steps.names;
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
    return this.steps.names[this.steps.name[at]!] || "(unnamed pass)";
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
      if (open) this.pushSteps(rows, first, past, filter.matchesOnly);
    }
    return rows;
  }

  private anyWorked(first: number, past: number): boolean {
    for (let at = first; at < past; at++) if (this.worked(at)) return true;
    return false;
  }

  private pushSteps(rows: TreeRow[], first: number, past: number, matchesOnly: boolean): void {
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
      rows.push({ kind: "step", at, level: 1 + level, open: parent ? !folded : null });
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
