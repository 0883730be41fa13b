/** The address of a kernel's runs on the timeline: on devices, zoomed to them, never its compilation. */
import { plain } from "../base/ansi.ts";
import type { Params } from "./place.ts";

/** What a row of Top stands for: a name, of kernels also the context that made them. */
export interface Runs {
  text: string;
  group: string;
  /** Number of the name; left out when the context says it. */
  name?: number;
  /** Left out when it does not matter, -1 for none. */
  context?: number | undefined;
}

export function runsParams(runs: Runs): Record<string, string> {
  return {
    find: plain(runs.text),
    group: runs.group,
    ...(runs.name === undefined ? {} : { name: String(runs.name) }),
    ...(runs.context === undefined ? {} : { context: String(runs.context) }),
  };
}

/** The part of a request that asks for the runs of an address; empty when it asks for words. */
export function runsQuery(params: Params): string {
  if (params["group"] === undefined) return "";
  const names = ["group", "name", "context"] as const;
  return names
    .flatMap((name) => (params[name] === undefined ? [] : [`&${name}=${encodeURIComponent(params[name])}`]))
    .join("");
}

/** Takes the runs out of an address again. */
export const NO_RUNS = { group: null, name: null, context: null } as const;
