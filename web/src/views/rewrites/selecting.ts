/** The selection of the rewrites: found again in every pass, with the strip of where it lives and the node's details. */
import { plain } from "../../base/ansi.ts";
import { label } from "../../data/listing.ts";
import { fateOf, inStep, keyOf, Lives, ownPlace } from "../../data/lives.ts";
import type { ContextTree } from "../../data/tree.ts";
import { isNamed } from "../../layout/instructions.ts";
import type { Params } from "../../state/place.ts";
import { chosen, marked, selectionOf, selectionParams, type How, type Selection } from "../../state/selection.ts";
import type { HistoryWire, LifeWire, LinkWire, NodeWire, PassageWire } from "../../wire/capture.ts";
import type { GraphWire } from "../../wire/graph.ts";
import type { Page } from "../registry.ts";
import { LifeStrip, type StripPass } from "./life_strip.ts";
import { showNode, type NodeActions } from "./node_section.ts";

export interface SelectingHost {
  /** Marks boxes of the picture. */
  mark(current: number | null, kept: readonly number[]): void;
  nodeSection(): HTMLElement;
  tree(): ContextTree;
  idleHidden(): boolean;
  /** Goes to a graph; `sought` is to be in sight there. */
  go(step: number, match: number, selection: Selection | null, sought: number | null): void;
  called(id: number): Promise<number>;
  say(text: string): void;
}

export class Selecting {
  readonly strip = new LifeStrip((step, life) => void this.goTo(step, life));
  private readonly lives: Lives;
  private selection: Selection | null = null;
  private graph: GraphWire | null = null;
  /** The selected boxes as they are known in the step that is shown; null for those that are not in it. */
  private here: (number | null)[] = [];
  private known: LifeWire[] = [];
  private readonly labels = new Map<string, string>();
  /** What the details of a node show. */
  private told: { graph: GraphWire; key: number; at: string } | null = null;

  constructor(
    private readonly page: Page,
    private readonly host: SelectingHost,
  ) {
    this.lives = new Lives(page.client);
  }

  /** What an address says about the selection from a graph of that step, in the same context. */
  params(step: number): { node: string | null; held: string | null } {
    return selectionParams(this.selection, step);
  }

  get isEmpty(): boolean {
    return this.selection === null;
  }

  /** Shows the selection of the address in a graph: at once where it is known there, else when that has been told. */
  show(params: Params, graph: GraphWire): void {
    const before = this.selection;
    const found = selectionOf(params, graph);
    // its boxes are the same in all graphs of a step: it need not be followed anew after every match
    const same = before !== null && found?.step === before.step && found.nodes.join() === before.nodes.join();
    const selection = same ? before : found;
    this.selection = selection;
    this.graph = graph;
    if (selection === null) return this.clear();
    const nodes = [...new Set(selection.nodes)];
    const own = selection.step === graph.step || isNamed(graph);
    if (own) this.mark(nodes);
    else if (same && this.known.length > 0) this.mark(this.known.map((life) => inStep(life, graph.step)));
    this.lives.of(selection.step, selection.match, nodes).then(
      (lives) => {
        if (this.selection !== selection || this.graph !== graph) return;
        this.known = lives;
        if (!own || graph.from !== undefined) this.mark(own ? nodes : lives.map((life) => inStep(life, graph.step)));
        this.drawStrip();
      },
      () => this.strip.clear(),
    );
  }

  /** Until it is known where the selection is in a step: what is shown may depend on it. */
  async ready(params: Params, shown: { step: number; match: number }): Promise<void> {
    const selection = selectionOf(params, shown);
    if (selection === null || selection.step === shown.step) return;
    const known = await this.lives
      .of(selection.step, selection.match, [...new Set(selection.nodes)])
      .catch((): LifeWire[] => []);
    [this.selection, this.known] = [selection, known];
  }

