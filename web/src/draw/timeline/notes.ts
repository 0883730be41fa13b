/** Where notes are pinned: a sign on a slice, a bracket over a range. */
import type { RowLayout } from "../../layout/timeline_rows.ts";
import type { Span } from "../../layout/span.ts";
import type { NoteWire } from "../../wire/notes.ts";
import type { Pen } from "../sheet/pen.ts";
import type { Theme } from "../theme.ts";

const SIGN = 4;

export interface NotesView {
  theme: Theme;
  layout: RowLayout;
  span: Span;
  scroll: number;
  width: number;
  height: number;
}

export function drawNotes(pen: Pen, view: NotesView, notes: readonly NoteWire[]): void {
  const { theme, span, width } = view;
  const scale = width / (span.t1 - span.t0);
  const x = (time: number): number => (time - span.t0) * scale;
  for (const note of notes) {
    if (note.view !== "timeline") continue;
    if (note.kind === "range") {
      const [x0, x1] = [x(Number(note.params["r0"])), x(Number(note.params["r1"]))];
      if (x1 < 0 || x0 > width) continue;
      const [left, right] = [Math.max(-2, Math.round(x0)), Math.min(width + 2, Math.round(x1))];
      pen.fillStyle = theme.fg2;
      pen.fillRect(left, 0, Math.max(2, right - left), 2);
      for (const edge of [left, right - 1]) pen.fillRect(edge, 0, 1, 7);
      sign(pen, theme, Math.max(SIGN + 1, Math.min(width - SIGN, left)), 6);
      continue;
    }
    const place = view.layout.places.get(`${note.track}:${note.depth}`);
    if (!place) continue;
    const [x0, x1] = [x(note.start), x(note.start + note.dur)];
    const y = place.row.y + place.lane.y - view.scroll;
    if (x1 < 0 || x0 > width || y > view.height || y + place.lane.h < 0) continue;
    // at the right end, where no label begins; of a slice that reaches out of the window where it leaves it
    sign(pen, theme, Math.min(width - SIGN - 2, Math.max(x0 + SIGN, x1 - SIGN - 2)), y + 1);
  }
}

function sign(pen: Pen, theme: Theme, x: number, y: number): void {
  for (const [radius, colour] of [
    [SIGN + 1.5, theme.bg0],
    [SIGN, theme.fg1],
  ] as const) {
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.fill();
  }
}
