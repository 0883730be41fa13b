/** Ways: to a graph's layout, to the kernel of a call, to a box, and to what is shown first. */
import type { CaptureClient } from "../../data/client.ts";
import type { ContextTree } from "../../data/tree.ts";
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

/** Matches of a pass that is worth a first look: its graph is more than a few boxes, and not a wall of them. */
const WORTH_SEEING = [12, 200] as const;

/**
 * What an address that names nothing shows: a pass of a kernel with many matches, else the first with any, else the
 * first that altered what took longest to compile, else the first at work.
 */
export function homeOf(tree: ContextTree): { step: number } | { context: number } | null {
  const { steps, contexts } = tree;
  const [least, most] = WORTH_SEEING;
  const contextOf = (step: number): number => tree.contextAt.get(steps.context[step]!) ?? -1;
  const worth = steps.matches.findIndex(
    (count, step) => count >= least && count <= most && contexts.kind[contextOf(step)] === "kernel",
  );
  const matched = steps.matches.findIndex((count) => count > 0);
  let altered = -1;
  for (let step = 0; step < steps.id.length; step++) {
    const [root, after] = [steps.root[step]!, steps.after?.[step] ?? -1];
    if (root < 0 || after < 0 || root === after) continue;
    if (altered < 0 || contexts.dur[contextOf(step)]! > contexts.dur[contextOf(altered)]!) altered = step;
  }
  const worked = steps.id.findIndex((_, step) => tree.worked(step));
  const at = [worth, matched, altered, worked].find((one) => one >= 0) ?? -1;
  return at >= 0 ? { step: steps.id[at]! } : contexts.id.length > 0 ? { context: contexts.id[0]! } : null;
}

/**
 * The box of a node. What a rule returned may have been rewritten at once: then that of the node of the op which this
 * match added.
 */
export function identityOf(graph: GraphWire, node: number, opName: string): number | null {
  const op = graph.ops.indexOf(opName);
  const alike = [...graph.added, ...graph.id.keys()].find((one) => op >= 0 && graph.op[one] === op);
  const at = graph.id.includes(node) ? graph.id.indexOf(node) : (alike ?? graph.added[0]);
  return at === undefined ? null : graph.identity[at]!;
}
