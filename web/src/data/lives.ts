/** In which passes of their context the selected boxes live, change and die. */
import type { LifeWire } from "../wire/capture.ts";
import { ARRIVED, type GraphWire } from "../wire/graph.ts";
import type { CaptureClient } from "./client.ts";

/** What happens to a box in a pass. */
export type Fate = "lives" | "changes" | "made" | "dies" | "passing";

export class Lives {
  constructor(private readonly client: CaptureClient) {}

  /** The lives of these boxes of a graph; asked for once. */
  of(step: number, match: number, nodes: readonly number[]): Promise<LifeWire[]> {
    return this.client.once<LifeWire[]>(`steps/${step}/lives?match=${match}&identity=${nodes.join(",")}`);
  }
}

/** What happens to a box in the pass at that place of its life. */
export function fateOf(life: LifeWire, at: number): Fate {
  const [wentIn, cameOut] = [life.wentIn[at]!, life.cameOut[at]!];
  if (wentIn && cameOut) return life.changed[at] ? "changes" : "lives";
  return wentIn ? "dies" : cameOut ? "made" : "passing";
}

/** The identity of a box in a step; null when it is not there. */
export function inStep(life: LifeWire, step: number): number | null {
  const at = life.step.indexOf(step);
  return at < 0 ? null : life.identity[at]!;
}

/** A box as it is known in the graphs of its own step, by the key that it has in a picture. */
export function ownPlace(graph: GraphWire, key: number): { step: number; match: number; node: number } {
  const { from, own } = graph;
  const here = { step: graph.step, match: graph.match };
  if (from === undefined || own === undefined) return { ...here, node: key };
  const at = graph.identity.indexOf(key);
  return at >= 0 ? { ...here, node: own[at]! } : { step: from.step, match: from.match, node: key };
}

/** The key in a picture of a box of the graph's own step; -1 when it is not there. */
export function keyOf(graph: GraphWire, node: number): number {
  if (graph.own === undefined) return node;
  const at = graph.own.indexOf(node);
  return at < 0 ? -1 : graph.identity[at]!;
}

/** New boxes of different passes must not be taken for each other while one graph is held and others are gone through. */
export function apart(graph: GraphWire): GraphWire {
  if (graph.own === undefined) return graph;
  const shift = ARRIVED * (graph.step % 499);
  return { ...graph, identity: graph.identity.map((key) => (key >= ARRIVED && key < 2 * ARRIVED ? key + shift : key)) };
}
