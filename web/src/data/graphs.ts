/** Graphs of a step, with the neighbours of the one on the screen asked for ahead of the user. */
import type { GraphWire } from "../wire/graph.ts";
import type { CaptureClient } from "./client.ts";

const KEPT = 8;

export class Graphs {
  private readonly kept = new Map<string, Promise<GraphWire>>();

  constructor(private readonly client: CaptureClient) {}

  /** The graph after a match; 0 is the graph that went in. */
  get(step: number, match: number): Promise<GraphWire> {
    const key = `${step}/${match}`;
    const known = this.kept.get(key);
    if (known) {
      this.kept.delete(key);
      this.kept.set(key, known);
      return known;
    }
    const answer = this.client.get<GraphWire>(`steps/${step}/graph?match=${match}`);
    this.kept.set(key, answer);
    answer.catch(() => this.kept.delete(key));
    for (const old of [...this.kept.keys()].slice(0, -KEPT)) this.kept.delete(old);
    return answer;
  }

  /** Asks for a graph that will probably be wanted next. */
  ahead(step: number, match: number, matches: number): void {
    if (match >= 0 && match <= matches) this.get(step, match).catch(() => undefined);
  }
}
