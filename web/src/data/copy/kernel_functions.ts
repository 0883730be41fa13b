/** What is one function where kernels of one name are kept apart: a name, or what one context made of it. */
import { plain } from "../../base/ansi.ts";
import type { ContextsWire } from "../../wire/capture.ts";
import type { Lanes } from "./lanes.ts";
import type { Tables } from "./tables.ts";

/** Numbers of functions: those of names, one for slices without a name, then kernels by name and context. */
export class KernelFunctions {
  private readonly kernels = new Map<string, number>();
  private readonly pairs: [name: number, context: number][] = [];

  constructor(
    private readonly lanes: Lanes,
    private readonly names: number,
  ) {}

  of(row: number): number {
    const name = this.lanes.name[row]!;
    const number = name < 0 ? this.names : name;
    const context = this.lanes.context[row] ?? -1;
    if (context < 0) return number;
    const key = `${number}/${context}`;
    let found = this.kernels.get(key);
    if (found === undefined) {
      found = this.names + 1 + this.pairs.length;
      this.kernels.set(key, found);
      this.pairs.push([number, context]);
    }
    return found;
  }

  /** Number of a function's name; how many there are for none. */
  nameOf(called: number): number {
    return called <= this.names ? called : this.pairs[called - this.names - 1]![0];
  }

  contextOf(called: number): number {
    return called <= this.names ? -1 : this.pairs[called - this.names - 1]![1];
  }
}

/** The how manieth of its name each context is, from 1. */
export function contextSerials(tables: Tables): Promise<Map<number, number>> {
  return tables.once("serials", async () => {
    const contexts = await tables.replies.json<ContextsWire>("contexts");
    const seen = new Map<string, number>();
    return new Map(
      contexts?.id.map((id, at) => {
        const name = plain(contexts.name[at]!);
        seen.set(name, (seen.get(name) ?? 0) + 1);
        return [id, seen.get(name)!];
      }),
    );
  });
}

/** Whether several contexts have one name. */
export async function kernelsApart(tables: Tables): Promise<boolean> {
  return [...(await contextSerials(tables)).values()].some((serial) => serial > 1);
}
