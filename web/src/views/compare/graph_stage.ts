/** Both graphs where a pair parts, in the whole middle: one camera moves both, so what both have stays at the same place. */
import { h } from "../../base/dom.ts";
import type { Camera } from "../../draw/renderer.ts";
import { placeBoth, type BothPlaces } from "../../layout/both_graphs.ts";
import { BOX } from "../../layout/layered/drawing.ts";
import type { BothGraphsWire } from "../../wire/compare.ts";
import { PlaneViewport } from "../common/viewport/plane_viewport.ts";
import { halfHead, hasSide, hiddenWords, READABLE, scene, type Side, SIDES, svg } from "./graph_pair.ts";

export interface StageSource {
  /** From the address: x, y and zoom; empty for the one that shows what differs. */
  camera(): string;
  setCamera(camera: string | null): void;
}

interface Size {
  width: number;
  height: number;
}

/** A part of a graph is shown at this zoom at most, so that there is something around it. */
const NEAR = 0.86;
const PAN = 80;
const PANS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-PAN, 0],
  ArrowRight: [PAN, 0],
  ArrowUp: [0, -PAN],
  ArrowDown: [0, PAN],
};

export class GraphStage {
  readonly element: HTMLElement;
  private readonly places: BothPlaces;
  private readonly halves = h("div.cmp-halves");
  private readonly hosts: Record<Side, HTMLElement>;
  private readonly scenes: Record<Side, Element | null>;
  private readonly viewports: PlaneViewport[];
  private readonly stop = new AbortController();
  private readonly watcher = new ResizeObserver(() => this.settle());
  private camera: Camera = { x: 0, y: 0, zoom: 1 };
  private telling = 0;

  constructor(
    readonly graphs: BothGraphsWire,
    notes: Record<Side, string>,
    head: readonly (Node | false)[],
    private readonly source: StageSource,
  ) {
    this.places = placeBoth(graphs.nodes);
    const host = (side: Side): HTMLElement =>
      h("div.graph-plane", { tabindex: 0, role: "group", "aria-label": `Graph of ${side.toUpperCase()}` });
    this.hosts = { a: host("a"), b: host("b") };
    const drawn = (side: Side): Element | null => (hasSide(graphs, side) ? scene(this.places, side) : null);
    this.scenes = { a: drawn("a"), b: drawn("b") };
    for (const side of SIDES) {
      const drawing = this.scenes[side];
      this.hosts[side].append(
        drawing ? svg("svg", { class: "g" }, drawing) : h("p.none", "Nothing here on this side."),
      );
      this.halves.append(h("div.cmp-half", halfHead(side, notes[side]), this.hosts[side]));
    }
    this.viewports = SIDES.map((side) => this.viewport(side));
    this.element = h("div.cmp-graphs", this.bar(head), this.halves, hiddenWords(graphs));
    this.watcher.observe(this.halves);
  }

  dispose(): void {
    this.watcher.disconnect();
    this.stop.abort();
    window.clearTimeout(this.telling);
  }

  /** The address changed, or the room that there is. */
  settle(): void {
    const { clientWidth: width, clientHeight: height } = this.halves;
    if (width === 0) return;
    const beside = this.fit({ width: width / 2, height }).zoom;
    this.halves.classList.toggle("stacked", this.fit({ width, height: height / 2 }).zoom > 1.2 * beside);
    const [x, y, zoom] = this.source.camera().split(",").map(Number);
    const named = Number.isFinite(x) && Number.isFinite(y) && zoom! > 0;
    this.look(named ? { x: x!, y: y!, zoom: zoom! } : this.opening());
  }

  /** True for a key that moves the camera. */
  key(event: KeyboardEvent): boolean {
    if (event.key === " ") this.move(this.fit(this.size()));
    else if (PANS[event.key] && this.element.contains(document.activeElement)) this.pan(PANS[event.key]!);
    else return this.viewports[0]!.key(event);
    return true;
  }

