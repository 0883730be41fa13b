/** The search over everything that has a name, as far as the file has it: contexts, passes and slices. */
import { plain } from "../../base/ansi.ts";
import type { ContextsWire, StepsWire } from "../../wire/capture.ts";
import type { CodeWire } from "../../wire/code.ts";
import type { Hit, SearchWire } from "../../wire/search.ts";
import { fits, parseQuery } from "../grammar.ts";
import { numberOf } from "./asked.ts";
import { jsonReply } from "./raw_reply.ts";
import type { Tables } from "./tables.ts";

const NO_HIT: Hit = {
  kind: "",
  text: "",
  note: "",
  context: -1,
  step: -1,
  match: 0,
  node: -1,
  count: 0,
  runs: 0,
  total: 0,
};

export async function searchNames(tables: Tables, asked: URLSearchParams): Promise<Response> {
  const every = await tables.once("search", () => hitsOf(tables));
  const text = (asked.get("q") ?? "").slice(0, 200);
  const query = parseQuery(text);
  const words = text.trim().toLowerCase();
  const found =
    query.terms.length === 0 ? [] : every.filter((hit) => fits(query, hit.text, { kind: hit.kind })).sort(closest);
  const searched: Record<string, number> = {};
  for (const hit of every) searched[hit.kind] = (searched[hit.kind] ?? 0) + 1;
  const answer: SearchWire = {
    query: text,
    error: query.wrong === "" ? null : query.wrong,
    total: found.length,
    hits: found.slice(0, Math.min(numberOf(asked, "limit", 40), 500)),
    near: [],
    searched,
  };
  return jsonReply(answer);

  /** Exact names first, then what begins with the words, then what took most. */
  function closest(a: Hit, b: Hit): number {
    const rank = (hit: Hit): number => {
      const name = hit.text.toLowerCase();
      return name === words ? 0 : name.startsWith(words) ? 1 : 2;
    };
    return rank(a) - rank(b) || b.total - a.total || a.text.localeCompare(b.text);
  }
}

async function hitsOf(tables: Tables): Promise<Hit[]> {
  const [contexts, steps, code] = [
    await tables.replies.json<ContextsWire>("contexts"),
    await tables.replies.json<StepsWire>("steps"),
    await tables.replies.json<CodeWire>("code"),
  ];
  const hits: Hit[] = [];
  const ran = new Map(code?.context.map((context, at) => [context, at]));
  contexts?.id.forEach((context, at) => {
    const place = ran.get(context);
    const runs = place === undefined ? 0 : Math.max(0, code!.runs[place]!);
    const total = place === undefined ? 0 : Math.max(0, code!.total[place]!);
    hits.push({ ...NO_HIT, kind: contexts.kind[at]!, text: plain(contexts.name[at]!), context, count: 1, runs, total });
  });
  steps?.id.forEach((step, at) => {
    const context = steps.context[at]!;
    hits.push({ ...NO_HIT, kind: "step", text: plain(steps.names[steps.name[at]!] ?? ""), context, step, count: 1 });
  });
  if (tables.parts.has("slices")) {
    const [lanes, names] = [await tables.lanes(), (await tables.names()).text];
    const runs = new Float64Array(names.length);
    const total = new Float64Array(names.length);
    if (lanes.exact)
      lanes.name.forEach((name, row) => {
        if (name < 0) return;
        runs[name]!++;
        total[name]! += lanes.dur[row]!;
      });
    names.forEach((name, at) =>
      hits.push({ ...NO_HIT, kind: "slice", text: plain(name), count: runs[at]!, runs: runs[at]!, total: total[at]! }),
    );
  }
  return hits;
}
