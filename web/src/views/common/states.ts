/** What stands in a pane that has nothing to show yet: empty, waiting, failed. Short, no apology, what to do. */
import { fill, h } from "../../base/dom.ts";
import { count } from "../../base/format.ts";
import { isAbort, isSilence, sentenceOf, ServerError } from "../../data/client.ts";
import { connection } from "../../data/connection.ts";
import { copyButton } from "./copy.ts";

/** Nothing is said before this. */
export const PATIENCE_MS = 500;
const PROGRESS_MS = 250;

/** A title, a sentence and commands to copy. */
export function emptyState(title: string, sentence: string, commands: string[] = []): HTMLElement {
  return h(
    "div.mid",
    { role: "status" },
    h("h2", title),
    h("p", ...words(sentence)),
    ...commands.map((command) =>
      h(
        "div.cmd",
        h("span", command),
        copyButton(() => command),
      ),
    ),
  );
}

/** What happened, where, what to do; the raw text below it. */
export function errorState(error: unknown, again?: () => void): HTMLElement {
  const message = sentenceOf(error);
  const details = error instanceof ServerError ? error.details : error instanceof Error ? (error.stack ?? "") : "";
  const [title, ...rest] = sentences(message);
  return h(
    "div.mid.wider",
    { role: "alert" },
    h(
      "div.err",
      h("h2", ...words(title!)),
      rest.length > 0 && h("p", ...words(rest.join(" "))),
      details !== "" && h("pre", details),
      h(
        "div.buttons",
        again && h("button.btn.on", { onclick: again }, "Try again"),
        copyButton(() => `${message}\n${details}`, "Copy details"),
      ),
    ),
  );
}

/** A part of a pane that could not be read: the sentence, and the way to ask once more where that can help. */
export function failure(error: unknown, again: () => void): HTMLElement {
  const wrong = error instanceof ServerError && error.status === 400;
  const element = h(
    "div.sec.failed",
    { role: "alert" },
    h("p", ...words(sentenceOf(error))),
    !wrong && h("div.buttons", h("button.btn", { type: "button", onclick: again }, "Try again")),
  );
  if (isSilence(error)) void connection.whenBack().then(() => element.isConnected && again());
  return element;
}

/** A sentence in which what stands between backticks, a command, looks like one. */
export function words(sentence: string): (string | HTMLElement)[] {
  return sentence
    .split("`")
    .map((part, at) => (at % 2 === 1 ? h("code", part) : part))
    .filter((part) => part !== "");
}

