/** How the graph of the rewrites is shown: against another one, only a part of it, in other colours. */
import { count } from "../../base/format.ts";
import type { ContextTree } from "../../data/tree.ts";
import { formatNear, grown, parseNear, type Near } from "../../layout/graph/near.ts";
import { COLOURINGS, needsBirths, tints, type Colouring, type LegendEntry } from "../../layout/graph/tints.ts";
import { numberParam, type Params } from "../../state/place.ts";
import { formatPlaceOf, parsePlaceOf, type GraphPlace } from "../../state/selection.ts";
import type { BirthsWire } from "../../wire/capture.ts";
import type { GraphWire } from "../../wire/graph.ts";
import type { Page } from "../registry.ts";
import { ModeBar, modeItems, type ModeActions, type Modes } from "./mode_bar.ts";
import type { MenuItem } from "../shell/menu.ts";
import type { Selecting } from "./selecting.ts";

export interface ModesHost {
  tree(): ContextTree | null;
  /** The graph of the address; null when it shows none. */
  shown(): GraphPlace | null;
  /** How many graphs a step has after the one that went in. */
  last(step: number): number;
  hasSelection(): boolean;
  setNear(near: Near | null): void;
  setTint(tint: ReadonlyMap<number, number> | null): void;
  toggleIdle(): void;
  idleHidden(): boolean;
  say(text: string): void;
}

/** What goes along to another pass: how graphs are shown, and in the same context the selection and the first graph. */
export function takenAlong(
  tree: ContextTree,
  params: Params,
  step: number,
  selecting: Pick<Selecting, "params">,
): Record<string, string | null> {
  const contextOf = (id: number): number | undefined => tree.steps.context[tree.stepAt.get(id) ?? -1];
  const same = contextOf(step) === contextOf(numberParam(params, "step", -1));
  const [first = null, near = null, colour = null] = ["first", "near", "colour"].map((name) => params[name]);
  return same ? { first, near, colour, ...selecting.params(step) } : { colour };
}

export class ModeControl implements ModeActions {
  readonly bar = new ModeBar(this);
  private params: Params = {};
  private graph: GraphWire | null = null;
  private legend: readonly LegendEntry[] = [];

  constructor(
    private readonly page: Page,
    private readonly host: ModesHost,
  ) {}

  /** The first graph of the difference that the address asks for; null for none, or of another context. */
  get first(): string | null {
    const first = parsePlaceOf(this.params["first"]);
    const shown = this.host.shown();
    const tree = this.host.tree();
    if (first === null || shown === null || tree === null) return null;
    const [a, b] = [first, shown].map(({ step }) => tree.steps.context[tree.stepAt.get(step) ?? -1]);
    return a === undefined || a !== b ? null : formatPlaceOf(first);
  }

  get items(): MenuItem[] {
    return modeItems(this, this.modes, this.host.idleHidden());
  }

  private get modes(): Modes {
    return { since: this.words(), near: this.near, colour: this.colouring, legend: this.legend };
  }

  private get near(): Near | null {
    return parseNear(this.params["near"]);
  }

  private get colouring(): Colouring {
    return COLOURINGS.find((one) => one === this.params["colour"]) ?? "family";
  }

  /** The address says how; what depends on the graph comes with it. */
  apply(params: Params): void {
    this.params = params;
    this.host.setNear(this.near);
    this.bar.draw(this.modes);
  }

  /** Colours for the graph that is shown now. */
  async show(graph: GraphWire): Promise<void> {
    this.graph = graph;
    const by = this.colouring;
    if (by === "family") {
      this.legend = [];
      this.host.setTint(null);
      return this.bar.draw(this.modes);
    }
    const asked = `steps/${graph.step}/births?match=${graph.match}`;
    const births = needsBirths(by) ? await this.page.client.once<BirthsWire>(asked).catch(() => null) : null;
    if (this.graph !== graph || this.colouring !== by) return;
    const { of, legend } = tints(graph, by, births === null ? null : known(graph, births));
    this.legend = legend;
    this.host.setTint(of);
    this.bar.draw(this.modes);
  }

