/** What a view is. The shell knows nothing about any view but this; main.ts lists them. */
import type { CaptureClient } from "../data/client.ts";
import type { Navigator } from "../state/navigator.ts";
import type { Params } from "../state/place.ts";
import type { CaptureInfo } from "../wire/capture.ts";

export type StatusPart = string | Node;

/** What the shell lends to a view. The panes are empty when a view is created and emptied after it is disposed of. */
export interface Page {
  readonly info: CaptureInfo;
  readonly client: CaptureClient;
  readonly nav: Navigator;
  readonly left: HTMLElement;
  readonly middle: HTMLElement;
  readonly right: HTMLElement;
  /** Counts on the left of the status bar; what is hidden, folded or lost on the right. */
  status(left: StatusPart[], right: StatusPart[]): void;
  /** The other of two captures that were chosen, empty when there is none. */
  partner(): string;
  /** True when a view of that name has data in this capture. */
  has(view: string): boolean;
}

/** A view on the screen. */
export interface View {
  /** The address changed (or is shown for the first time). */
  show(params: Params): void;
  /** A key that no field, list or overlay took; true when the view used it. */
  key?(event: KeyboardEvent): boolean;
  /** A key was let go: for what plays while it is held. */
  keyUp?(event: KeyboardEvent): void;
  /** Escape: clears the innermost thing; true when there was one. */
  escape?(): boolean;
  /** F: puts the focus into the view's filter. */
  filter?(): void;
  /** Ctrl F: puts the focus into the view's own search; a second one is the browser's. */
  focusFind?(): boolean;
  /** A live capture has more rows than before. */
  grown?(info: CaptureInfo): void;
  dispose(): void;
}

/** One line of the keys overlay: what, and the keys ("→ ←"). Words in lower case are printed as words ("hold →"). */
export type KeyHelp = readonly [string, string];

/** What is known of a capture when its tabs are chosen: what the server said, and which other one was chosen beside it. */
export interface KnownInfo extends CaptureInfo {
  partner?: string;
}

export interface ViewDef {
  readonly id: string;
  readonly title: string;
  /** Which panes it uses beside the middle. */
  readonly panes: { readonly left: string | null; readonly right: string | null };
  readonly keys: readonly KeyHelp[];
  /** What it asks the capture for first: on its way while the capture is still being opened. */
  readonly first?: readonly string[];
  /** A tab without data is not shown. */
  available(info: KnownInfo): boolean;
  create?(page: Page): View;
  /** Instead of `create`, where the view's script is fetched when it is first wanted: what makes it. */
  load?(): Promise<(page: Page) => View>;
}
