/** Asks the page's source: JSON in, typed objects out, one sentence when something fails. */
import { connection } from "./connection.ts";
import { source } from "./source.ts";

/** A request that failed; `message` is a sentence for the user. */
export class ServerError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly details: string,
  ) {
    super(message);
  }
}

const SILENT = "The server does not answer. Start it again with `peephole serve`: the page goes on by itself.";

/** Whether an error is the server's silence, which ends by itself, and not an answer. */
export function isSilence(error: unknown): boolean {
  return error instanceof ServerError && error.status === 0;
}

/** What an error says. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** True for the error of a request that we ended ourselves. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** The answer of a shared request, or an abort of this one waiter: others may still want the answer. */
export function abortable<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(new DOMException("stopped", "AbortError"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** GET /api/v1/… as JSON. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await ask(path, signal);
  return (await response.json()) as T;
}

/** GET /api/v1/… as bytes, for routes that send raw arrays. */
async function getBytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await ask(path, signal)).arrayBuffer();
}

const early = new Map<string, Promise<Response>>();

/** Asks for what will be wanted in a moment; whoever wants it first gets that answer, once. */
function askEarly(path: string): void {
  if (early.has(path)) return;
  const answer = source().ask(path, {});
  // nobody may ever come for it
  answer.catch(() => undefined);
  early.set(path, answer);
}

async function ask(path: string, signal?: AbortSignal, sent: RequestInit = {}): Promise<Response> {
  const url = `/api/v1/${path}`;
  let response: Response;
  const asked = early.get(path);
  early.delete(path);
  try {
    response = await (asked
      ? signal
        ? abortable(asked, signal)
        : asked
      : source().ask(path, signal ? { ...sent, signal } : sent));
  } catch (error) {
    if (isAbort(error)) throw error;
    connection.heard(false);
    throw new ServerError(SILENT, 0, `${url}: ${String(error)}`);
  }
  connection.heard(true);
  if (response.ok) return response;
  let sentence = `The server answered ${response.status}.`;
  try {
    const body = (await response.json()) as { error?: unknown };
    if (typeof body.error === "string") sentence = body.error;
  } catch {
    // not ours: the status alone has to do
  }
  throw new ServerError(sentence, response.status, `${url}: ${response.status}`);
}

/** Requests below one capture, with answers to the same question kept. */
export class CaptureClient {
  private readonly kept = new Map<string, Promise<unknown>>();

  constructor(readonly id: string) {}

  /** One answer, asked anew. */
  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return getJson<T>(this.path(path), signal);
  }

  /** Sends an object to a route that writes; gives what it answers. */
  async send<T>(method: string, path: string, body: object): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    const response = await ask(this.path(path), undefined, { method, headers, body: JSON.stringify(body) });
    return (await response.json()) as T;
  }

  /** One answer, asked once: for what does not change in a sealed capture. */
  once<T>(path: string): Promise<T> {
    const known = this.kept.get(path) as Promise<T> | undefined;
    if (known) return known;
    const answer = getJson<T>(this.path(path));
    this.kept.set(path, answer);
    answer.catch(() => this.kept.delete(path));
    return answer;
  }

  bytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
    return getBytes(this.path(path), signal);
  }

  /** Forgets everything, for a capture that has grown. */
  forget(): void {
    this.kept.clear();
  }

  /** Asks for what a view will want first, while something else is still on its way. */
  early(...paths: string[]): void {
    for (const path of paths) askEarly(this.path(path));
  }

  private path(rest: string): string {
    return `captures/${encodeURIComponent(this.id)}${rest === "" ? "" : `/${rest}`}`;
  }
}
