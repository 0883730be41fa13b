/** A button that copies text and says that it did. */
import { h } from "../../base/dom.ts";

export function copyButton(text: () => string, label = "Copy"): HTMLElement {
  const button = h("button.btn", { type: "button" }, label);
  button.addEventListener("click", () => {
    void copyText(text()).then((done) => {
      button.textContent = done ? "Copied" : "Not copied";
      window.setTimeout(() => (button.textContent = label), 1200);
    });
  });
  return button;
}

/** Puts text on the clipboard; false when the browser does not allow it. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Behind a token on a plain http address there is no clipboard object; a selection still works. */
function copyBySelection(text: string): boolean {
  const area = h("textarea.offscreen", { "aria-hidden": "true" }) as HTMLTextAreaElement;
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
