/** Small helpers that make elements; text always goes in as text, never as markup. */

type Child = Node | string | number | null | undefined | false;
export type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/**
 * A new element: h("button.btn", { title: "Fit", onclick: fit }, "Fit", h("kbd", "Space")).
 *
 * An attribute that is null, undefined or false is left out; `on…` functions become listeners.
 */
export function h(tag: string, attributes?: Attributes | Child, ...children: Child[]): HTMLElement {
  const [name = "div", ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length > 0) element.className = classes.join(" ");
  if (isAttributes(attributes)) setAttributes(element, attributes);
  else children.unshift(attributes);
  append(element, children);
  return element;
}

/** Sets attributes and listeners with the rules of h(). */
function setAttributes(element: Element, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.replace(/^on/, ""), value as EventListener);
    else if (value === null || value === undefined || value === false) element.removeAttribute(key);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
}

/** Replaces everything inside an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
}

function isAttributes(value: Attributes | Child): value is Attributes {
  return typeof value === "object" && value !== null && !(value instanceof Node);
}
