/** Where a graph leads from: the way to its layout, and the kernel of a call. */
import type { CaptureClient } from "../../data/client.ts";
import { stationsOf } from "../../state/trail.ts";
import type { GraphWire } from "../../wire/graph.ts";

/** Boxes that are placed again, at most, to make the layout of a link. */
const MOST_RETRACED = 1_000_000;

/** The graphs that the layout of a link came over, before the one that is shown, to be got one by one. */
export function wayTo(
  graph: GraphWire,
  laid: string | undefined,
  get: (step: number, match: number, since: boolean) => Promise<GraphWire>,
): (() => Promise<GraphWire>)[] {
  const stations = stationsOf(laid ?? "", graph.step);
  const last = stations.at(-1);
  if (last?.step === graph.step && last.match === graph.match && (last.since ?? false) === (graph.from !== undefined))
    stations.pop();
  if (stations.length * graph.id.length > MOST_RETRACED) return [];
  return stations.map(
    ({ step, match, since }) =>
      () =>
        get(step, match, since ?? false),
  );
}

/** The context that a call of a step's graphs was compiled in, -1 for none. */
export async function calledContext(client: CaptureClient, step: number | undefined, node: number): Promise<number> {
  if (step === undefined) return -1;
  return (await client.once<{ context: number }>(`steps/${step}/call?node=${node}`)).context;
}
