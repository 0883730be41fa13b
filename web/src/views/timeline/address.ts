/** What the timeline keeps in the address, read and changed. */
import type { Span } from "../../layout/span.ts";
import { numberParam, type Params } from "../../state/place.ts";

/** A span of time out of two parameters; null when there is none. */
export function spanOf(params: Params, a: string, b: string): Span | null {
  if (params[a] === undefined || params[b] === undefined) return null;
  const t0 = numberParam(params, a, 0);
  const t1 = numberParam(params, b, 0);
  return t1 > t0 ? { t0, t1 } : null;
}

const SEPARATOR = "~";

/** Ids of groups and tracks out of a parameter. */
export function idSet(text: string | undefined): Set<string> {
  return new Set((text ?? "").split(SEPARATOR).filter((id) => id !== ""));
}

/** The parameter with an id added, or taken out. */
export function toggled(text: string | undefined, id: string): string {
  const ids = idSet(text);
  if (!ids.delete(id)) ids.add(id);
  return [...ids].join(SEPARATOR);
}
