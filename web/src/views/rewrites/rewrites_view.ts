/** Rewrites: any pass of any context, the graph after any of its matches. */
import { h } from "../../base/dom.ts";
import { clip, count } from "../../base/format.ts";
import { abortable, sentenceOf } from "../../data/client.ts";
import { Graphs } from "../../data/graphs.ts";
import { Passes } from "../../data/passes.ts";
import { ContextTree } from "../../data/tree.ts";
import { isNamed } from "../../layout/instructions.ts";
import { changed, numberParam, type Params } from "../../state/place.ts";
import { selectionParams, type Selection } from "../../state/selection.ts";
import type { ContextsWire, ContextWire, StepsWire } from "../../wire/capture.ts";
import type { GraphWire } from "../../wire/graph.ts";
import { isCall } from "../../layout/graph/labels.ts";
import { showLayer, waitFor, type Progress } from "../common/states.ts";
import type { Direction } from "../graph/keyboard.ts";
import type { Page, View, ViewDef } from "../registry.ts";
import { attachMenu } from "../shell/menu.ts";
import { contextPage, stackSection } from "./context_page.ts";
import { REWRITES_KEYS } from "./keys.ts";
import { MatchPane } from "./match_pane.ts";
import { ModeControl, modeKey, shownPlace, takenAlong } from "./modes.ts";
import { PassDrawer } from "./pass_drawer.ts";
import { entriesOf, factsOf, nextPass, nextWorked } from "./pass_facts.ts";
import { rewritesStatus } from "./rewrites_status.ts";
import { Selecting } from "./selecting.ts";
import { SHOWN_AT_FIRST, Stage, toggled, type StageActions, type Toggle } from "./stage.ts";
import { TreePane } from "./tree_pane.ts";
import { calledContext, homeOf, identityOf, wayTo } from "./way.ts";

/** Stepping with pauses makes entries in the history, playing does not. */
const PAUSE_MS = 900;
const CAMERA_MS = 250;
/** Two steps within this time: the user is passing through, so only the one that is stayed on is asked for. */
const HURRY_MS = 250;
const SETTLE_MS = 120;

export const REWRITES: ViewDef = {
  id: "rewrites",
  title: "Rewrites",
  panes: { left: "Contexts and steps", right: "Matches" },
  keys: REWRITES_KEYS,
  available: (info) => (info.tables["contexts"] ?? 0) > 0,
  create: (page) => new RewritesView(page),
};

class RewritesView implements View {
  private readonly stage: Stage;
  private readonly matches: MatchPane;
  private readonly graphs: Graphs;
  private readonly passes: Passes;
  private readonly drawer: PassDrawer;
  private readonly selecting: Selecting;
  private readonly modes: ModeControl;
  private tree: ContextTree | null = null;
  private treePane: TreePane | null = null;
  private params: Params = {};
  private graph: GraphWire | null = null;
  /** The graph is behind the word that another one could not be read. */
  private covered = false;
  private arrived = false;
  private busy = false;
  /** What is drawn, and what is on its way: "step/match". */
  private shown = "";
  private wanted = "";
  private scope = NaN;
  private counts: [number, number, string] = [0, 0, ""];
  private lastMove = -PAUSE_MS;
  private lastStep = { id: -1, at: -HURRY_MS, hurried: false };
  private cameraTimer = 0;
  /** A node that is to be in sight once its graph is there. */
  private sought: number | null = null;
  private leaving = new AbortController();
  private loading = new AbortController();

