/** Tells things of one name apart, as the terminal does: `name#2` is the second of that name. */
import { plain } from "../base/ansi.ts";

/** "#2" for the second of a name, "#3" for the third; empty for the first. */
export function serials(names: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const key = plain(name);
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    return serial(times);
  });
}

/** What stands behind the name of the how manieth. */
export function serial(times: number): string {
  return times > 1 ? `#${times}` : "";
}
