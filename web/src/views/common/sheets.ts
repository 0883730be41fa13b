/** Drawings on the screen that can be kept: each offers itself where it is, the shell asks what there is. */
import { h } from "../../base/dom.ts";
import { captionOf, pngOf, svgOf, type Sheet } from "../../draw/sheet/sheet.ts";

const offers = new WeakMap<Element, () => Sheet[]>();

/** An element in which something is drawn, and what of it can be kept at a moment. */
export function offerSheets(element: HTMLElement, sheets: () => Sheet[]): void {
  element.dataset["sheets"] = "";
  offers.set(element, sheets);
}

/** What can be kept of what is on the screen now. */
export function sheetsIn(root: Element): Sheet[] {
  return [...root.querySelectorAll<HTMLElement>("[data-sheets]")]
    .filter((element) => element.offsetParent !== null)
    .flatMap((element) => offers.get(element)!());
}

/** Hands the picture to the browser as a file; gives a sentence when it is not quite what was asked for. */
export async function keepSheet(sheet: Sheet, capture: string, kind: "svg" | "png"): Promise<string> {
  const { blob, note } = kind === "svg" ? svgOf(sheet, capture) : await pngOf(sheet, capture);
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: `${fileName(captionOf(sheet, capture))}.${kind}` });
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return note;
}

/** A name that every file system takes. */
function fileName(text: string): string {
  return (
    text
      .replace(/[^\p{L}\p{N}._-]+/gu, "-")
      .replace(/^[-.]+|[-.]+$/g, "")
      .slice(0, 100) || "picture"
  );
}