  hold(): void {
    const shown = this.host.shown();
    if (shown === null) return;
    if (this.params["first"] !== undefined) this.page.nav.set({ first: null });
    else {
      this.page.nav.set({ first: formatPlaceOf(shown) });
      this.host.say("Go to another match or pass: it is shown against this one.");
    }
  }

  swap(): void {
    const first = parsePlaceOf(this.first ?? undefined);
    const shown = this.host.shown();
    if (first === null || shown === null) return this.host.say("A begins a difference; then it can be turned round.");
    const place = { step: first.step, match: first.match === 0 ? null : first.match };
    this.page.nav.set({ ...place, first: formatPlaceOf(shown), at: null, laid: null });
  }

  whole(): void {
    const shown = this.host.shown();
    if (shown === null) return;
    const last = this.host.last(shown.step);
    const first = formatPlaceOf({ step: shown.step, match: 0 });
    if (last === 0) this.host.say("This pass changed nothing.");
    else if (this.first === first && shown.match === last) this.page.nav.set({ first: null });
    else this.page.nav.set({ first, match: last });
  }

  nearSelection(): void {
    if (this.near?.of === "selection") return this.page.nav.set({ near: null });
    if (!this.host.hasSelection()) return this.host.say("Select a node to see only what is near it.");
    this.page.nav.set({ near: formatNear({ of: "selection", up: 1, down: 1 }) });
  }

  nearChange(): void {
    if (this.near?.of === "change") return this.page.nav.set({ near: null });
    this.page.nav.set({ near: formatNear({ of: "change", up: 1, down: 1 }) });
  }

  grow(up: number, down: number): void {
    const { near } = this;
    if (near === null) return this.host.say("V shows only what is near the selection, ⇧Z only the change.");
    this.page.nav.set({ near: formatNear(grown(near, up, down)) }, "replace");
  }

  colour(by: Colouring): void {
    this.page.nav.set({ colour: by === "family" ? null : by }, "replace");
  }

  nextColour(): void {
    this.colour(COLOURINGS[(COLOURINGS.indexOf(this.colouring) + 1) % COLOURINGS.length]!);
  }

  hideIdle(): void {
    this.host.toggleIdle();
  }

  /** True when something of this was on and is no longer. */
  escape(): boolean {
    const on = (["near", "first"] as const).find((name) => this.params[name] !== undefined);
    if (on !== undefined) this.page.nav.set({ [on]: null });
    return on !== undefined;
  }

  private words(): string | null {
    const first = parsePlaceOf(this.first ?? undefined);
    const tree = this.host.tree();
    if (first === null || tree === null) return null;
    const name = tree.stepName(tree.stepAt.get(first.step) ?? -1);
    return `${name} › ${first.match === 0 ? "input" : `match ${count(first.match)}`}`;
  }
}

/** What made the boxes, by the keys that they have in the picture. */
function known(graph: GraphWire, births: BirthsWire): BirthsWire {
  if (graph.own === undefined) return births;
  const key = new Map(graph.own.map((own, at) => [own, graph.identity[at]!]));
  return { ...births, identity: births.identity.map((own) => key.get(own) ?? -1) };
}

/** The keys of these modes; true when one was used. */
export function modeKey(modes: ModeControl, event: KeyboardEvent): boolean {
  const act = new Map<string, () => void>([
    ["a", () => modes.hold()],
    ["A", () => modes.swap()],
    ["p", () => modes.whole()],
    ["v", () => modes.nearSelection()],
    ["Z", () => modes.nearChange()],
    [".", () => modes.grow(1, 1)],
    [",", () => modes.grow(-1, -1)],
    ["u", () => modes.grow(1, 0)],
    ["U", () => modes.grow(-1, 0)],
    ["d", () => modes.grow(0, 1)],
    ["D", () => modes.grow(0, -1)],
    ["l", () => modes.nextColour()],
    ["h", () => modes.hideIdle()],
  ]).get(event.key);
  act?.();
  return act !== undefined;
}

/** Step and match of an address. */
export function shownPlace(params: Params): GraphPlace | null {
  const step = numberParam(params, "step", -1);
  return step < 0 ? null : { step, match: Math.max(0, numberParam(params, "match", 0)) };
}
