/** Graphs of a step, with the neighbours of the one on the screen asked for ahead of the user. */
import type { GraphWire } from "../wire/graph.ts";
import type { CaptureClient } from "./client.ts";
import { apart } from "./lives.ts";

const KEPT = 8;

interface Kept {
  answer: Promise<GraphWire>;
  stop: AbortController;
}

export class Graphs {
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly client: CaptureClient) {}

  /**
   * The graph after a match; 0 is the graph that went in. With `first` ("STEP.MATCH") it is told against that one. The
   * signal ends the request, and with it the server's work.
   */
  get(step: number, match: number, signal?: AbortSignal, first: string | null = null): Promise<GraphWire> {
    const key = `${step}/${match}/${first}`;
    const known = this.kept.get(key) ?? this.ask(key, step, match, first);
    this.kept.delete(key);
    this.kept.set(key, known);
    for (const old of [...this.kept.keys()].slice(0, -KEPT)) this.kept.delete(old);
    const end = (): void => known.stop.abort();
    signal?.addEventListener("abort", end, { once: true });
    return known.answer.finally(() => signal?.removeEventListener("abort", end));
  }

  /** Asks for a graph that will probably be wanted next. */
  ahead(step: number, match: number, matches: number, first: string | null = null): void {
    if (match >= 0 && match <= matches) this.get(step, match, undefined, first).catch(() => undefined);
  }

  private ask(key: string, step: number, match: number, first: string | null): Kept {
    const stop = new AbortController();
    const from = first === null ? "" : `&from=${first}`;
    const answer = this.client.get<GraphWire>(`steps/${step}/graph?match=${match}${from}`, stop.signal).then(apart);
    answer.catch(() => this.kept.get(key)?.stop === stop && this.kept.delete(key));
    return { answer, stop };
  }
}
