import { describe, expect, test } from "vitest";
import { kernel, rewrite, schedule } from "../../dev/samples.ts";
import type { GraphWire } from "../../src/wire/graph.ts";
import type { Placement } from "../../src/layout/layered/drawing.ts";
import { layered } from "../../src/layout/layered/layered.ts";
import { pinned } from "../../src/layout/graph/pinned.ts";
import { REMOVED, scene, type Scene } from "../../src/layout/graph/scene.ts";
import { expectNoOverlap, folding } from "./helpers.ts";

class Stepper {
  scene: Scene;
  placement: Placement;
  readonly memory = new Map<number, readonly [number, number]>();

  constructor(graph: GraphWire) {
    this.scene = scene(graph, folding());
    this.placement = layered(this.scene);
    this.remember();
  }

  step(graph: GraphWire): void {
    const next = scene(graph, folding());
    this.placement = pinned(next, { scene: this.scene, placement: this.placement, memory: this.memory });
    this.scene = next;
    this.remember();
  }

  places(): Map<number, string> {
    return new Map(
      Array.from(this.scene.key, (key, box) => [key, `${this.placement.x[box]},${this.placement.y[box]}`]),
    );
  }

  private remember(): void {
    this.scene.key.forEach((key, box) => this.memory.set(key, [this.placement.x[box]!, this.placement.y[box]!]));
  }
}

describe("pinned", () => {
  test.each([
    ["a kernel", kernel(2, 12)],
    ["a schedule", schedule(400)],
  ])("%s: twenty matches move no survivor and overlap nothing", (_name, first) => {
    const stepper = new Stepper(first);
    let graph = first;
    for (let i = 0; i < 20; i++) {
      const before = stepper.places();
      graph = rewrite(graph, i + 1);
      stepper.step(graph);
      for (const [key, place] of stepper.places()) if (before.has(key)) expect(place).toBe(before.get(key));
      expectNoOverlap(stepper.scene, stepper.placement);
    }
  });

  test("removed nodes stay as ghosts for their match, and are gone in the next", () => {
    const graph = kernel(2, 6);
    const stepper = new Stepper(graph);
    const next = rewrite(graph, 3);
    expect(next.removed.length).toBeGreaterThan(0);
    stepper.step(next);
    const ghosts = Array.from(stepper.scene.key).filter((_, box) => stepper.scene.state[box] === REMOVED);
    expect(ghosts).toEqual(next.removed.filter((node) => node.op !== "CONST").map((node) => node.identity));
    stepper.step(rewrite(next, 4));
    for (const key of ghosts) expect(stepper.scene.key.includes(key)).toBe(false);
  });

  test("a step back restores the picture", () => {
    const graph = schedule(200);
    const stepper = new Stepper(graph);
    const before = stepper.places();
    stepper.step(rewrite(graph, 7));
    stepper.step(graph);
    expect(stepper.places()).toEqual(before);
  });

  test("a label that grows keeps its box", () => {
    const graph = schedule(120);
    const stepper = new Stepper(graph);
    const width = Float64Array.from(stepper.scene.width);
    const longer = {
      ...graph,
      looks: { ...graph.looks, type: graph.looks.type.map((name) => `${name} with a much longer name`) },
    };
    stepper.step(longer);
    expect(stepper.scene.width).toEqual(width);
    expectNoOverlap(stepper.scene, stepper.placement);
  });

  test("lines of new edges pass through no box", () => {
    const graph = schedule(300);
    const stepper = new Stepper(graph);
    stepper.step(rewrite(graph, 9));
    const { scene: drawn, placement } = stepper;
    let cut = 0;
    for (let e = 0; e < drawn.from.length; e++) {
      if (drawn.edgeState[e] === 0) continue;
      const points = placement.routes.points.subarray(placement.routes.start[e], placement.routes.start[e + 1]);
      for (let i = 0; i < points.length; i += 6) {
        for (let box = 0; box < drawn.count; box++) {
          if (box === drawn.from[e] || box === drawn.to[e]) continue;
          const inside =
            Math.abs(points[i]! - placement.x[box]!) < drawn.width[box]! / 2 &&
            Math.abs(points[i + 1]! - placement.y[box]!) < 12;
          if (inside) cut++;
        }
      }
    }
    expect(cut).toBe(0);
  });
});
