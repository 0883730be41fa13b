/** The bar over a page that is a file: whose copy it is, when it was made, how large, and what was left out. */
import { h } from "../../base/dom.ts";
import { bytes, counted } from "../../base/format.ts";
import type { CopyPart, SharedCopy } from "../../data/source.ts";
import { copyButton } from "../common/copy.ts";
import { overlayOpen } from "./overlay.ts";

/** Puts the bar above everything else. */
export function showCopyBar(copy: SharedCopy): void {
  const list = listOf(copy);
  const button = h(
    "button.btn",
    { type: "button", "aria-expanded": "false", "aria-controls": list.id, "aria-keyshortcuts": "L" },
    copy.leftOut.length > 0 ? `Left out: ${counted(copy.leftOut.length, "thing")} ` : "What is inside ",
    h("kbd", { "aria-hidden": "true" }, "L"),
  );
  const show = (open: boolean): void => {
    list.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  const hide = h("button.icon", { type: "button", "aria-label": "Hide this bar", title: "Hide this bar" }, "✕");
  const bar = h(
    "section.copybar",
    { "aria-label": "Shared copy" },
    h("b", "Shared copy"),
    h("span.dim.ell", copy.of, h("span.wide", ` · made ${madeAt(copy)} · ${sizes(copy)}`)),
    h("span.grow"),
    h("span.wide.dim", "Nothing is sent or loaded"),
    button,
    hide,
  );
  const remove = (): void => {
    bar.remove();
    list.remove();
    delete document.body.dataset["copy"];
  };
  button.addEventListener("click", () => show(list.hidden !== false));
  hide.addEventListener("click", remove);
  document.addEventListener("pointerdown", ({ target }) => {
    if (target instanceof Node && !list.contains(target) && !button.contains(target)) show(false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopImmediatePropagation();
      show(false);
    }
  });
  document.addEventListener("keydown", (event) => {
    // after the page: a view that has this key of its own keeps it
    const taken = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || overlayOpen();
    const field = (event.target as HTMLElement).closest("input, textarea, select, [contenteditable]");
    if (event.key.toLowerCase() === "l" && !taken && !field && bar.isConnected) show(list.hidden !== false);
  });
  document.body.dataset["copy"] = "";
  document.body.prepend(bar, list);
}

function madeAt(copy: SharedCopy): string {
  const made = new Date(copy.made);
  return Number.isNaN(made.getTime())
    ? copy.made
    : made.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

function sizes(copy: SharedCopy): string {
  return `one file of ${bytes(copy.bytes)}, the capture has ${bytes(copy.captureBytes)}`;
}

function listOf(copy: SharedCopy): HTMLElement {
  const command = `peephole serve ${copy.of}.peep`;
  return h(
    "div.copylist",
    { id: "copy-list", role: "dialog", "aria-label": "What is inside", hidden: true },
    part("Inside", "✓", copy.inside, bytes(copy.bytes)),
    part("Left out", "✕", copy.leftOut, ""),
    h(
      "div.foot",
      h("span.dim.ell", "Ask the sender for all of it, or open the capture:"),
      h("code.mono.ell", command),
      h("span.grow"),
      copyButton(() => command),
    ),
  );
}

function part(title: string, sign: string, items: readonly CopyPart[], whole: string): HTMLElement {
  return h(
    "div",
    h("div.h", h("span.grow", title), h("span.faint", whole)),
    h(
      "ul",
      ...items.map((item) =>
        h(
          "li",
          h(`span.mk${sign === "✕" ? ".warnt" : ""}`, { "aria-hidden": "true" }, sign),
          h("span.words", item.what),
          h("span.num", item.bytes > 0 ? bytes(item.bytes) : ""),
        ),
      ),
    ),
  );
}
