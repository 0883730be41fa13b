import { fill, h } from "../../base/dom.ts";

export interface NoticeActions {
  expandChange(): void;
  expandAll(): void;
}

/** The bar that admits that a large graph is shown in blocks, and undoes it. */
export class Notice {
  private readonly bar = h("div.graph-notice", { hidden: true, role: "status" });

  constructor(
    host: HTMLElement,
    private readonly actions: NoticeActions,
  ) {
    host.append(this.bar);
  }

  show(total: number, hidden: number, changes: boolean): void {
    this.bar.hidden = false;
    const words = `${total.toLocaleString("en-US")} nodes, ${hidden.toLocaleString("en-US")} hidden`;
    fill(
      this.bar,
      h("b", "!"),
      h("span", words),
      h("span.grow"),
      changes && h("button.btn", { type: "button", onclick: () => this.actions.expandChange() }, "Expand change"),
      h("button.btn", { type: "button", onclick: () => this.actions.expandAll() }, "Expand all"),
    );
  }

  hide(): void {
    this.bar.hidden = true;
  }
}

/** A button that appears when a step changed nothing in view: the view itself never jumps. */
export class Outside {
  private readonly button: HTMLElement;

  constructor(host: HTMLElement, act: () => void) {
    this.button = h(
      "button.btn.graph-outside",
      { type: "button", hidden: true, onclick: act },
      "The change is outside the view · Show it",
    );
    host.append(this.button);
  }

  set shown(shown: boolean) {
    this.button.hidden = !shown;
  }
}
