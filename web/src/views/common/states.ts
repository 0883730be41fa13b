/** What stands in a pane that has nothing to show yet: empty, waiting, failed. Short, no apology, what to do. */
import { fill, h } from "../../base/dom.ts";
import { isAbort, ServerError } from "../../data/client.ts";
import { copyButton } from "./copy.ts";

/** Nothing is said before this. */
export const PATIENCE_MS = 500;

/** A title, a sentence and commands to copy. */
export function emptyState(title: string, sentence: string, commands: string[] = []): HTMLElement {
  return h(
    "div.mid",
    { role: "status" },
    h("h2", title),
    h("p", sentence),
    ...commands.map((command) => h("div.cmd", h("span", command), copyButton(() => command))),
  );
}

/** What happened, where, what to do; the raw text below it. */
export function errorState(error: unknown, again?: () => void): HTMLElement {
  const message = error instanceof Error ? error.message : String(error);
  const details = error instanceof ServerError ? error.details : error instanceof Error ? (error.stack ?? "") : "";
  const [title, ...rest] = sentences(message);
  return h(
    "div.mid.wider",
    { role: "alert" },
    h(
      "div.err",
      h("h2", title),
      rest.length > 0 && h("p", rest.join(" ")),
      details !== "" && h("pre", details),
      h("div.buttons", again && h("button.btn.on", { onclick: again }, "Try again"), copyButton(() => `${message}\n${details}`, "Copy details")),
    ),
  );
}

/** "What happened. What to do." in two parts. */
function sentences(text: string): string[] {
  const cut = /[.;] (?=[A-Za-z`])/.exec(text);
  if (!cut || cut.index > 140) return [text.slice(0, 160) + (text.length > 160 ? "…" : ""), ...(text.length > 160 ? [text] : [])];
  const rest = text.slice(cut.index + 2);
  return [text.slice(0, cut.index), rest.charAt(0).toUpperCase() + rest.slice(1)];
}

export interface Wait {
  /** "Replaying early symbolic" */
  title: string;
  /** "1,178 matches" */
  note?: string;
  /** What the user may do meanwhile. */
  hint?: string;
}

/**
 * Waits for an answer; shows progress over the host after half a second, with a Stop that ends the request. A failure
 * is shown in the host's place. Gives null when it failed or was stopped.
 */
export async function waitFor<T>(host: HTMLElement, wait: Wait, work: (signal: AbortSignal) => Promise<T>, outer?: AbortSignal): Promise<T | null> {
  const abort = new AbortController();
  outer?.addEventListener("abort", () => abort.abort(), { once: true });
  const layer = h("div.layer", { role: "status" });
  let ticking = 0;
  const begun = performance.now();
  const timer = window.setTimeout(() => {
    const seconds = h("span.faint");
    fill(
      layer,
      h(
        "div.mid",
        h("h2", wait.title),
        h("div.prog", { role: "progressbar", "aria-label": wait.title }, h("i")),
        h("p.pair", h("span", wait.note ?? ""), seconds),
        wait.hint !== undefined && h("p", wait.hint),
        h("div.buttons", h("button.btn", { onclick: () => abort.abort() }, "Stop")),
      ),
    );
    const tick = (): void => {
      seconds.textContent = `${((performance.now() - begun) / 1000).toFixed(1)} s`;
    };
    tick();
    ticking = window.setInterval(tick, 100);
    host.append(layer);
  }, PATIENCE_MS);
  const done = (): void => {
    window.clearTimeout(timer);
    window.clearInterval(ticking);
    layer.remove();
  };
  try {
    const result = await work(abort.signal);
    done();
    return result;
  } catch (error) {
    done();
    if (outer?.aborted) return null;
    const shown = isAbort(error) ? emptyState("Stopped", `${wait.title} was stopped. Choose it again to start over.`) : errorState(error);
    showLayer(host, shown);
    return null;
  }
}

/** Puts a state over a pane; the next one, or clearLayer, takes its place. */
export function showLayer(host: HTMLElement, content: HTMLElement): void {
  clearLayer(host);
  host.append(h("div.layer.kept", content));
}

export function clearLayer(host: HTMLElement): void {
  host.querySelector(":scope > .layer.kept")?.remove();
}
