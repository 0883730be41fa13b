/** The tabs of the views. Those that have no room beside the capture's name are in a menu at their end. */
import { fill, h } from "../../base/dom.ts";
import { attachMenu } from "./menu.ts";

export interface Tab {
  title: string;
  href: string;
  current: boolean;
}

export class TabBar {
  private readonly more = h(
    "button.more",
    { type: "button" },
    "More",
    h("span.faint.caret", { "aria-hidden": "true" }, "▾"),
  );
  private readonly held = h("div.hold", { hidden: true }, this.more);
  readonly element = h("nav.tabs", { "aria-label": "Views" }, this.held);
  private links: HTMLElement[] = [];

  constructor() {
    attachMenu(this.more, "More views", () =>
      this.links
        .filter((link) => link.hidden)
        .map((link) => ({ label: link.textContent, role: "menuitem", act: () => link.click() })),
    );
  }

  /** Keeps the tabs within the bar that they are in, now and when it is as wide as the window again. */
  watch(bar: HTMLElement): void {
    new ResizeObserver(() => this.fit()).observe(bar);
  }

  show(tabs: readonly Tab[]): void {
    this.links = tabs.map(({ title, href, current }) =>
      h("a", { href, "aria-current": current ? "page" : null, "data-title": title }, title),
    );
    fill(this.element, ...this.links, this.held);
    this.fit();
  }

  /** The last tabs go first; the current one stays. */
  private fit(): void {
    for (const link of this.links) link.hidden = false;
    this.held.hidden = true;
    if (!this.isOver()) return;
    this.held.hidden = false;
    for (const link of [...this.links].reverse()) {
      if (!this.isOver()) return;
      if (!link.hasAttribute("aria-current")) link.hidden = true;
    }
  }

  /** Whether what stands in the bar reaches out of it. */
  private isOver(): boolean {
    const bar = this.element.parentElement;
    const last = bar?.lastElementChild;
    if (!bar || !last) return false;
    const end = bar.getBoundingClientRect().right - parseFloat(getComputedStyle(bar).paddingRight);
    return last.getBoundingClientRect().right > end + 0.5;
  }
}
