import "./graph.css";
import { h } from "../../base/dom.ts";
import { notebook } from "../../data/notes.ts";
import { CanvasRenderer } from "../../draw/canvas.ts";
import { Minimap } from "../../draw/minimap.ts";
import { picture as pictureOf, type Camera, type Marks, type Picture } from "../../draw/renderer.ts";
import { readTheme, type Theme } from "../../draw/theme.ts";
import { divide, isLarge, neighbourhood, openBlock } from "../../layout/graph/blocks.ts";
import { isCall } from "../../layout/graph/labels.ts";
import type { DrawnGraph } from "../../layout/instructions.ts";
import { LayoutClient } from "../../layout/layered/client.ts";
import type { Placement } from "../../layout/layered/drawing.ts";
import { DEFAULT_SWITCHES, type Switches } from "../../layout/graph/fold.ts";
import type { Folding } from "../../layout/graph/folding.ts";
import type { Near } from "../../layout/graph/near.ts";
import { pinned } from "../../layout/graph/pinned.ts";
import { Places } from "../../layout/graph/places.ts";
import { drawingOf, scene as sceneOf, type Scene } from "../../layout/graph/scene.ts";
import type { How } from "../../state/selection.ts";
import { Trail, type Station } from "../../state/trail.ts";
import { offerSheets } from "../common/sheets.ts";
import { boxAt, boxesOf, changeOutside, middleKey, onScreen, startBox, type BoxAt } from "./boxes_at.ts";
import { anchorOf, cameraAt, holding } from "./anchor.ts";
import { boxOfKey, rootBox, tinted } from "./box_of.ts";
import { around, changes, fitted, following, opening, revealing } from "./camera.ts";
import { graphSheets } from "./graph_sheets.ts";
import { fullText, graphLabel, short, spoken } from "./describe.ts";
import { find, findInOrder } from "./find.ts";
import { step, type Direction } from "./keyboard.ts";
import { Notice, Outside } from "./notice.ts";
import type { GraphOptions } from "./options.ts";
import { Overlay, type Tool } from "./overlay.ts";
import { partOf } from "./part.ts";
import { isSources, toolsOf } from "./tools.ts";
import { wire } from "./wiring.ts";

const REFINE_MS = 110;
/** Nodes around a change that stay by themselves in a large graph. */
const NEAR = 220;

/** A graph in a host element: draws it, folds it, lets the user move in it. */
export class GraphView {
  private readonly canvas = h("canvas.graph-canvas", {
    tabindex: 0,
    role: "application",
    "aria-roledescription": "graph",
  }) as HTMLCanvasElement;
  private readonly map = h("canvas.graph-map", { hidden: true, "aria-hidden": "true" }) as HTMLCanvasElement;
  private readonly renderer: CanvasRenderer;
  private readonly minimap: Minimap;
  private readonly overlay: Overlay;
  private readonly notice: Notice;
  private readonly outside: Outside;
  private readonly client = new LayoutClient();
  private readonly stop = new AbortController();
  private readonly watch: ResizeObserver;
  private graph: DrawnGraph | null = null;
  private picture: Picture | null = null;
  private theme: Theme;
  private folding: Folding = { switches: { ...DEFAULT_SWITCHES }, opened: new Set(), closed: new Set(), blocks: null, only: null }; // prettier-ignore
  private readonly places = new Places();
  /** The way to the layout on the screen. */
  readonly trail = new Trail();
  /** Whether stepping keeps the change in sight. */
  follow = false;
  private station: Station = { step: -1, match: 0 };
  /** On the way to a picture: those before it are not drawn. */
  private passing = false;
  private view: Camera = { x: 0, y: 0, zoom: 1 };
  private marks: Marks = { selected: -1, hovered: -1, second: -1, kept: new Set(), found: new Set(), current: -1, noted: new Set() }; // prettier-ignore
  /** Keys of what is selected, and besides; set from outside they take effect with the next graph. */
  selected: number | null = null;
  kept: readonly number[] = [];
  private second: number | null = null;
  private near: Near | null = null;
  private tint: ReadonlyMap<number, number> | null = null;
  private search = { text: "", at: -1 };
  private shownStep = -1;
  private ticket = 0;
  private frame = 0;
  private refineTimer = 0;
  private width = 1;
  private height = 1;

