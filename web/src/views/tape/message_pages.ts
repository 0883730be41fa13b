/** The messages that a filter leaves, asked for in pages and kept. */
import type { CaptureClient } from "../../data/client.ts";
import { isAbort } from "../../data/client.ts";
import type { MessagesWire } from "../../wire/tape.ts";

const PAGE = 200;
const KEPT = 24;

export interface Row {
  seq: number;
  time: number;
  event: number;
  source: number;
  target: number;
  command: string;
  op: number;
  family: number;
  size: number;
  failed: boolean;
  details: string;
}

export class MessagePages {
  private readonly pages = new Map<number, MessagesWire>();
  private readonly asked = new Map<number, Promise<MessagesWire | null>>();
  private readonly abort = new AbortController();

  constructor(
    private readonly client: CaptureClient,
    private readonly query: string,
    private readonly onPage: () => void,
  ) {}

  /** A message that is here already; otherwise its page is asked for. */
  at(index: number): Row | null {
    const page = this.pages.get(Math.floor(index / PAGE));
    if (!page) {
      void this.page(Math.floor(index / PAGE));
      return null;
    }
    return rowOf(page, index - page.first);
  }

  /** A message, waited for; null when there is none. */
  async get(index: number): Promise<Row | null> {
    if (index < 0) return null;
    const page = await this.page(Math.floor(index / PAGE));
    return page && rowOf(page, index - page.first);
  }

  dispose(): void {
    this.abort.abort();
  }

  private page(number: number): Promise<MessagesWire | null> {
    const known = this.asked.get(number);
    if (known) return known;
    const answer = this.client
      .get<MessagesWire>(`tape/messages?${this.query}&first=${number * PAGE}&count=${PAGE}`, this.abort.signal)
      .then((page) => {
        this.pages.set(number, page);
        for (const old of this.pages.keys()) {
          if (this.pages.size <= KEPT) break;
          this.pages.delete(old);
          this.asked.delete(old);
        }
        this.onPage();
        return page;
      })
      .catch((error: unknown) => {
        this.asked.delete(number);
        if (!isAbort(error)) console.warn(String(error));
        return null;
      });
    this.asked.set(number, answer);
    return answer;
  }
}

function rowOf(page: MessagesWire, i: number): Row | null {
  if (i < 0 || i >= page.seq.length) return null;
  return {
    seq: page.seq[i]!,
    time: page.time[i]!,
    event: page.event[i]!,
    source: page.source[i]!,
    target: page.target[i]!,
    command: page.command[i]!,
    op: page.op[i]!,
    family: page.family[i]!,
    size: page.size[i]!,
    failed: page.failed[i] === 1,
    details: page.details[i]!,
  };
}