  /** The passes of the strip have changed. */
  drawStrip(): void {
    const { graph, selection } = this;
    if (graph === null || selection === null || this.known.length === 0) return this.strip.clear();
    const rows = this.known.map((life) => ({ life, label: this.labels.get(`${selection.step}/${life.of}`) ?? "node" }));
    this.strip.draw(rows, this.passes(graph.step), graph.step);
  }

  /** A box of the picture was chosen. */
  choose(key: number | null, how: How): void {
    const { graph } = this;
    if (graph === null) return;
    const at = key === null ? { step: graph.step, match: graph.match, node: null } : ownPlace(graph, key);
    const now = at.step === graph.step ? this.here.filter((node) => node !== null) : [];
    const kept = this.selection !== null && this.selection.nodes.length > new Set(this.selection.nodes).size;
    // the current box may be one of those that are kept
    const local = kept && now.length > 0 ? [now[0]!, ...now] : now;
    const next = chosen(local, { step: at.step, match: at.match }, at.node, how);
    this.page.nav.set({ ...selectionParams(next, graph.step), id: null }, "replace");
  }

  /** Keeps the current box selected when another one is chosen, or no longer. */
  keep(): void {
    if (this.selection === null || this.graph === null) return this.host.say("Select a node to keep it selected.");
    this.page.nav.set(selectionParams(marked(this.selection), this.graph.step), "replace");
  }

  /** Goes to the next match that touches the selection, in this pass or another one. */
  async next(by: 1 | -1): Promise<boolean> {
    const { graph, selection } = this;
    if (graph === null || selection === null) return false;
    const nodes = [...new Set(selection.nodes)];
    const lives = await this.lives.of(selection.step, selection.match, nodes).catch((): LifeWire[] => []);
    const steps = this.passes(graph.step).map(({ step }) => step);
    const order =
      by > 0 ? steps.slice(steps.indexOf(graph.step)) : steps.slice(0, steps.indexOf(graph.step) + 1).reverse();
    for (const step of order) {
      const touched = await this.touched(lives, step);
      const there = touched.filter((match) => step !== graph.step || (match - graph.match) * by > 0);
      const match = by > 0 ? there[0] : there.at(-1);
      if (match === undefined) continue;
      const node = lives.map((life) => inStep(life, step)).find((one) => one !== null) ?? null;
      this.host.go(step, match, selection, node);
      return true;
    }
    this.host.say(by > 0 ? "Nothing touches the selection any more." : "Nothing touched the selection before.");
    return true;
  }

  private async touched(lives: readonly LifeWire[], step: number): Promise<number[]> {
    const asked = lives.map(async (life) => {
      const at = life.step.indexOf(step);
      if (at < 0 || fateOf(life, at) === "lives") return [];
      return (await this.history(step, life.created[at]!, life.identity[at]!)).touched;
    });
    return [...new Set((await Promise.all(asked)).flat())].sort((a, b) => a - b);
  }

  private history(step: number, match: number, node: number): Promise<HistoryWire> {
    return this.page.client.once<HistoryWire>(`steps/${step}/history?identity=${node}&match=${match}`);
  }

  private async goTo(step: number, life: LifeWire): Promise<void> {
    const at = life.step.indexOf(step);
    const node = at < 0 ? null : life.identity[at]!;
    const fate = at < 0 ? "lives" : fateOf(life, at);
    let match = 0;
    if (fate !== "lives") {
      const { created, deleted, touched } = await this.history(step, life.created[at]!, node!);
      match = Math.max(0, fate === "dies" ? deleted : fate === "changes" ? (touched[0] ?? 0) : created);
    }
    this.host.go(step, match, this.selection, node);
  }

  private clear(): void {
    this.here = [];
    this.known = [];
    this.host.mark(null, []);
    this.host.nodeSection().hidden = true;
    this.told = null;
    this.strip.clear();
  }

