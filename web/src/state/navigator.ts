/** The one owner of the address bar. Views ask it to go somewhere and are told where the user is. */
import { changed, formatPlace, parsePlace, type Params, type Place } from "./place.ts";

export type Mode = "push" | "replace";
type Listener = (place: Place, before: Place) => void;

/** Browsers refuse more than a few address changes a second while a key is held: the last one counts. */
const WRITE_EVERY_MS = 120;

export class Navigator {
  private current: Place;
  private readonly listeners = new Set<Listener>();
  private readonly lastParams = new Map<string, Params>();
  private pending: number | null = null;
  private written = 0;

  constructor(private readonly window: Window) {
    this.current = parsePlace(window.location.hash);
    const moved = (): void => {
      // the browser is elsewhere already: what was still to be written belongs to a place that was left
      this.drop();
      const place = parsePlace(window.location.hash);
      if (formatPlace(place) !== formatPlace(this.current)) this.settle(place);
    };
    window.addEventListener("popstate", moved);
    window.addEventListener("hashchange", moved);
    window.addEventListener("pagehide", () => this.flush());
  }

  get place(): Place {
    return this.current;
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Goes to a place; going where one is does nothing. */
  go(place: Place, mode: Mode = "push"): void {
    if (formatPlace(place) === formatPlace(this.current)) return;
    if (mode === "push") {
      this.flush();
      this.write("pushState", place);
      this.written = performance.now();
    }
    this.settle(place);
    if (mode === "replace") this.writeSoon();
  }

  /** Changes parameters of the current view; null takes one out. */
  set(change: Record<string, string | number | null>, mode: Mode = "push"): void {
    this.go({ ...this.current, params: changed(this.current.params, change) }, mode);
  }

  /** The address of another view: where the user was in it, or with the parameters given. */
  /** The address of a view in any capture. */
  addressIn(capture: string, view: string, params: Params): string {
    return formatPlace({ capture, view, params });
  }

  address(view: string, params?: Params): string {
    const { capture } = this.current;
    return formatPlace({ capture, view, params: params ?? this.lastParams.get(`${capture}/${view}`) ?? {} });
  }

  private settle(place: Place): void {
    const before = this.current;
    this.lastParams.set(`${before.capture}/${before.view}`, before.params);
    this.current = place;
    for (const listener of [...this.listeners]) listener(place, before);
  }

  private writeSoon(): void {
    if (this.pending !== null) return;
    const wait = Math.max(0, WRITE_EVERY_MS - (performance.now() - this.written));
    this.pending = this.window.setTimeout(() => this.flush(), wait);
  }

  private drop(): boolean {
    if (this.pending === null) return false;
    this.window.clearTimeout(this.pending);
    this.pending = null;
    return true;
  }

  private flush(): void {
    if (!this.drop()) return;
    this.written = performance.now();
    this.write("replaceState", this.current);
  }

  private write(how: "pushState" | "replaceState", place: Place): void {
    try {
      this.window.history[how](null, "", formatPlace(place));
    } catch {
      // a cell of a notebook may have no address of its own: the place is known here alone then
    }
  }
}