  constructor(
    private readonly host: HTMLElement,
    private readonly options: GraphOptions,
  ) {
    host.classList.add("graph-host");
    host.append(this.canvas, this.map);
    this.overlay = new Overlay(host);
    this.notice = new Notice(host, {
      expandChange: () => void this.expandChange(),
      expandAll: () => void this.expandAll(),
    });
    this.outside = new Outside(host, () => this.showChange());
    this.renderer = new CanvasRenderer(this.canvas);
    this.minimap = new Minimap(this.map);
    this.theme = readTheme(host);
    this.renderer.setTheme(this.theme);
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(host);
    this.resize();
    this.wire();
    notebook.onChange(() => this.picture && this.place(this.picture.scene, this.picture.placement), this.stop.signal);
    offerSheets(host, () => graphSheets(host, this.picture, this.view, this.marks));
  }

  get camera(): Camera {
    return { ...this.view };
  }

  set camera(camera: Camera) {
    this.view = { ...camera };
    this.moved();
  }

  /** Draws a graph: "step" keeps surviving boxes in place, "fresh" lays it out anew; `step` is what the way calls its pass. */
  show(graph: DrawnGraph, mode: "fresh" | "step", step = graph.step): Promise<void> {
    this.passing = false;
    return this.showGraph(graph, mode, step);
  }

  private async showGraph(graph: DrawnGraph, mode: "fresh" | "step", step: number): Promise<void> {
    this.station = { step, match: graph.match, since: graph.from !== undefined };
    // a pass whose layout is still under way has no places to keep yet
    const kept = mode === "step" && this.picture !== null && this.shownStep === graph.step;
    const stepping = kept && !this.trail.isFull(this.station);
    this.refreshTheme();
    this.graph = graph;
    if (!stepping) this.folding = { ...this.folding, opened: new Set(), closed: new Set(), blocks: null };
    this.narrow(!stepping);
    const scene = sceneOf(graph, this.folding);
    if (stepping) {
      this.ticket++;
      this.trail.add(this.station);
      const { scene: old, placement } = this.picture!;
      this.place(scene, pinned(scene, { scene: old, placement, memory: this.places.known }));
      if (this.follow && !this.passing) this.keepInSight();
      return;
    }
    if (await this.layout(scene)) this.lookAt(null);
  }

  /** Goes the way to a graph again, out of sight; false when one of them could not be had. */
  async retrace(way: readonly (() => Promise<[DrawnGraph, number]>)[]): Promise<boolean> {
    const began = ++this.ticket;
    this.passing = true;
    try {
      for (const [at, get] of way.entries()) {
        const [graph, step] = await get();
        if (this.ticket !== began + at) return false; // something else is shown meanwhile
        await this.showGraph(graph, at === 0 ? "fresh" : "step", step);
      }
    } catch {
      return false;
    } finally {
      this.passing = false;
    }
    return true;
  }

  /** Where the view is, told from a box: the selected one when it is in sight, else the one nearest to the middle. */
  get anchor(): string | null {
    return this.picture === null
      ? null
      : anchorOf(this.picture, this.view, this.marks.selected, this.width, this.height);
  }

  /** Goes to where an anchor says, or where a new graph is opened. */
  lookAt(anchor: string | null): void {
    if (this.picture === null) return;
    const root = this.options.atFullest ? -1 : rootBox(this.picture, this.graph!.root);
    const there = cameraAt(anchor, this.picture, (key) => this.boxOfKey(key));
    this.view = there ?? opening(this.picture, root, this.width, this.height);
    this.moved();
    this.renderNow();
  }

  /** Marks one or two boxes and brings one into sight; how many of them are there. */
  light(one: number, other: number | null): number {
    const boxes = [one, ...(other === null ? [] : [other])].filter((key) => this.boxOfKey(key) >= 0);
    if (boxes.length === 0) return 0;
    this.select(boxes[0]!, boxes[1] ?? null);
    this.reveal(this.boxOfKey(boxes[0]!));
    return boxes.length;
  }