  private bar(head: readonly (Node | false)[]): HTMLElement {
    const button = (label: string, act: () => void, ...text: (Node | string)[]): HTMLElement =>
      h("button.btn", { type: "button", "aria-label": label, onclick: act }, ...text);
    const zoom = (key: string): void => void this.viewports[0]!.key({ key });
    return h(
      "div.bar",
      ...head,
      button("What differs", () => this.source.setCamera(null), "Change"),
      button("All of both graphs", () => this.move(this.fit(this.size())), "Fit ", h("kbd", "Space")),
      button("Farther away", () => zoom("-"), "−"),
      button("Nearer", () => zoom("+"), "+"),
    );
  }

  private viewport(side: Side): PlaneViewport {
    const host = this.hosts[side];
    return new PlaneViewport(
      host,
      {
        camera: () => this.camera,
        move: (camera) => this.move(camera),
        size: () => this.size(),
        click: () => undefined,
        open: () => undefined,
        hover: (at) => this.light(at && boxAt(host, at)),
      },
      this.stop.signal,
    );
  }

  private size(): Size {
    const { clientWidth: width, clientHeight: height } = this.hosts.a;
    return { width, height };
  }

  /** The camera that shows all of it, at 100% at most. */
  private fit({ width, height }: Size): Camera {
    const { places } = this;
    const zoom = Math.min(1, width / places.width, height / places.height);
    return { x: places.width / 2, y: places.height / 2, zoom };
  }

  /** All of it where that can be read, else what differs and what is around it. */
  private opening(): Camera {
    const { width, height } = this.size();
    const fit = this.fit({ width, height });
    if (fit.zoom >= READABLE) return fit;
    // of its height a part, of its width all if that can be read
    const zoom = Math.max(READABLE, Math.min(NEAR, width / this.places.width));
    const differ = this.places.placed.filter((one) => one.node.side !== "both");
    const near = differ.length > 0 ? differ : this.places.placed;
    const mean = near.reduce((sum, one) => sum + one.x + one.width / 2, 0) / near.length;
    const top = Math.min(...near.map((one) => one.y)) + BOX / 2;
    const inside = (at: number, all: number, room: number): number =>
      all <= room ? all / 2 : Math.max(room / 2, Math.min(all - room / 2, at));
    return {
      x: inside(mean, this.places.width, width / zoom),
      y: inside(top + height / zoom / 4, this.places.height, height / zoom),
      zoom,
    };
  }

  private pan([x, y]: readonly [number, number]): void {
    const { camera } = this;
    this.move({ ...camera, x: camera.x + x / camera.zoom, y: camera.y + y / camera.zoom });
  }

  /** The user moved it: the address follows when it rests. */
  private move(camera: Camera): void {
    this.look(camera);
    window.clearTimeout(this.telling);
    const { x, y, zoom } = camera;
    this.telling = window.setTimeout(
      () => this.source.setCamera(`${Math.round(x)},${Math.round(y)},${zoom.toFixed(3)}`),
      120,
    );
  }

  private look(camera: Camera): void {
    this.camera = camera;
    const { width, height } = this.size();
    const { x, y, zoom } = camera;
    const at = `translate(${width / 2 - x * zoom} ${height / 2 - y * zoom}) scale(${zoom})`;
    for (const side of SIDES) this.scenes[side]?.setAttribute("transform", at);
    this.element.dataset["zoom"] = zoom.toFixed(3);
  }

  /** The box under the pointer, in both drawings. */
  private light(node: string | null): void {
    for (const side of SIDES)
      for (const box of this.hosts[side].querySelectorAll<SVGElement>(".box"))
        box.classList.toggle("lit", box.dataset["node"] === node);
  }
}

function boxAt(host: HTMLElement, at: { x: number; y: number }): string | null {
  const { left, top } = host.getBoundingClientRect();
  const found = document.elementFromPoint(left + at.x, top + at.y)?.closest<SVGElement>(".box");
  return found?.dataset["node"] ?? null;
}
