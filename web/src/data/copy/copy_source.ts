/** Answers requests out of the file that the page is: what was kept word for word, else from columns, as the server would. */
import type { MatchesWire } from "../../wire/capture.ts";
import type { DataSource, SharedCopy } from "../source.ts";
import { numberOf, type Route } from "./asked.ts";
import { CALLS_ROUTES } from "./calls_routes.ts";
import { StepGraphs, type Delta } from "./graph_deltas.ts";
import { buffer, MEMORY_ROUTES } from "./memory_routes.ts";
import type { Parts } from "./parts.ts";
import { RANGE_ROUTES } from "./range_routes.ts";
import { jsonReply, Refused } from "./raw_reply.ts";
import { SLICE_ROUTES } from "./slice_routes.ts";
import { searchNames } from "./search_route.ts";
import { Tables } from "./tables.ts";
import { TOP_ROUTES } from "./top_routes.ts";
import { WINDOW_ROUTES } from "./window_routes.ts";

const ROUTES: Record<string, Route> = {
  ...WINDOW_ROUTES,
  ...SLICE_ROUTES,
  ...RANGE_ROUTES,
  ...TOP_ROUTES,
  ...CALLS_ROUTES,
  ...MEMORY_ROUTES,
  search: searchNames,
};
const NOT_HERE = "This is not in the shared copy. Ask the sender for the capture itself.";

export class CopySource implements DataSource {
  readonly copy: SharedCopy;
  private readonly tables: Tables;

  constructor(parts: Parts) {
    this.copy = parts.manifest.copy;
    this.tables = new Tables(parts);
  }

  async ask(path: string, sent: RequestInit): Promise<Response> {
    let answer: Response;
    try {
      if (sent.method !== undefined && sent.method !== "GET")
        throw new Refused("A shared copy cannot be written to. Ask the sender for the capture itself.", 405);
      // captures/NAME/what is asked about it
      answer = await this.answer(path.split("/").slice(2).join("/"), path === "captures");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      answer = jsonReply({ error: error.message }, error.status);
    }
    if (sent.signal?.aborted) throw new DOMException("stopped", "AbortError");
    return answer;
  }

  private async answer(path: string, list: boolean): Promise<Response> {
    const kept = await this.tables.replies.get(list ? "captures" : path);
    if (kept) return new Response(kept);
    const [what = "", query = ""] = path.split("?", 2);
    const asked = new URLSearchParams(query);
    const route = Object.hasOwn(ROUTES, what) ? ROUTES[what] : undefined;
    if (route) return route(this.tables, asked);
    const one = /^memory\/buffers\/(\d+)$/.exec(what);
    if (one) return buffer(this.tables, Number(one[1]));
    if (what.endsWith("/graph") && !asked.has("from")) return this.graph(what, numberOf(asked, "match", 0));
    if (what.endsWith("/matches")) return this.matches(what, asked);
    throw new Refused(NOT_HERE);
  }

  private async graph(what: string, match: number): Promise<Response> {
    const graphs = await this.tables.once(what, async () => {
      const deltas = await this.tables.replies.json<Delta[]>(`${what}s`);
      return deltas && new StepGraphs(deltas);
    });
    const found = graphs?.graph(match);
    if (!found) throw new Refused(NOT_HERE);
    return jsonReply(found);
  }

  /** A page of a step's matches, which are kept whole. */
  private async matches(what: string, asked: URLSearchParams): Promise<Response> {
    const whole = await this.tables.replies.json<MatchesWire>(what);
    if (!whole) throw new Refused(NOT_HERE);
    const first = numberOf(asked, "first", 1);
    const past = first - 1 + numberOf(asked, "count", 2048);
    const columns = Object.entries(whole).map(([name, column]: [string, unknown]) => {
      const perMatch = Array.isArray(column) && Array.isArray(whole.before) && !name.endsWith("s");
      return [name, perMatch || name === "boxes" ? (column as unknown[]).slice(first - 1, past) : column];
    });
    return jsonReply({ ...Object.fromEntries(columns), first } as object);
  }
}
