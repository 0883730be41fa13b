/** The middle of the rewrites: breadcrumb and legend above, the graph or its text, toggles and zoom below. */
import { nameNodes } from "../../base/ansi.ts";
import { fill, h } from "../../base/dom.ts";
import { clip, count } from "../../base/format.ts";
import type { How } from "../../state/selection.ts";
import { onTheme, readSetting, theme, writeSetting } from "../../state/settings.ts";
import { INDEXING } from "../../layout/graph/fold.ts";
import type { Near } from "../../layout/graph/near.ts";
import { callersOf, drawable, isNamed } from "../../layout/instructions.ts";
import type { GraphWire } from "../../wire/graph.ts";
import { clearLayer } from "../common/states.ts";
import { GraphView } from "../graph/graph_view.ts";
import type { Direction } from "../graph/keyboard.ts";
import { findInText, textView } from "./text_view.ts";

export type Toggle = "indexing" | "calls" | "sink" | "constants";
export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

const NAMES: readonly Toggle[] = ["indexing", "calls", "sink", "constants"];
const TOGGLES: [Toggle, string, string][] = [
  ["indexing", "Indexing", "R"],
  ["calls", "Call sources", "C"],
  ["sink", "Sink", "S"],
];
/** What the graph shows when nobody has said otherwise. */
export const SHOWN_AT_FIRST: readonly Toggle[] = ["indexing"];

/** What an address says when one of the switches is turned; null for what needs no word. */
export function toggled(show: string | undefined, name: Toggle): string | null {
  const names = new Set(show?.split(",") ?? SHOWN_AT_FIRST);
  if (!names.delete(name)) names.add(name);
  const text = [...names]
    .filter((value) => value !== "" && value !== "none")
    .sort()
    .join(",");
  return text === SHOWN_AT_FIRST.join(",") ? null : text === "" ? "none" : text;
}

export interface StageActions {
  onSelect(identity: number | null, how: How): void;
  onCamera(camera: Camera): void;
  onCounts(shown: number, total: number, hidden: string): void;
  onOpenCall(id: number): void;
  onToggle(name: Toggle): void;
  onText(text: boolean): void;
  onContext(): void;
  onStep(): void;
}

export class Stage {
  readonly body = h("div.stage");
  /** Below the graph: what there is to say about the whole pass. */
  readonly drawer = h("div.drawer", { hidden: true });
  private readonly crumbs = h("span.ell.crumbs");
  private readonly legend = h("button.legend.wide", {
    type: "button",
    title: "Show the change (Z)",
    "aria-live": "polite",
    onclick: () => this.showChange(),
  });
  private readonly graphHost = h("div.graph");
  private readonly textHost = h("div.texts", { hidden: true });
  private readonly modes: Record<"graph" | "text", HTMLElement>;
  private readonly buttons = new Map<Toggle, HTMLElement>();
  private readonly tools: Record<"again" | "follow" | "change" | "fit", HTMLElement>;
  private follow = readSetting("follow", "on") === "on";
  private readonly zoom = h("span.num.dim.zoom");
  private readonly find = h("input.find", {
    type: "text",
    placeholder: "Find in graph",
    "aria-label": "Find in graph",
    spellcheck: "false",
  }) as HTMLInputElement;
  private readonly found = h("span.found.faint.small", { role: "status" });
  private view: GraphView | null = null;
  private graph: GraphWire | null = null;
  private drawn: GraphWire | null = null;
  /** Instructions whose bodies are shown, by their identities. */
  private readonly bodies = new Set<number>();
  private asText = false;
  /** Graphs of one scope keep each other's places: those of a step, of a context where instructions have names. */
  private scope = -1;
  private sought = "";
  private foundAt = 0;
  private selected: number | null = null;
  private kept: readonly number[] = [];
  private near: Near | null = null;
  private tint: ReadonlyMap<number, number> | null = null;
  private readonly shown = new Set<Toggle>(SHOWN_AT_FIRST);
  private readonly stopTheme: () => void;