  constructor(private readonly page: Page) {
    this.graphs = new Graphs(page.client);
    this.passes = new Passes(page.client, () => this.treePane?.learned());
    this.selecting = new Selecting(page, {
      mark: (current, kept) => this.stage.select(current, kept),
      nodeSection: () => this.matches.nodeSection,
      tree: () => this.tree!,
      idleHidden: () => this.treePane?.idleHidden ?? false,
      go: (step, match, selection, sought) => this.goTo(step, match, selection, sought),
      called: (id) => calledContext(page.client, this.graph?.step, id),
      say: (text) => this.stage.say(text),
    });
    this.modes = new ModeControl(page, {
      tree: () => this.tree,
      shown: () => shownPlace(this.params),
      last: (step) => entriesOf(this.tree!, this.passes, this.tree!.stepAt.get(step) ?? -1),
      hasSelection: () => !this.selecting.isEmpty,
      setNear: (near) => this.stage.setNear(near),
      setTint: (tint) => this.stage.setTint(tint),
      toggleIdle: () => this.treePane?.toggleIdle(),
      idleHidden: () => this.treePane?.idleHidden ?? false,
      say: (text) => this.stage.say(text),
    });
    const show = h("button.btn", { type: "button", title: "Differences, parts and colours" }, "Show ▾");
    const parts = { modes: this.modes.bar.element, show, strip: this.selecting.strip.element };
    const actions: StageActions = {
      onSelect: (key, how) => this.selecting.choose(key, how),
      onCamera: ({ zoom }) => {
        this.stage.setZoom(zoom);
        this.rememberCamera();
      },
      onCounts: (shown, total, hidden) => {
        this.counts = [shown, total, hidden];
        this.drawStatus();
      },
      onOpenCall: (id) => void this.openCall(id),
      onToggle: (name) => this.toggle(name),
      onText: (text) => page.nav.set({ as: text ? "text" : null }),
      onContext: () => this.goContext(),
      onStep: () => page.nav.set({ match: null }),
    };
    this.stage = new Stage(page.middle, actions, parts);
    attachMenu(show, "How the graph is shown", () => this.modes.items);
    this.matches = new MatchPane(
      page.right,
      page.client,
      (match) => page.nav.set({ match, id: null }),
      (by) => this.step(by),
      (step) => nextPass(this.tree!, step, (next) => this.choose("step", next)),
      (grouped) => page.nav.set({ rows: grouped ? "rules" : null }, "replace"),
    );
    this.drawer = new PassDrawer(this.stage.drawer, page.client, (a, b) => this.stage.lightDecision(a, b));
    void this.load();
  }

  show(params: Params): void {
    this.params = params;
    if (this.tree) void this.arrive();
  }

  key(event: KeyboardEvent): boolean {
    const toggle = new Map<string, Toggle>([["r", "indexing"], ["c", "calls"], ["s", "sink"]]).get(event.key); // prettier-ignore
    if (toggle !== undefined) this.toggle(toggle);
    else if (event.shiftKey && event.key.startsWith("Arrow")) this.stage.walk(event.key.slice(5) as Direction);
    else return modeKey(this.modes, event) || this.move(event);
    return true;
  }

  private move({ key }: KeyboardEvent): boolean {
    const act = new Map<string, () => void>([
      ["ArrowRight", () => this.step(1)],
      ["ArrowLeft", () => this.step(-1)],
      ["ArrowUp", () => this.treePane?.move(-1)],
      ["ArrowDown", () => this.treePane?.move(1)],
      ["Enter", () => this.treePane?.toggleCurrent()],
      [" ", () => this.stage.fit()],
      ["z", () => this.stage.showChange()],
      ["k", () => this.stage.toggleFollow()],
      ["o", () => this.openSelected()],
      ["j", () => this.selecting.keep()],
      ["b", () => this.page.nav.set({ rows: this.params["rows"] === "rules" ? null : "rules" }, "replace")],
      ["n", () => void this.next(1)],
      ["N", () => void this.next(-1)],
      ["g", () => this.page.nav.set({ as: this.params["as"] === "text" ? null : "text" })],
    ]).get(key);
    act?.();
    return act !== undefined;
  }

  escape(): boolean {
    if (this.params["near"] !== undefined) return this.modes.escape();
    if (this.params["node"] !== undefined) this.page.nav.set({ node: null, held: null });
    else if (this.modes.escape()) return true;
    else if (this.params["q"] !== undefined) this.page.nav.set({ q: null }, "replace");
    else return false;
    return true;
  }

  filter(): void {
    this.treePane?.focusFilter();
  }

  focusFind(): boolean {
    return this.stage.focusFind();
  }

  grown(): void {
    this.passes.forget();
    void this.load();
  }

  dispose(): void {
    this.leaving.abort();
    this.loading.abort();
    window.clearTimeout(this.cameraTimer);
    this.matches.dispose();
    this.drawer.dispose();
    this.stage.dispose();
  }

