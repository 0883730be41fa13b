/** A dialog over the page: the focus stays in it, Escape or a click beside it closes it. */
import { h } from "../../base/dom.ts";

export interface Overlay {
  close(): void;
}

const STOPS = "a[href], button, input, textarea, [tabindex='0']";

let current: (Overlay & { element: HTMLElement }) | null = null;

/** True while a dialog is open; the page's keys rest then. */
export function overlayOpen(): boolean {
  return current !== null;
}

export function openOverlay(label: string, content: HTMLElement, onClose?: () => void): Overlay {
  current?.close();
  const back = document.activeElement as HTMLElement | null;
  const box = h("div.over", { role: "dialog", "aria-modal": "true", "aria-label": label, tabindex: -1 }, content);
  // what scrolls and has nothing to stop at is scrolled by the arrows itself
  if (content.querySelector(STOPS) === null) box.tabIndex = 0;
  const shade = h("div.shade", box);
  const close = (): void => {
    if (current?.element !== shade) return;
    current = null;
    shade.remove();
    onClose?.();
    back?.focus();
  };
  shade.addEventListener("pointerdown", (event) => {
    if (event.target === shade) close();
  });
  shade.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      close();
    } else if (event.key === "Tab") keepFocus(box, event);
    event.stopPropagation();
  });
  current = { element: shade, close };
  document.body.append(shade);
  (box.querySelector<HTMLElement>("input, [autofocus]") ?? box).focus();
  return current;
}

function keepFocus(box: HTMLElement, event: KeyboardEvent): void {
  const stops = [...box.querySelectorAll<HTMLElement>(STOPS)];
  const first = stops[0] ?? box;
  const last = stops.at(-1) ?? box;
  if (event.shiftKey && (document.activeElement === first || document.activeElement === box)) {
    event.preventDefault();
    last.focus();
  } else if (!event.shiftKey && document.activeElement === last) {
    event.preventDefault();
    first.focus();
  }
}
