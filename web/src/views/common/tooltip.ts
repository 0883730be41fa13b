/** The one tooltip of the page: full text, selectable, after a short rest of the pointer. It never moves anything. */
import { fill, h } from "../../base/dom.ts";

type Content = () => string | Node | null;

const DELAY_MS = 80;
const LONGEST = 4000;
const contents = new WeakMap<Element, Content>();
let box: HTMLElement | null = null;
let timer = 0;
let owner: Element | null = null;

/** Gives an element a tooltip; the content is made when it is shown. */
export function tip(element: HTMLElement, content: Content): HTMLElement {
  contents.set(element, content);
  element.dataset["tip"] = "";
  return element;
}

/** Starts listening; once per page. */
export function startTooltips(): void {
  document.addEventListener("pointerover", (event) => {
    const target = event.target as Element;
    if (box?.contains(target)) {
      window.clearTimeout(timer);
      return;
    }
    const element = target.closest("[data-tip]");
    if (element === owner && element !== null) return;
    window.clearTimeout(timer);
    if (element === null) timer = window.setTimeout(hideTooltip, DELAY_MS);
    else timer = window.setTimeout(() => show(element), DELAY_MS);
  });
  for (const name of ["pointerdown", "keydown", "wheel"] as const) {
    document.addEventListener(
      name,
      (event) => {
        if (!box?.contains(event.target as Node)) hideTooltip();
      },
      { passive: true, capture: true },
    );
  }
}

function hideTooltip(): void {
  window.clearTimeout(timer);
  owner = null;
  if (box) box.hidden = true;
}

function show(element: Element): void {
  const content = contents.get(element)?.() ?? null;
  if (content === null || content === "" || !element.isConnected) return hideTooltip();
  owner = element;
  if (!box) {
    box = h("div.tooltip", { role: "tooltip" });
    document.body.append(box);
  }
  fill(box, typeof content === "string" && content.length > LONGEST ? `${content.slice(0, LONGEST)}…` : content);
  box.hidden = false;
  place(box, element);
}

/** Beside a row of a list, so that it never covers the next row; below anything else. */
function place(tooltip: HTMLElement, element: Element): void {
  const at = element.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = tooltip;
  const { innerWidth, innerHeight } = window;
  let left = at.left;
  let top = at.bottom + 4 + height <= innerHeight ? at.bottom + 4 : at.top - height - 4;
  if (element.closest(".vlist")) {
    left = at.right + 6 + width <= innerWidth ? at.right + 6 : at.left - width - 6;
    top = at.top;
  }
  tooltip.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
  tooltip.style.top = `${Math.max(4, Math.min(top, innerHeight - height - 4))}px`;
}
