/** Names of the rows at the left of a picture that is kept; on the screen they are elements. */
import type { RowBox } from "../../layout/timeline_rows.ts";
import { fitTitle } from "../../layout/timeline_labels.ts";
import type { Pen } from "../sheet/pen.ts";
import type { TimelineTheme } from "./theme.ts";

/** `rows` are those in sight, `scroll` how far down they are. */
export function drawNames(
  pen: Pen,
  theme: TimelineTheme,
  rows: readonly RowBox[],
  scroll: number,
  size: { width: number; height: number },
): void {
  pen.fillStyle = theme.bg1;
  pen.fillRect(0, 0, size.width, size.height);
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  for (const row of rows) {
    const top = row.y - scroll;
    const group = row.kind === "group";
    pen.fillStyle = group ? theme.line1 : theme.line0;
    pen.fillRect(0, top, size.width, 1);
    pen.font = `${group ? 600 : 400} 11px ${theme.ui}`;
    pen.fillStyle = group ? theme.fg1 : theme.fg2;
    const room = size.width - (group ? 16 : 24);
    const text = fitTitle(row.title, room, (char) => pen.measureText(char).width);
    pen.fillText(text, group ? 8 : 16, top + Math.min(row.h, group ? row.h : 26) / 2 + 0.5);
  }
  pen.fillStyle = theme.line1;
  pen.fillRect(size.width - 1, 0, 1, size.height);
}