  /** Lays the graph out anew, with one box (else the one nearest to the middle) staying where it is on the screen. */
  async layoutAgain(anchor?: number): Promise<void> {
    if (this.graph === null || this.picture === null) return;
    const shift = holding(this.picture, this.graph, anchor ?? this.selected ?? middleKey(this.picture, this.view));
    if (!(await this.layout(sceneOf(this.graph, this.folding)))) return;
    const view = shift(this.picture, this.graph, this.view) ?? fitted(this.picture.bounds, this.width, this.height);
    this.camera = this.near ? around(this.picture, this.marks.selected, view, this.width, this.height) : view;
  }

  /** Selects a node by identity, wherever it is, and marks a second one and others; it does not move the view. */
  select(identity: number | null, second: number | null = null, kept: readonly number[] = this.kept): void {
    const other = identity !== this.selected || kept.join() !== this.kept.join();
    this.selected = identity;
    this.second = second;
    this.kept = kept;
    if (other && this.near?.of === "selection") this.focus();
    const box = identity === null ? -1 : this.boxOfKey(identity);
    const marked = kept.map((key) => this.boxOfKey(key)).filter((one) => one >= 0);
    const others = { kept: new Set(marked), second: second === null ? -1 : this.boxOfKey(second) };
    this.marks = { ...this.marks, selected: box, ...others };
    this.overlay.select(box, this.picture, this.view, this.width, this.height);
    if (box >= 0 && this.picture) this.overlay.say(spoken(this.picture.scene, box));
    this.redraw();
  }

  /** Shows only what is near the selection or the change; null for all of it. */
  setNear(near: Near | null): void {
    if (JSON.stringify(near) === JSON.stringify(this.near)) return;
    this.near = near;
    this.focus();
  }

  /** Boxes in colours of their own, by key; null for those of their families. */
  setTint(of: ReadonlyMap<number, number> | null): void {
    this.tint = of;
    if (this.picture === null) return;
    this.picture = { ...this.picture, family: tinted(this.picture.scene, of) };
    this.renderer.setPicture(this.picture);
    this.redraw();
  }

  /** What is shown of the graph has changed: it is laid out anew around what is selected. */
  private focus(): void {
    if (this.graph === null || this.picture === null) return;
    this.narrow(true);
    void this.layoutAgain();
  }

  /** Works out which part of the graph is shown, and whether it starts in blocks. */
  private narrow(blocks: boolean): void {
    const whole = this.folding.only === null;
    this.folding = partOf(this.graph!, this.folding, this.near, this.selected, this.kept);
    if (this.folding.only === null && (blocks || !whole) && isLarge(this.graph!, this.folding))
      this.folding.blocks = divide(this.graph!, this.folding, this.change(NEAR));
  }

  /** Shows the whole graph. */
  fit(): void {
    if (this.picture === null) return;
    this.view = fitted(this.picture.bounds, this.width, this.height);
    this.moved();
  }

  /** Which hit the search is at, from 0. */
  get foundAt(): number {
    return this.search.at;
  }

  /**
   * Marks the boxes that contain a text and goes to the next of them, or selects the one it is at if that is not
   * selected yet; returns how many there are.
   */
  find(text: string, select = false): number {
    if (this.picture === null || this.graph === null) return 0;
    const found = findInOrder(this.graph, this.picture, text);
    const stay = select && this.marks.selected !== found[this.search.at];
    const at = text !== this.search.text ? 0 : this.search.at + (stay ? 0 : 1);
    this.search = { text, at: found.length === 0 ? -1 : at % found.length };
    const box = found[this.search.at];
    this.marks = { ...this.marks, found: new Set(found), current: box ?? -1 };
    if (box !== undefined) {
      if (select) this.choose(box, false, "move");
      this.reveal(box);
      this.overlay.say(`${this.search.at + 1} of ${found.length}: ${short(this.picture.scene, box)}`);
    }
    this.redraw();
    return found.length;
  }

  /** Moves the view when nothing of what this match changed is in it. */
  keepInSight(): void {
    if (this.picture === null || !changeOutside(this.picture, this.view, this.width, this.height)) return;
    this.camera = following(this.picture, this.view, this.width, this.height) ?? this.view;
  }