  /** Marks the boxes that the selection is in this graph, and shows the current one. */
  private mark(here: readonly (number | null)[]): void {
    const graph = this.graph!;
    const selection = this.selection!;
    this.here = [...here];
    const gone = new Set(graph.removed.map(({ identity }) => identity));
    const keys = here.map((node, at) => {
      const key = node === null ? -1 : keyOf(graph, node);
      // what the second of two graphs has no more is there as it was in the first
      const was = graph.from === undefined ? null : inStep(this.known[at] ?? EMPTY, graph.from.step);
      return key < 0 && was !== null && gone.has(was) ? was : key;
    });
    [...new Set(selection.nodes)].forEach((node, at) => {
      const v = graph.identity.indexOf(keys[at]!);
      const ghost = graph.removed.find(({ identity }) => identity === keys[at]);
      const text = v >= 0 ? label(graph, v) : ghost && `${ghost.name ?? ghost.op} ${ghost.arg}`.trimEnd();
      if (text !== undefined) this.labels.set(`${selection.step}/${node}`, text);
    });
    const [current = -1, ...kept] = keys;
    const twice = selection.nodes.length > keys.length;
    this.host.mark(
      current < 0 ? null : current,
      [...kept, ...(twice ? [current] : [])].filter((key) => key >= 0),
    );
    const at = current < 0 ? { ...selection, node: selection.nodes[0]! } : ownPlace(graph, current);
    this.tell(graph, current, at);
  }

  /** Shows a node's details; those that are there already stay as they are, with the button that a pointer is on. */
  private tell(graph: GraphWire, key: number, at: NodeActions["at"]): void {
    const { told } = this;
    const place = JSON.stringify(at);
    const section = this.host.nodeSection();
    if (told?.graph === graph && told.key === key && told.at === place && !section.hidden) return;
    this.told = { graph, key, at: place };
    showNode(section, graph, key, this.actions(at));
  }

  /** The passes that the strip has: those of the context, without what runs inside of others and is not concerned. */
  private passes(shown: number): StripPass[] {
    const tree = this.host.tree();
    const { steps } = tree;
    const concerned = new Set(this.known.flatMap((life) => life.step));
    const [first, past] = tree.span(steps.context[tree.stepAt.get(shown) ?? -1] ?? -1);
    const hidden = this.host.idleHidden();
    const found: StripPass[] = [];
    for (let at = first; at < past; at++) {
      const step = steps.id[at]!;
      if (steps.depth[at]! > 0 && !concerned.has(step) && step !== shown) continue;
      if (hidden && !tree.worked(at) && step !== shown) continue;
      found.push({ step, name: tree.stepName(at) });
    }
    return found;
  }

  private actions(at: NodeActions["at"]): NodeActions {
    const { client, nav } = this.page;
    const query = `identity=${at.node}&match=${at.match}`;
    return {
      at,
      select: (key) => this.choose(key, "move"),
      goTo: (step, match, identity) =>
        identity < 0
          ? this.host.go(step, match, null, null)
          : this.host.go(step, match, { step, match, nodes: [identity] }, identity),
      chain: (id) => client.once<LinkWire[]>(`steps/${at.step}/chain?node=${id}`),
      code: (context) => nav.address("code", { context: String(context) }),
      close: () => nav.set({ node: null, held: null }),
      called: async (id) => {
        const context = await this.host.called(id);
        const tree = this.host.tree();
        const place = tree.contextAt.get(context);
        if (place === undefined) return null;
        const href = nav.address("rewrites", { context: String(context) });
        return { name: plain(tree.contexts.name[place]!), href };
      },
      recorded: (id) => client.once<NodeWire>(`nodes/${id}`),
      history: () => client.once<HistoryWire>(`steps/${at.step}/history?${query}`),
      passages: () => client.once<PassageWire[]>(`steps/${at.step}/passages?${query}`),
    };
  }
}

const EMPTY: LifeWire = { of: -1, step: [], identity: [], wentIn: [], cameOut: [], changed: [], created: [] };
