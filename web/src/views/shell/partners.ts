/** Which two captures are compared: those that were given together, or chosen in the address. */
import type { Navigator } from "../../state/navigator.ts";
import type { CaptureInfo, CaptureRow } from "../../wire/capture.ts";
import type { MenuItem } from "./menu.ts";

export class Partners {
  private chosen: [string, string] | null = null;

  constructor(private readonly nav: Navigator) {}

  choose(a: string, b: string): void {
    this.chosen = [a, b];
  }

  /** The capture that this one is compared with; empty while one is to be chosen, undefined when none is. */
  of(id: string): string | undefined {
    const { place } = this.nav;
    const other = this.chosen?.includes(id) ? this.chosen.find((one) => one !== id) : undefined;
    if (place.view !== "compare" || place.capture !== id) return other;
    const b = place.params["b"];
    if (b !== undefined) this.choose(id, b);
    return b ?? other ?? "";
  }

  /** What the menu of captures offers. */
  items(info: CaptureInfo | null, captures: readonly CaptureRow[]): MenuItem[] {
    if (info === null || captures.length < 2) return [];
    const act = (): void => this.nav.go({ capture: info.id, view: "compare", params: {} });
    return [{ label: "Compare with another …", role: "menuitem", act }];
  }
}
