/** Tells things of one name apart. */
import { plain } from "../base/ansi.ts";

/** "n2" for the second of a name, "n3" for the third; empty for the first. */
export function serials(names: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const key = plain(name);
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    return times > 1 ? `n${times}` : "";
  });
}