  /** Moves the view to what this match changed; false when nothing of it is there to be seen. */
  showChange(): boolean {
    const at = this.picture === null ? null : changes(this.picture, this.width, this.height);
    if (at !== null) this.camera = at;
    return at !== null;
  }

  get switches(): Readonly<Switches> {
    return this.folding.switches;
  }

  /** Turns one of the switches; what is selected, or in the middle, stays put. */
  toggle(name: keyof Switches): void {
    this.folding.switches = { ...this.folding.switches, [name]: !this.folding.switches[name] };
    if (this.graph === null) return;
    this.narrow(this.folding.blocks === null);
    void this.layoutAgain();
  }

  dispose(): void {
    this.stop.abort();
    this.watch.disconnect();
    this.client.dispose();
    cancelAnimationFrame(this.frame);
    this.overlay.dispose();
    clearTimeout(this.refineTimer);
    this.host.replaceChildren();
  }

  /** Boxes and their places, for tests and measurements. */
  get boxes(): BoxAt[] {
    return this.picture === null ? [] : boxesOf(this.picture);
  }

  private async layout(scene: Scene): Promise<boolean> {
    const ticket = ++this.ticket;
    const placement = await this.client.layout(drawingOf(scene));
    if (ticket !== this.ticket || this.stop.signal.aborted) return false;
    this.places.clear();
    this.trail.begin(this.station);
    this.place(scene, placement);
    return true;
  }

  private place(scene: Scene, placement: Placement): void {
    this.picture = { ...pictureOf(scene, placement), family: tinted(scene, this.tint) };
    this.shownStep = this.graph!.step;
    this.places.remember(scene, placement, this.trail.length);
    if (this.passing) return;
    this.renderer.setPicture(this.picture);
    this.minimap.setPicture(this.picture, this.theme, devicePixelRatio);
    this.marks = {
      ...this.marks,
      hovered: -1,
      found: new Set(find(this.graph!, scene, this.search.text)),
      current: -1,
      noted: notebook.nodesOf(this.graph!.step),
    };
    this.overlay.hideTip();
    this.select(this.selected, this.second);
    this.tell();
  }

  /** Tells the page and the screen reader what is shown. */
  private tell(): void {
    const { scene } = this.picture!;
    this.options.onCounts(scene.shown, scene.total, scene.hidden);
    const inBlocks = this.folding.blocks === null ? 0 : scene.total - scene.shown;
    const { added, changed } = this.graph!;
    if (inBlocks > 0) this.notice.show(scene.total, inBlocks, added.length + changed.length > 0);
    else this.notice.hide();
    this.canvas.setAttribute("aria-label", graphLabel(scene));
  }

  private change(most: number): Set<number> {
    return neighbourhood(this.graph!, [...this.graph!.added, ...this.graph!.changed], most);
  }

  private async expandAll(): Promise<void> {
    this.folding.blocks = null;
    await this.layoutAgain();
  }

  private async expandChange(): Promise<void> {
    if (this.graph === null) return;
    this.folding.blocks = divide(this.graph, this.folding, this.change(NEAR));
    if (!(await this.layout(sceneOf(this.graph, this.folding)))) return;
    this.view = opening(this.picture!, -1, this.width, this.height);
    this.moved();
  }

  private toolsOf(box: number): Tool[] {
    return toolsOf(this.graph!, this.picture!, this.folding, box, {
      ...this.options,
      open: (other) => this.open(other),
      again: (key) => void this.layoutAgain(key),
    });
  }

  /** Opens what a double click or Enter asks for: a call's kernel, a body, a block, folded sources. */
  private open(box: number): void {
    const { scene } = this.picture!;
    const [key, v] = [scene.key[box]!, scene.node[box]!];
    if (scene.block[box]! >= 0) this.folding.blocks = openBlock(this.graph!, this.folding, scene.block[box]!);
    else if (isCall(this.graph!, v)) return this.options.onOpenCall(this.graph!.id[v]!);
    else if (this.graph!.bodied?.[v]) return this.options.onOpenBody?.(key);
    else if (!this.folding.closed.delete(key)) return;
    void this.layoutAgain(key);
  }