/** "What happened. What to do." in two parts. */
function sentences(text: string): string[] {
  const cut = /[.;] (?=[A-Za-z`])/.exec(text);
  if (!cut || cut.index > 140)
    return [text.slice(0, 160) + (text.length > 160 ? "…" : ""), ...(text.length > 160 ? [text] : [])];
  const rest = text.slice(cut.index + 2);
  return [text.slice(0, cut.index), rest.charAt(0).toUpperCase() + rest.slice(1)];
}

/** How far something is. `running` is false before it began and after it ended. */
export interface Progress {
  running: boolean;
  done: number;
  total: number;
}

export interface Wait {
  /** "Replaying early symbolic" */
  title: string;
  /** "1,178 matches" */
  note?: string;
  /** Asked while one waits: how far the server is. */
  progress?: (signal: AbortSignal) => Promise<Progress>;
  /** What a step of the progress is called: "match". */
  unit?: string;
  /** What asking once more means here, instead of waiting on. */
  again?: () => void;
  /** Called when the user stops it, with how far it got; true when there is something to show instead of "Stopped". */
  stopped?: (done: number) => boolean;
}

/** The picture of a wait: title, bar, how far, how long, Stop. */
class Waiting {
  readonly layer = h("div.layer", { role: "status" });
  done = 0;
  private readonly bar = h("i");
  private readonly meter: HTMLElement;
  private readonly far = h("span");
  private readonly seconds = h("span.faint");
  private readonly timers: number[] = [];
  private readonly begun = performance.now();

  constructor(
    host: HTMLElement,
    private readonly wait: Wait,
    abort: AbortController,
  ) {
    this.meter = h("div.prog", { role: "progressbar", "aria-label": wait.title, "aria-valuemin": 0 }, this.bar);
    this.far.textContent = wait.note ?? "";
    const first = window.setTimeout(() => {
      const stop = h("button.btn", { type: "button", onclick: () => abort.abort() }, "Stop");
      fill(
        this.layer,
        h("div.mid", h("h2", wait.title), this.meter, h("p.pair", this.far, this.seconds), h("div.buttons", stop)),
      );
      host.append(this.layer);
      this.tick();
      this.timers.push(window.setInterval(() => this.tick(), 100));
      if (wait.progress) void this.ask(wait.progress, abort.signal);
    }, PATIENCE_MS);
    this.timers.push(first);
  }

  end(): void {
    for (const timer of this.timers) window.clearTimeout(timer);
    this.layer.remove();
  }

  private tick(): void {
    const took = (performance.now() - this.begun) / 1000;
    const total = Number(this.meter.getAttribute("aria-valuemax") ?? 0);
    const left = this.done > 0 && total > this.done ? (took * (total - this.done)) / this.done : 0;
    const about = left < 90 ? `${Math.ceil(left)} s` : `${Math.ceil(left / 60)} min`;
    this.seconds.textContent = `${took.toFixed(1)} s${left >= 0.5 ? ` · about ${about} left` : ""}`;
  }

  private async ask(progress: (signal: AbortSignal) => Promise<Progress>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.layer.isConnected) {
      try {
        const { running, done, total } = await progress(signal);
        if (running && total > 0) this.show(done, total);
      } catch {
        return; // the answer itself will say what is wrong
      }
      await new Promise((next) => this.timers.push(window.setTimeout(next, PROGRESS_MS)));
    }
  }

  private show(done: number, total: number): void {
    this.done = done;
    this.bar.classList.add("known");
    this.bar.style.width = `${(100 * done) / total}%`;
    this.meter.setAttribute("aria-valuenow", String(done));
    this.meter.setAttribute("aria-valuemax", String(total));
    this.far.textContent = `${this.wait.unit ?? "step"} ${count(done)} of ${count(total)}`;
  }
}

/**
 * Waits for an answer; shows progress over the host after half a second, with a Stop that ends the request. A failure
 * is shown in the host's place with "Try again", as is a stop; the wait goes on when it is pressed. Gives null when the
 * caller has something else to do then (`again`, `stopped`), and when the outer signal ended it.
 */
export async function waitFor<T>(
  host: HTMLElement,
  wait: Wait,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T | null> {
  while (outer?.aborted !== true) {
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    outer?.addEventListener("abort", stop, { once: true });
    const waiting = new Waiting(host, wait, abort);
    let state: (again: () => void) => HTMLElement;
    let silence: boolean;
    try {
      return await work(abort.signal);
    } catch (error) {
      if (outer?.aborted) return null;
      if (isAbort(error) && wait.stopped?.(waiting.done) === true) return null;
      silence = isSilence(error);
      state = (again) => (isAbort(error) ? stoppedState(wait.title, again) : errorState(error, again));
    } finally {
      waiting.end();
      outer?.removeEventListener("abort", stop);
    }
    const { again } = wait;
    const asked = pressed(host, state, silence, outer);
    if (again) {
      void asked.then((yes) => yes && again());
      return null;
    }
    if (!(await asked)) return null;
  }
  return null;
}

function stoppedState(title: string, again: () => void): HTMLElement {
  const state = emptyState("Stopped", `${title} was stopped.`);
  state.append(h("div.buttons", h("button.btn.on", { type: "button", onclick: again }, "Go on")));
  return state;
}

/**
 * Shows a state until its button is pressed, or the server is back where it was silent; false when nobody waits any
 * more.
 */
function pressed(
  host: HTMLElement,
  state: (again: () => void) => HTMLElement,
  silence: boolean,
  outer?: AbortSignal,
): Promise<boolean> {
  return new Promise((done) => {
    outer?.addEventListener("abort", () => done(false), { once: true });
    const again = (): void => {
      clearLayer(host);
      done(true);
    };
    const shown = state(again);
    showLayer(host, shown);
    if (silence) void connection.whenBack().then(() => shown.isConnected && again());
  });
}

/** Puts a state over a pane; the next one, or clearLayer, takes its place. */
export function showLayer(host: HTMLElement, content: HTMLElement): void {
  clearLayer(host);
  host.append(h("div.layer.kept", content));
}

export function clearLayer(host: HTMLElement): void {
  host.querySelector(":scope > .layer.kept")?.remove();
}
