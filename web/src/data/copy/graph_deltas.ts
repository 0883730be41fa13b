/** Graphs of a step that were kept as what differs from one to the next (`share/graph_deltas.py`). */

type Json = Record<string, unknown>;
/** By key: a value, what differs of an object, or of a list. */
type Change = { v: unknown } | { d: Delta } | { l: [head: number, tail: number, values: unknown[]] };
export type Delta = Record<string, Change>;

/** The graphs of one step, put together as far as somebody wants them. */
export class StepGraphs {
  private readonly made: Json[] = [];

  constructor(private readonly deltas: readonly Delta[]) {}

  /** The graph after a match; null when there is none. */
  graph(match: number): Json | null {
    if (match >= this.deltas.length) return null;
    for (let at = this.made.length; at <= match; at++)
      this.made.push(patched(this.made[at - 1] ?? {}, this.deltas[at]!));
    return absolute(this.made[match]!);
  }
}

function patched(old: Json, delta: Delta): Json {
  const found: Json = { ...old };
  for (const [key, change] of Object.entries(delta)) {
    if (key === "-") for (const gone of (change as { v: string[] }).v) Reflect.deleteProperty(found, gone);
    else if ("v" in change) found[key] = change.v;
    else if ("d" in change) found[key] = patched(old[key] as Json, change.d);
    else found[key] = patchedList(old[key] as unknown[], change.l);
  }
  return found;
}

function patchedList(old: readonly unknown[], [head, tail, values]: [number, number, unknown[]]): unknown[] {
  if (head >= 0) return [...old.slice(0, head), ...values, ...old.slice(old.length - tail)];
  const found = [...old];
  for (let at = 0; at < values.length; at += 2)
    (values[at + 1] as unknown[]).forEach((value, place) => (found[(values[at] as number) + place] = value));
  return found;
}

/** With the sources as places again. */
function absolute(graph: Json): Json {
  const src: number[] = [];
  const srcStart = [0];
  const away = graph["src"] as number[];
  (graph["srcStart"] as number[]).forEach((many, node) => {
    for (let at = 0; at < many; at++) src.push(node - away[src.length]!);
    srcStart.push(src.length);
  });
  return { ...graph, src, srcStart };
}
