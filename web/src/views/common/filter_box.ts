/** The filter field at the head of a pane. */
import { h } from "../../base/dom.ts";
import { icon } from "../../base/icons.ts";

export interface FilterBox {
  element: HTMLElement;
  input: HTMLInputElement;
}

/** A field for a bar: Escape empties it, then leaves it; the arrow down goes on to the list. */
export function filterField(
  label: string,
  style: string,
  onText: (text: string) => void,
  onDown: () => void,
): FilterBox {
  const input = h("input", {
    type: "text",
    placeholder: label,
    "aria-label": label,
    autocomplete: "off",
    spellcheck: "false",
    "aria-keyshortcuts": "F",
  }) as HTMLInputElement;
  input.addEventListener("input", () => onText(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && input.value !== "") {
      input.value = "";
      onText("");
      event.stopPropagation();
    } else if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      onDown();
    }
  });
  return { element: h(`label.search.${style}`, icon("filter", 14), input, h("kbd", "F")), input };
}

/** The same with a bar of its own. */
export function filterBox(label: string, onText: (text: string) => void, onDown: () => void): FilterBox {
  const { element, input } = filterField(label, "grow", onText, onDown);
  return { element: h("div.bar.pad", element), input };
}
