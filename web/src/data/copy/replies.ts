/** Replies of the server that were kept word for word, by the request that they answer. */
import { headOf, type Parts } from "./parts.ts";

interface RepliesHead {
  /** Request and length of its reply, in order. */
  replies: [path: string, length: number][];
}

/** Where the replies of a request are kept: with those about the same thing. */
export function groupsOf(path: string): string[] {
  const what = path.split("?", 1)[0]!;
  const [first = "", second = ""] = what.split("/");
  return [`replies:${what}`, `replies:${first}/${second}`, `replies:${first}`, "replies:"];
}

export class Replies {
  private readonly opened = new Map<Uint8Array, Map<string, Uint8Array<ArrayBuffer>>>();

  constructor(private readonly parts: Parts) {}

  /** The body of a reply; null when it is not in the file. */
  async get(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
    for (const group of groupsOf(path)) {
      if (!this.parts.has(group)) continue;
      const found = this.read(await this.parts.open(group)).get(path);
      if (found) return found;
    }
    return null;
  }

  async json<T>(path: string): Promise<T | null> {
    const body = await this.get(path);
    return body && (JSON.parse(new TextDecoder().decode(body)) as T);
  }

  private read(part: Uint8Array<ArrayBuffer>): Map<string, Uint8Array<ArrayBuffer>> {
    let found = this.opened.get(part);
    if (!found) {
      const { head, at } = headOf<RepliesHead>(part);
      found = new Map();
      let place = at;
      for (const [path, length] of head.replies) {
        found.set(path, part.subarray(place, place + length));
        place += length;
      }
      this.opened.set(part, found);
    }
    return found;
  }
}
