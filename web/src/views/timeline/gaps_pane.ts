/** Idle gaps, longest first: where a device waited, and what ran before and after. */
import { fill, h } from "../../base/dom.ts";
import { count, counted, duration } from "../../base/format.ts";
import { moment } from "../../layout/timeline_scale.ts";
import type { GapsWire, GapWire } from "../../wire/timeline.ts";
import { tip } from "../common/tooltip.ts";

export function drawGaps(host: HTMLElement, wire: GapsWire, onChoose: (gap: GapWire) => void): void {
  const idle = wire.tracks.reduce((sum, track) => sum + track.idle, 0);
  const number = wire.tracks.reduce((sum, track) => sum + track.gaps, 0);
  if (wire.gaps.length === 0) {
    fill(host, h("p.dim", "Nothing waited here: every device ran without a gap."));
    return;
  }
  const some = wire.gaps.length < number ? `The longest ${count(wire.gaps.length)}:` : "";
  fill(
    host,
    h(
      "p.dim",
      `${counted(number, "gap")} on ${counted(wire.tracks.length, "track")}, ${duration(idle)} in all. ${some}`,
    ),
    h(
      "div.gaps",
      { role: "list" },
      ...wire.gaps.map((gap) =>
        tip(
          h(
            "button.gap",
            { type: "button", role: "listitem", onclick: () => onChoose(gap) },
            h("span.num", duration(gap.dur)),
            h("span.ell.name", gap.trackName),
            h("span.faint.num", moment(gap.start)),
            h("span.gapline.ell.mono.name", `${gap.before || "begin"} → ${gap.after || "end"}`),
          ),
          () => `${gap.before}\n→ ${gap.after}`,
        ),
      ),
    ),
  );
}