  private async load(): Promise<void> {
    const loaded = await waitFor(
      this.page.left,
      { title: "Reading contexts" },
      async () =>
        Promise.all([this.page.client.once<ContextsWire>("contexts"), this.page.client.once<StepsWire>("steps")]),
      this.leaving.signal,
    );
    if (!loaded || this.leaving.signal.aborted) return;
    const before = this.tree;
    this.tree = new ContextTree(...loaded);
    for (const id of before?.openContexts ?? []) this.tree.openContexts.add(id);
    if (this.treePane) this.treePane.update(this.tree);
    else
      this.treePane = new TreePane(
        this.page.left,
        this.tree,
        (kind, id, how) => this.choose(kind, id, how),
        () => {
          this.page.nav.set(this.treePane!.params, "replace");
          this.selecting.drawStrip();
        },
        this.passes,
      );
    this.drawStatus();
    await this.arrive();
  }

  /** Goes there. A click is a choice and gets an entry in the history; keys pass through. */
  private choose(kind: "context" | "step", id: number, how: "pointer" | "key" = "pointer"): void {
    const { as = null, show = null, rows = null } = this.params;
    const kept = changed({ [kind]: String(id) }, { as, show, rows, ...this.treePane!.params });
    const params = kind === "step" ? changed(kept, takenAlong(this.tree!, this.params, id, this.selecting)) : kept;
    this.page.nav.go({ ...this.page.nav.place, params }, how === "pointer" || this.paused() ? "push" : "replace");
  }

  /** Goes to a graph of the context with something selected, which is brought into sight. */
  private goTo(step: number, match: number, selection: Selection | null, sought: number | null): void {
    this.sought = sought;
    const place = step === this.graph?.step ? {} : { at: null, laid: null };
    const change = { step, match: match === 0 ? null : match, ...selectionParams(selection, step), ...place };
    this.page.nav.set({ ...change, id: null }, this.paused() ? "push" : "replace");
  }

  /** N: on to the next match that touches the selection; without one, to the next pass that did something. */
  private async next(by: 1 | -1): Promise<void> {
    if (this.tree === null || (await this.selecting.next(by))) return;
    const step = nextWorked(this.tree, numberParam(this.params, "step", -1), by);
    if (step !== null) this.choose("step", step, "key");
    else this.stage.say(by > 0 ? "No later pass changed anything." : "No earlier pass changed anything.");
  }

  /** True when the last move with a key is long enough ago for this one to deserve an entry in the history. */
  private paused(): boolean {
    const now = performance.now();
    const paused = now - this.lastMove > PAUSE_MS;
    this.lastMove = now;
    return paused;
  }

  private async arrive(): Promise<void> {
    const tree = this.tree!;
    const stepAt = tree.stepAt.get(numberParam(this.params, "step", -1));
    const contextAt = tree.contextAt.get(numberParam(this.params, "context", -1));
    this.applyModes();
    this.treePane!.apply(this.params);
    // until the first answer an address that names open contexts is taken at its word
    if (stepAt !== undefined)
      this.treePane!.show("step", tree.steps.id[stepAt]!, this.arrived || this.params["open"] === undefined);
    else if (contextAt !== undefined) this.treePane!.show("context", tree.contexts.id[contextAt]!, true);
    this.arrived = true;
    const place = this.page.nav.place;
    if (stepAt !== undefined || contextAt !== undefined) this.page.nav.set(this.treePane!.params, "replace");
    if (this.page.nav.place !== place) return; // what was said about the tree has brought the user here already
    if (stepAt !== undefined) await this.showStep(stepAt);
    else if (contextAt !== undefined) this.showContext(contextAt);
    else this.goHome();
  }

  /** The first pass that did something. */
  private goHome(): void {
    const change = homeOf(this.tree!);
    const nowhere = { step: null, context: null, match: null, node: null, at: null, laid: null };
    if (change) this.page.nav.set({ ...nowhere, ...change }, "replace");
  }

  private applyModes(): void {
    const names = this.params["show"];
    this.stage.setShown(new Set((names === undefined ? SHOWN_AT_FIRST : names.split(",")) as Toggle[]));
    void this.stage.setText(this.params["as"] === "text");
    this.modes.apply(this.params);
    this.matches.setGrouped(this.params["rows"] === "rules");
  }

