/** Answers for a page in a notebook's cell: the cell around it asks the kernel, and no network is there. */
import type { DataSource } from "./source.ts";

/** A question to the kernel, as the cell passes it on. */
export interface Question {
  id: number;
  path: string;
  method: string;
  body: string;
}

/** What the kernel answers; the bytes of the body come beside it. */
export interface Answer {
  id: number;
  status: number;
  type: string;
  body: ArrayBuffer;
}

interface Waiting {
  resolve: (response: Response) => void;
  reject: (reason: unknown) => void;
}

export class CellSource implements DataSource {
  readonly copy = null;
  private readonly waiting = new Map<number, Waiting>();
  private asked = 0;

  /** `post` gives a question to the cell; `heard` is to be called with what comes back. */
  constructor(private readonly post: (question: Question) => void) {}

  ask(path: string, sent: RequestInit): Promise<Response> {
    const id = ++this.asked;
    const { signal } = sent;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new DOMException("stopped", "AbortError"));
      this.waiting.set(id, { resolve, reject });
      signal?.addEventListener("abort", () => {
        if (this.waiting.delete(id)) reject(new DOMException("stopped", "AbortError"));
      });
      this.post({ id, path, method: sent.method ?? "GET", body: typeof sent.body === "string" ? sent.body : "" });
    });
  }

  /** An answer has come; one that nobody waits for any more is forgotten. */
  heard({ id, status, type, body }: Answer): void {
    const one = this.waiting.get(id);
    this.waiting.delete(id);
    one?.resolve(new Response(status === 204 ? null : body, { status, headers: { "Content-Type": type } }));
  }
}
