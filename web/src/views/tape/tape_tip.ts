/** What lies under the pointer on a tape, and what its tooltip says. */
import { h } from "../../base/dom.ts";
import { bytes, count, counted, duration } from "../../base/format.ts";
import { tapeTop, type Drawn, type TapePicture } from "../../draw/tape_draw.ts";
import type { Point } from "../common/viewport/gestures.ts";
import { momentWords, route, seconds } from "./words.ts";

/** How far beside a mark, a line or an arrow still counts, px. */
const NEAR = 4;

/** The message under the pointer, the first of a column; null for none. */
export function seqAt(picture: TapePicture, drawn: Drawn, at: Point): number | null {
  const data = picture.window;
  if (!data) return null;
  const mark = markAt(picture, drawn, at);
  if (mark >= 0) return data.marks.seq[mark]!;
  const column = columnAt(picture, drawn, at);
  return column ? data.columns.seq[column.column.from]! : null;
}

/** The mark under the pointer, or the nearest within a few pixels; the uppermost first. */
function markAt(picture: TapePicture, drawn: Drawn, { x, y }: Point): number {
  const at = y - tapeTop(picture) + picture.scroll;
  let [best, distance] = [-1, Infinity];
  for (const mark of drawn.marks) {
    const away = Math.hypot(mark.x - x, mark.y - at) - mark.r;
    if (away < NEAR && away <= distance) [best, distance] = [mark.index, Math.max(away, -1)];
  }
  return best;
}

function columnAt(picture: TapePicture, drawn: Drawn, { x, y }: Point): Drawn["columns"][number] | undefined {
  const at = y - tapeTop(picture) + picture.scroll;
  return drawn.columns.find(
    (column) =>
      x >= column.x && x < column.x + column.width && at >= column.y - NEAR && at <= column.y + column.height + NEAR,
  );
}

/** What is under the pointer, uppermost first: a message, a column of many, a signal, an arrow, folded time. */
export function describeTape(picture: TapePicture, drawn: Drawn, { x, y }: Point, width: number): Node[] | null {
  const { tape, window: data } = picture;
  if (!data) return null;
  const dim = (text: string): HTMLElement => h("span.dim", text);
  const mark = markAt(picture, drawn, { x, y });
  if (mark >= 0) {
    const { marks } = data;
    const together = marks.many[mark]!;
    const where = tape.lanes[marks.lane[mark]!]!.name;
    const facts = [`${seconds(marks.time[mark]!, tape.resolution)} s`];
    if (marks.dur[mark]! > 0) facts.push(duration(marks.dur[mark]!));
    if (marks.size[mark]! > 0) facts.push(bytes(marks.size[mark]!));
    return [
      h("b", `#${marks.seq[mark]!} ${tape.ops[marks.op[mark]!] ?? ""}`),
      dim(` · ${tape.kinds[marks.event[mark]!]!.name} on ${where}`),
      h("div", facts.join(" · ")),
      ...(together > 1
        ? [
            h(
              "div.faint",
              `${marks.place[mark]! + 1}. of ${together} within ${duration(data.stack)}. ${momentWords(tape.resolution)}`,
            ),
          ]
        : []),
    ];
  }
  const column = columnAt(picture, drawn, { x, y });
  if (column) {
    const { from, to, total, lane } = column.column;
    const parts = Array.from({ length: to - from }, (_, i) => from + i).sort(
      (a, b) => data.columns.count[b]! - data.columns.count[a]!,
    );
    return [
      h("b", counted(total, "event")),
      dim(` on ${tape.lanes[lane]!.name} within ${duration(data.cell)}`),
      ...parts
        .slice(0, 8)
        .map((i) => h("div", `${count(data.columns.count[i]!)} ${tape.families[data.columns.family[i]!]!.name}`)),
      h("div.faint", "Zoom in for single messages."),
    ];
  }
  const line = picture.signals && drawn.lines.find((other) => Math.abs(other.x - x) < 4);
  if (line) {
    const signal = tape.signals[line.index]!;
    const length = signal.span ? ` · ${duration(signal.end - signal.start)}` : "";
    const does = line.end ? " ends" : signal.span ? " begins" : "";
    const time = seconds(line.end && signal.span ? signal.end : signal.start, tape.resolution);
    return [h("b", signal.name), dim(` · signal${does} at ${time} s${length}`)];
  }
  const at = y - tapeTop(picture) + picture.scroll;
  const flow = drawn.arrows.find(({ x0, y0, x1, y1 }) => {
    const share = (at - y0) / (y1 - y0 || 1);
    return share >= 0 && share <= 1 && Math.abs(x0 + (x1 - x0) * share - x) < 4;
  });
  if (!flow) return foldAt(picture, x, width);
  const { arrows } = data;
  const many = arrows.count[flow.index]!;
  const size = arrows.bytes[flow.index]! > 0 ? `, ${bytes(arrows.bytes[flow.index]!)}` : "";
  const within = many > 1 ? ` within ${duration(data.arrowCell)}` : "";
  return [
    h("b", route(tape, arrows.source[flow.index]!, arrows.target[flow.index]!)),
    dim(` · ${counted(many, "message")}${size}${within}`),
  ];
}

function foldAt(picture: TapePicture, x: number, width: number): Node[] | null {
  const { axis, u0, u1 } = picture;
  const u = u0 + (x / Math.max(1, width)) * (u1 - u0);
  const fold = axis.folds.find((other) => u >= other.u0 && u < other.u1);
  return fold ? [h("b", `${duration(fold.ns)} folded`), h("span.dim", " · nothing happened")] : null;
}