  private async showStep(at: number): Promise<void> {
    const { steps } = this.tree!;
    if ((steps.after[at] ?? -1) >= 0 && this.passes.of(steps.id[at]!) === undefined) {
      await this.passes.read(steps.context[at]!);
      if (this.leaving.signal.aborted || this.params["step"] !== String(steps.id[at]!)) return;
    }
    const facts = factsOf(this.tree!, this.passes, at);
    const match = Math.max(0, Math.min(numberParam(this.params, "match", 0), facts.matches));
    this.page.middle.querySelector(":scope > .stage > .layer.kept")?.remove();
    const hurried = this.passedThrough(facts.id);
    this.matches.show(facts, match, hurried ? SETTLE_MS : 0);
    const contextAt = this.tree!.contextAt.get(this.tree!.steps.context[at]!) ?? -1;
    const names = [this.tree!.contexts.name[contextAt] ?? "", this.tree!.serials[contextAt] ?? ""] as const;
    const { first } = this.modes;
    const key = `${facts.id}/${match}${first === null ? "" : `/${first}`}`;
    if (key === this.shown && this.graph) {
      if (this.wanted !== "" || this.covered) this.stage.title(...names, facts.name, match, this.graph);
      if (this.wanted !== "") this.stopLoading(); // back before the other graph was there
      this.covered = false;
      this.showSelection();
      void this.modes.show(this.graph);
      this.drawStatus(); // the text shows other nodes than the graph
      return;
    }
    if (key === this.wanted) return;
    this.wanted = key;
    this.stage.title(...names, facts.name, match, null);
    this.loading.abort();
    this.loading = new AbortController();
    const { signal } = this.loading;
    this.busy = true;
    const graph = await waitFor(
      this.stage.body,
      {
        title: `Replaying ${clip(facts.name, 80)}`,
        note: match > 0 ? `to match ${count(match)} of ${count(facts.matches)}` : `${count(facts.matches)} matches`,
        unit: "match",
        progress: (stop) => this.page.client.get<Progress>(`steps/${facts.id}/progress`, stop),
        stopped: (done) => this.stoppedAt(facts.id, match, done),
        again: () => void this.arrive(),
      },
      async (stop) => {
        if (hurried) await abortable(new Promise((done) => window.setTimeout(done, SETTLE_MS)), stop);
        // what is near the selection depends on where that is
        if (this.params["near"] !== undefined) await this.selecting.ready(this.params, { step: facts.id, match });
        return this.graphs.get(facts.id, match, stop, first);
      },
      signal,
    );
    if (signal.aborted) return;
    this.wanted = "";
    if (!graph) {
      this.busy = false;
      this.covered = true;
      this.drawStatus();
      return;
    }
    this.lastStep.hurried = false; // the user stays on this one: its other matches come at once
    const context = this.tree!.steps.context[at]!;
    // where instructions have names, a box is the same in the next pass too
    const scope = isNamed(graph) ? -2 - context : (graph.from?.step ?? facts.id);
    // two graphs that have little in common are better off with a layout of their own
    const alike = graph.shared === undefined || 2 * graph.shared >= graph.id.length;
    const mode = this.scope === scope && this.shown !== "" && alike ? "step" : "fresh";
    this.scope = scope;
    this.graph = graph;
    this.covered = false;
    this.shown = key;
    this.stage.title(...names, facts.name, match, graph);
    this.matches.showError(graph.error);
    this.matches.showDifference(graph);
    this.showSelection();
    void this.modes.show(graph);
    const anchor = mode === "fresh" ? (this.params["at"] ?? null) : null;
    const way =
      mode === "fresh"
        ? wayTo(graph, this.params["laid"], (step, match, since) =>
            this.graphs.get(step, match, signal, since ? first : null),
          )
        : [];
    const laying = { title: `Laying out ${clip(facts.name, 80)}`, note: `${count(graph.id.length)} nodes` };
    await waitFor(
      this.stage.body,
      laying,
      (stop) => abortable(this.stage.show(graph, mode, scope, anchor, way), stop),
      signal,
    );
    if (signal.aborted) return;
    this.busy = false;
    if (this.sought !== null) this.stage.light(this.sought, null);
    else if (isNamed(graph) && mode === "fresh" && anchor === null) this.stage.sight();
    this.sought = null;
    this.drawer.show(facts.id, graph);
    this.page.middle.dataset["since"] = first ?? "";
    this.page.middle.dataset["shown"] = `${facts.id}/${match}`;
    this.drawStatus();
    this.rememberCamera();
    this.graphs.ahead(facts.id, match + 1, facts.matches, first);
  }

  private stopLoading(): void {
    this.loading.abort();
    this.wanted = "";
    this.busy = false;
  }

