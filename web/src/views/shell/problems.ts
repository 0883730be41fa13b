/** The overlay that lists what a capture lost or did not understand. */
import { h } from "../../base/dom.ts";
import { clip, count } from "../../base/format.ts";
import type { CaptureInfo } from "../../wire/capture.ts";
import { openOverlay } from "./overlay.ts";

export function openProblems(info: CaptureInfo): void {
  const rows = info.problems.map((problem) =>
    h(
      "tr",
      h("td.wrap", clip(problem.reason, 400)),
      h("td.num", count(problem.count)),
      h("td.mono.wrap", clip(problem.example, 400)),
    ),
  );
  if (info.dropped > 0)
    rows.push(h("tr", h("td", "dropped while recording"), h("td.num", count(info.dropped)), h("td")));
  openOverlay(
    "Not understood or lost",
    h(
      "div.problems",
      h("div.h", h("span.grow.title", "Not understood or lost"), h("kbd", "Esc")),
      h(
        "table",
        h("thead", h("tr", h("th", "Reason"), h("th.num", "Count"), h("th", "First example"))),
        h("tbody", ...rows),
      ),
    ),
  );
}
