import { stationsOf } from "../../state/trail.ts";
import type { GraphWire } from "../../wire/graph.ts";

/** Boxes that are placed again, at most, to make the layout of a link. */
const MOST_RETRACED = 1_000_000;

/** The graphs that the layout of a link came over, before the one that is shown, to be got one by one. */
export function wayTo(
  graph: GraphWire,
  laid: string | undefined,
  get: (step: number, match: number) => Promise<GraphWire>,
): (() => Promise<GraphWire>)[] {
  const stations = stationsOf(laid ?? "", graph.step);
  const last = stations.at(-1);
  if (last?.step === graph.step && last.match === graph.match) stations.pop();
  if (stations.length * graph.id.length > MOST_RETRACED) return [];
  return stations.map(
    ({ step, match }) =>
      () =>
        get(step, match),
  );
}