  /** Stopped on the way to a match: the last one that was reached is shown, since it is there. */
  private stoppedAt(step: number, wanted: number, done: number): boolean {
    if (done <= 0 || done >= wanted || this.params["step"] !== String(step)) return false;
    window.setTimeout(() => this.page.nav.set({ match: done, at: null, laid: null }, "replace"));
    return true;
  }

  /** True when the user came to this step and has hardly looked at the one before. */
  private passedThrough(step: number): boolean {
    const now = performance.now();
    if (step !== this.lastStep.id) this.lastStep = { id: step, at: now, hurried: now - this.lastStep.at < HURRY_MS };
    return this.lastStep.hurried;
  }

  private showSelection(): void {
    const graph = this.graph!;
    const wanted = numberParam(this.params, "id", -1);
    if (wanted >= 0) {
      this.sought = identityOf(graph, wanted, this.params["op"] ?? "");
      this.page.nav.set({ id: null, op: null, node: this.sought }, "replace");
      return;
    }
    this.selecting.show(this.params, graph);
  }

  private showContext(at: number): void {
    const tree = this.tree!;
    const id = tree.contexts.id[at]!;
    this.stopLoading();
    this.graph = null;
    this.shown = "";
    this.stage.clear();
    this.selecting.strip.clear();
    this.drawer.clear();
    this.matches.clear();
    this.stage.title(tree.contexts.name[at]!, tree.serials[at]!, null, 0, null);
    const link = (params: Record<string, string>, view = "rewrites"): string => this.page.nav.address(view, params);
    const has = (view: string): boolean => this.page.has(view);
    showLayer(this.stage.body, contextPage(tree, at, this.passes, link, has));
    this.page.client.once<ContextWire>(`contexts/${id}`).then(
      (wire) => {
        if (numberParam(this.params, "context", -1) === id && this.params["step"] === undefined)
          this.matches.clear(stackSection(wire));
      },
      () => undefined,
    );
    this.page.middle.dataset["shown"] = `context/${id}`;
    this.drawStatus();
  }

  private goContext(): void {
    const at = this.tree?.stepAt.get(numberParam(this.params, "step", -1));
    if (at !== undefined) this.choose("context", this.tree!.steps.context[at]!);
  }

  /** Next or previous match; while one is being drawn a held key waits, so every match is seen. */
  private step(by: 1 | -1): void {
    if (this.busy || !this.tree) return;
    const at = this.tree.stepAt.get(numberParam(this.params, "step", -1));
    if (at === undefined) return;
    const last = entriesOf(this.tree, this.passes, at);
    const match = Math.min(numberParam(this.params, "match", 0), last) + by;
    if (match < 0 || match > last) return;
    this.page.nav.set({ match: match === 0 ? null : match, id: null }, this.paused() ? "push" : "replace");
  }

  private toggle(name: Toggle): void {
    // G goes there
    if (this.params["as"] === "text") return this.stage.say("The text has every node; this folds the graph.");
    this.page.nav.set({ show: toggled(this.params["show"], name) }, "replace");
  }

  /** Writes camera and layout into the address once they rest. */
  private rememberCamera(): void {
    window.clearTimeout(this.cameraTimer);
    const step = this.graph?.step;
    this.cameraTimer = window.setTimeout(() => {
      // the camera of a graph that was left says nothing about the next one
      if (step === undefined || this.params["step"] !== String(step) || this.leaving.signal.aborted) return;
      const link = this.busy ? null : this.stage.link;
      if (link !== null) this.page.nav.set(link, "replace");
    }, CAMERA_MS);
  }

  /** Goes from a CALL to the passes of the kernel that it became. */
  private async openCall(node: number): Promise<void> {
    const context = await calledContext(this.page.client, this.graph?.step, node).catch(sentenceOf);
    if (typeof context === "string") this.stage.say(context);
    else if (context >= 0) this.choose("context", context);
    else this.stage.say("This call was compiled in no context of this capture.");
  }

  /** O: the kernel of the selected call. */
  private openSelected(): void {
    const at = this.graph?.identity.indexOf(this.stage.current ?? -1) ?? -1;
    if (at >= 0 && isCall(this.graph!, at)) void this.openCall(this.graph!.id[at]!);
    else this.stage.say("Select a call to open its kernel.");
  }

  private drawStatus(): void {
    const graph = this.covered ? null : this.graph;
    // as text all of it is there
    rewritesStatus(this.page, graph, this.params["as"] === "text" ? [0, 0, ""] : this.counts);
  }
}