  constructor(
    host: HTMLElement,
    private readonly actions: StageActions,
    /** Above the graph: how it is shown, and the button for it; below: where the selection lives. */
    parts: { modes: HTMLElement; show: HTMLElement; strip: HTMLElement },
  ) {
    this.modes = {
      graph: h("button", { type: "button", onclick: () => actions.onText(false) }, "Graph"),
      text: h("button", { type: "button", onclick: () => actions.onText(true) }, "Text"),
    };
    for (const [name, title, key] of TOGGLES) {
      this.buttons.set(
        name,
        h("button.btn", { type: "button", onclick: () => actions.onToggle(name) }, title, " ", h("kbd", key)),
      );
    }
    this.body.append(this.graphHost, this.textHost);
    this.find.addEventListener("input", () => this.search());
    this.find.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.search(true);
      else if (event.key === "Escape") {
        this.find.value = "";
        this.search();
        this.find.blur();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.tools = {
      again: h("button.btn", { type: "button", onclick: () => void this.view?.layoutAgain() }, "Lay out again"),
      follow: h(
        "button.btn",
        {
          type: "button",
          title: "Stepping moves the view when the change is outside of it",
          onclick: () => this.toggleFollow(),
        },
        "Follow ",
        h("kbd", "K"),
      ),
      change: h(
        "button.btn",
        { type: "button", title: "Show what this match changed", onclick: () => this.showChange() },
        "Change ",
        h("kbd", "Z"),
      ),
      fit: h("button.btn", { type: "button", onclick: () => this.fit() }, "Fit ", h("kbd", "Space")),
    };
    host.append(
      h(
        "div.bar",
        this.crumbs,
        h("span.grow"),
        this.legend,
        parts.show,
        h("span.seg", { role: "group", "aria-label": "Graph or text (G)" }, this.modes.graph, this.modes.text),
      ),
      parts.modes,
      this.body,
      parts.strip,
      this.drawer,
      h(
        "div.bar.low",
        ...this.buttons.values(),
        h("span.grow"),
        this.found,
        this.find,
        ...Object.values(this.tools),
        this.zoom,
      ),
    );
    this.stopTheme = onTheme(() => this.redraw());
    this.mark();
  }

  /** Names what is shown. */
  title(context: string, serial: string, step: string | null, match: number, graph: GraphWire | null): void {
    const which = serial !== "" && h("span.faint", ` ${serial}`);
    this.usable(step !== null);
    if (step === null) {
      fill(this.crumbs, h("b.name", ...nameNodes(context, 120)), which);
      return;
    }
    fill(
      this.crumbs,
      h(
        "button.crumb.dim",
        { type: "button", onclick: () => this.actions.onContext() },
        ...nameNodes(context, 120),
        which,
      ),
      h("span.faint", " › "),
      h("button.crumb", { type: "button", onclick: () => this.actions.onStep() }, h("b.name", clip(step, 120))),
      h("span.faint", " › "),
      h("span", match === 0 ? "input" : `match ${count(match)}`),
    );
    if (graph) this.drawLegend(graph);
  }

  /** Draws a graph; "step" keeps every surviving box where it is. `way`: the graphs that its layout came over. */
  async show(
    graph: GraphWire,
    mode: "fresh" | "step",
    scope: number,
    anchor: string | null,
    way: readonly (() => Promise<GraphWire>)[] = [],
  ): Promise<void> {
    clearLayer(this.body);
    if (this.scope !== scope) this.bodies.clear();
    this.scope = scope;
    if (this.find.value === "") this.found.textContent = "";
    this.graph = graph;
    // a compiler of named instructions may have no indexing to speak of
    const indexes = !isNamed(graph) || graph.fold.some((bits) => (bits & INDEXING) !== 0);
    this.buttons.get("indexing")!.hidden = !indexes;
    if (this.asText) this.drawText();
    else await this.drawGraph(mode, anchor, way);
  }

  /** What makes a link show the same picture: the camera, and the way to the layout. */
  get link(): { at: string | null; laid: string | null } | null {
    if (!this.view || this.asText || this.drawn !== this.graph || !this.graph) return null;
    return { at: this.view.anchor, laid: this.view.trail.format(this.graph.step) };
  }

  /** The key of the selected box. */
  get current(): number | null {
    return this.selected;
  }

  /** Selects a box, and others besides; before the graph is drawn it takes effect with it. */
  select(identity: number | null, kept: readonly number[] = []): void {
    if (this.selected === identity && this.kept.join() === kept.join()) return;
    this.selected = identity;
    this.kept = kept;
    if (this.drawn !== null && this.drawn === this.graph) {
      if (this.uncover(this.drawn) && !this.asText) void this.drawGraph("fresh", null).then(() => this.sight());
      else this.view?.select(identity, null, kept);
    }
    if (this.asText) this.drawText();
  }

  /** Brings the selected box into sight. */
  sight(): void {
    if (this.selected !== null) this.light(this.selected, null);
  }

  /** Shows a part of the graph, or all of it. */
  setNear(near: Near | null): void {
    this.near = near;
    this.view?.setNear(near);
  }

  /** Colours of boxes by their keys; null for those of their families. */
  setTint(tint: ReadonlyMap<number, number> | null): void {
    if (tint === null && this.tint === null) return;
    this.tint = tint;
    this.view?.setTint(tint);
  }

  async setText(text: boolean): Promise<void> {
    if (text === this.asText) return;
    this.asText = text;
    this.mark();
    if (!this.graph) return;
    this.usable(true);
    if (text) this.drawText();
    else {
      fill(this.textHost);
      if (this.drawn !== this.graph)
        await this.drawGraph(this.drawn?.step === this.graph.step ? "step" : "fresh", null);
    }
  }

  /** Makes the toggles be as the address says. */
  setShown(names: ReadonlySet<Toggle>): void {
    for (const name of NAMES) {
      if (names.has(name) === this.shown.has(name)) continue;
      if (names.has(name)) this.shown.add(name);
      else this.shown.delete(name);
      this.view?.toggle(name);
      // bodies of calls of named instructions are put in before the graph's own switches see it
      if (name === "calls" && this.drawn && isNamed(this.drawn) && !this.asText) void this.drawGraph("fresh", null);
    }
    this.mark();
  }

  /** Marks one or two boxes and brings one into sight; how many of them are there. */
  light(one: number, other: number | null): number {
    return this.view?.light(one, other) ?? 0;
  }

  /** Marks the boxes that a decision is about; -1 for one that has no name. */
  lightDecision(a: number, b: number): void {
    const [one, other] = a >= 0 ? [a, b >= 0 ? b : null] : [b, null];
    if (one < 0) this.say("The capture has no name for what this is about.");
    else if (this.light(one, other) === 0) this.say("Neither is in the graph that is shown.");
    else this.say("");
  }

  /** Along the edges of the graph. */
  walk(direction: Direction): void {
    if (!this.asText && this.graph) this.view?.walk(direction);
  }

  fit(): void {
    this.view?.fit();
  }

  /** Moves the view to what the match changed; in the text, to its first line. */
  showChange(): void {
    if (this.asText) this.textHost.querySelector(".t.a, .t.c, .t.d")?.scrollIntoView({ block: "center" });
    else if (this.view?.showChange() !== true)
      this.say(
        this.graph?.match === 0
          ? "Nothing changed yet: this is the graph that went in."
          : "The change is in nodes that are not shown.",
      );
  }

  /** Whether stepping keeps the change in sight; the browser remembers it. */
  toggleFollow(): void {
    this.follow = !this.follow;
    writeSetting("follow", this.follow ? "on" : "off");
    this.mark();
    if (this.follow) this.view?.keepInSight();
  }

  /** A short word about what a key did not do. */
  say(text: string): void {
    this.found.textContent = text;
  }

  /** False when there is nothing to find in. */
  focusFind(): boolean {
    if (this.find.disabled) return false;
    this.find.focus();
    this.find.select();
    return true;
  }

  setZoom(zoom: number): void {
    this.zoom.textContent = `${Math.round(zoom * 100)}%`;
  }

  clear(): void {
    this.graph = null;
    fill(this.legend);
    fill(this.textHost);
  }

  dispose(): void {
    this.stopTheme();
    this.view?.dispose();
  }

  private async drawGraph(
    mode: "fresh" | "step",
    anchor: string | null,
    way: readonly (() => Promise<GraphWire>)[] = [],
  ): Promise<void> {
    const graph = this.graph!;
    if (!this.view) {
      this.view = new GraphView(this.graphHost, {
        onSelect: (identity, how) => this.actions.onSelect(identity, how),
        onOpenCall: (id) => this.actions.onOpenCall(id),
        onOpenBody: (key) => void this.flipBody(key),
        onCamera: (at) => this.actions.onCamera(at),
        onCounts: (shown, total, hidden) => this.actions.onCounts(shown, total, hidden),
        theme,
      });
      this.view.follow = this.follow;
      this.view.setNear(this.near);
      this.view.setTint(this.tint);
      // for tests and measurements: where the boxes are
      Object.assign(this.graphHost, { graphView: this.view });
      for (const name of NAMES) if (this.shown.has(name) !== SHOWN_AT_FIRST.includes(name)) this.view.toggle(name);
    }
    this.drawn = graph;
    this.uncover(graph);
    [this.view.selected, this.view.kept] = [this.selected, this.kept];
    const before = way.map((get) => async (): Promise<[GraphWire, number]> => {
      const earlier = await get();
      return [this.picture(earlier), earlier.step];
    });
    const retraced = before.length > 0 && (await this.view.retrace(before));
    if (this.graph !== graph) return;
    await this.view.show(this.picture(graph), retraced ? "step" : mode, graph.step);
    if (this.graph !== graph) return;
    this.view.select(this.selected, null, this.kept);
    if (anchor !== null || retraced) this.view.lookAt(anchor);
  }

  /** Shows the body of what an instruction calls, or leaves it out again. */
  private async flipBody(key: number): Promise<void> {
    if (!this.bodies.delete(key)) this.bodies.add(key);
    await this.drawGraph("fresh", null);
    this.light(key, null);
  }

  /** Opens the bodies that the selected instruction is in; whether one was closed. */
  private uncover(graph: GraphWire): boolean {
    if (this.selected === null || !isNamed(graph) || this.shown.has("calls")) return false;
    const closed = callersOf(graph, this.selected).filter((key) => !this.bodies.has(key));
    for (const key of closed) this.bodies.add(key);
    return closed.length > 0;
  }

  /** A graph of named instructions in the form that it is drawn in; any other as it is. */
  private picture(graph: GraphWire): GraphWire {
    if (isNamed(graph)) return drawable(graph, this.shown.has("calls") || this.bodies, this.scope);
    return graph.from === undefined ? graph : { ...graph, step: this.scope };
  }

  private drawText(): void {
    const at = this.textHost.firstElementChild?.scrollTop ?? 0;
    fill(
      this.textHost,
      textView(this.graph!, this.selected, (identity) => this.actions.onSelect(identity, "alone")),
    );
    this.textHost.firstElementChild!.scrollTop = at;
    if (this.sought !== "") findInText(this.textHost, this.sought, this.foundAt);
  }

  private drawLegend(graph: GraphWire): void {
    const entry = (kind: string, number: number): HTMLElement | false =>
      number > 0 && h("span", h(`i.${kind}`), `${count(number)} ${kind}`);
    fill(
      this.legend,
      entry("added", graph.added.length),
      entry("changed", graph.changed.length),
      entry("removed", graph.removed.length),
    );
  }

  /** Without a graph there is nothing to switch, fit or find; in the text nothing to fold, lay out or fit. */
  private usable(graph: boolean): void {
    const { again, follow, change, fit } = this.tools;
    const [everywhere, drawn] = [
      [this.modes.graph, this.modes.text, change, this.find],
      [...this.buttons.values(), again, follow, fit],
    ];
    for (const control of everywhere) (control as HTMLButtonElement).disabled = !graph;
    for (const control of drawn) (control as HTMLButtonElement).disabled = !graph || this.asText;
    this.zoom.classList.toggle("unseen", !graph || this.asText);
  }

  private mark(): void {
    this.modes.graph.classList.toggle("on", !this.asText);
    this.modes.text.classList.toggle("on", this.asText);
    this.modes.graph.setAttribute("aria-pressed", String(!this.asText));
    this.modes.text.setAttribute("aria-pressed", String(this.asText));
    this.graphHost.hidden = this.asText;
    this.textHost.hidden = !this.asText;
    this.tools.follow.classList.toggle("on", this.follow);
    this.tools.follow.setAttribute("aria-pressed", String(this.follow));
    if (this.view) this.view.follow = this.follow;
    for (const [name, button] of this.buttons) {
      button.classList.toggle("on", this.shown.has(name));
      button.setAttribute("aria-pressed", String(this.shown.has(name)));
    }
  }

  private search(select = false): void {
    const text = this.find.value.trim();
    this.foundAt = text === this.sought ? this.foundAt + 1 : 0;
    this.sought = text;
    const number = this.asText ? findInText(this.textHost, text, this.foundAt) : (this.view?.find(text, select) ?? 0);
    if (!this.asText) this.foundAt = Math.max(0, this.view?.foundAt ?? 0);
    this.found.textContent =
      text === "" ? "" : number === 0 ? "none" : `${count((this.foundAt % number) + 1)} of ${count(number)} found`;
  }

  private redraw(): void {
    if (this.graph && !this.asText) void this.view?.show(this.picture(this.graph), "step", this.graph.step);
  }
}
