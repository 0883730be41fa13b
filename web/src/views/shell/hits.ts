/** Where something that was searched for leads. */
import { runsParams } from "../../state/runs.ts";
import type { Params } from "../../state/place.ts";
import type { Hit } from "../../wire/search.ts";

/** A kernel leads to its runs on the devices, else what has a context to that, the rest to the timeline. */
export function placeOf(hit: Hit, has: (view: string) => boolean): { view: string; params: Params } | null {
  if (hit.kind === "kernel" && hit.runs > 0 && has("timeline"))
    return { view: "timeline", params: runsParams({ text: hit.text, group: "kernels", context: hit.context }) };
  if (hit.kind === "line" && has("code")) return { view: "code", params: { context: String(hit.context) } };
  const params: Record<string, string> = {};
  if (hit.step >= 0) params["step"] = String(hit.step);
  else if (hit.context >= 0) params["context"] = String(hit.context);
  if (hit.match > 0) params["match"] = String(hit.match);
  if (hit.node >= 0) Object.assign(params, { id: String(hit.node), op: hit.text });
  if ((hit.step >= 0 || hit.context >= 0) && has("rewrites")) return { view: "rewrites", params };
  return has("timeline") ? { view: "timeline", params: { find: hit.text } } : null;
}