  private wire(): void {
    const chosen = (): number => this.marks.selected;
    wire(this.canvas, this.map, this.overlay, {
      camera: () => this.camera,
      move: (camera) => (this.camera = camera),
      size: () => ({ width: this.width, height: this.height }),
      hit: (at) => (this.picture === null ? -1 : boxAt(this.picture, this.view, at, this.width, this.height)),
      choose: (box, add) => this.choose(box, true, add ? "add" : "alone"),
      open: (box) => this.open(box),
      hover: (box) => this.hover(box),
      jump: (at) => (this.camera = { ...this.view, ...this.minimap.at(at.x, at.y) }),
      selected: chosen,
      text: () => (chosen() < 0 ? null : fullText(this.graph!, this.picture!.scene, chosen())),
      walk: (direction) => this.walk(direction),
      fold: () => this.toolsOf(chosen()).find(isSources)?.act(),
    }, this.stop.signal); // prettier-ignore
  }

  /** Along the edges from the selected box; without one, first to what the match changed. */
  walk(direction: Direction): void {
    if (this.picture === null || this.picture.scene.count === 0) return;
    const from = this.marks.selected;
    const box = from < 0 ? startBox(this.picture, this.view) : step(this.picture, from, direction);
    this.choose(box, true, "move");
    this.reveal(box);
  }

  private choose(box: number, focus: boolean, how: How): void {
    const key = box < 0 ? null : this.picture!.scene.key[box]!;
    if (focus) this.canvas.focus({ preventScroll: true });
    if (how !== "add") this.select(key, null, how === "alone" ? [] : this.kept);
    // a block is no node of the graph: the page need not know of it
    this.options.onSelect(key !== null && key >= 0 ? key : null, how);
    if (key !== null && key < 0) this.select(key);
  }

  private hover(box: number): void {
    this.canvas.classList.toggle("pointing", box >= 0);
    if (box !== this.marks.hovered) {
      this.marks = { ...this.marks, hovered: box };
      this.redraw();
    }
    if (box < 0) return this.overlay.leaveTip();
    this.overlay.tipSoon(() => {
      if (this.picture === null || this.marks.hovered !== box) return null;
      const text = fullText(this.graph!, this.picture.scene, box);
      return { text, tools: this.toolsOf(box), ...onScreen(this.picture, box, this.view, this.width, this.height) };
    });
  }

  private reveal(box: number): void {
    this.camera = revealing(this.picture!, box, this.view, this.width, this.height);
  }

  private boxOfKey(key: number): number {
    return this.picture === null ? -1 : boxOfKey(this.picture, this.graph!, key);
  }

  private refreshTheme(): void {
    const theme = readTheme(this.host);
    if (theme.bg0 === this.theme.bg0 && theme.fg1 === this.theme.fg1) return;
    this.theme = theme;
    this.renderer.setTheme(theme);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.host;
    if (clientWidth === 0 || (clientWidth === this.width && clientHeight === this.height)) return;
    this.width = clientWidth;
    this.height = clientHeight;
    this.renderer.resize(clientWidth, clientHeight, devicePixelRatio);
    this.renderNow();
  }

  private moved(): void {
    if (this.passing) return;
    this.overlay.hideTip();
    this.options.onCamera(this.camera);
    this.redraw();
  }

  private redraw(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.renderNow());
  }

  private renderNow(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.picture === null || this.passing) return;
    const rough = this.renderer.draw(this.view, this.marks);
    this.drawRest();
    clearTimeout(this.refineTimer);
    if (rough)
      this.refineTimer = window.setTimeout(
        () => (this.renderer.refine(this.view, this.marks), this.drawRest()),
        REFINE_MS,
      );
  }

  private drawRest(): void {
    this.outside.shown = changeOutside(this.picture!, this.view, this.width, this.height);
    this.map.hidden = !this.minimap.draw(this.view, this.width, this.height, this.theme, devicePixelRatio);
    this.overlay.place(this.view, this.picture, this.width, this.height);
  }
}
