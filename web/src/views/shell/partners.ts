/** Which two captures are compared: those that were given together, or chosen in the address. */
import type { Navigator } from "../../state/navigator.ts";
import type { KnownInfo } from "../registry.ts";
import type { CaptureInfo, CaptureRow } from "../../wire/capture.ts";
import type { MenuItem } from "./menu.ts";

export interface CapturesWire {
  captures: CaptureRow[];
  /** How many of them the user named, the first ones. */
  named: number;
  packages: string[];
}

export class Partners {
  private chosen: [string, string] | null = null;

  constructor(private readonly nav: Navigator) {}

  /** Two that were given together are there to be compared. */
  start(reply: CapturesWire): void {
    if (reply.named === 2) this.choose(reply.captures[0]!.id, reply.captures[1]!.id);
  }

  /** A capture, with the one that it is compared with. */
  told(info: CaptureInfo): KnownInfo {
    const partner = this.of(info.id);
    return partner === undefined ? info : { ...info, partner };
  }

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
