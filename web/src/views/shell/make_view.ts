/** A view for the screen: made at once, or as soon as its script is there. */
import { fill, h } from "../../base/dom.ts";
import { errorState, waitFor } from "../common/states.ts";
import type { Page, View, ViewDef } from "../registry.ts";

/** The view; for one whose script is on its way one that shows nothing, which `replace` is then told to replace. */
export function makeView(def: ViewDef, page: Page, replace: (waiting: View, make: () => View) => void): View {
  const nothing: View = { show: () => undefined, dispose: () => undefined };
  const made = (make: () => View): View => {
    try {
      return make();
    } catch (error) {
      fill(page.middle, h("div.layer", errorState(error)));
      return nothing;
    }
  };
  if (def.create) return made(() => def.create!(page));
  void waitFor(page.middle, { title: `Fetching ${def.title}` }, () => def.load!()).then((make) => {
    if (make !== null) replace(nothing, () => made(() => make(page)));
  });
  return nothing;
}

/** Sends for the scripts of views that have one of their own. */
export function fetchScripts(defs: readonly ViewDef[]): void {
  // what fails is said where the view is made
  for (const def of defs) def.load?.().catch(() => undefined);
}
