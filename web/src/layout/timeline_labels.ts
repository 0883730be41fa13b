/**
 * Labels that fit: kernel names keep both ends, other names keep their head, under three characters nothing is said.
 */
import { endsAsKernel, ownNumber } from "../base/format.ts";

export type Advance = (char: string) => number;

const DOTS = "…";

export function widthOf(text: string, advance: Advance): number {
  let width = 0;
  for (const char of text) width += advance(char);
  return width;
}

/** The name cut to a width; empty when fewer than three of its characters would be left. */
export function fitLabel(name: string, width: number, advance: Advance): string {
  // nobody reads a thousand letters in a slice; what cannot fit is not measured
  const text = name.length > 400 ? name.slice(0, 400) : name;
  if (widthOf(text, advance) <= width) return text.length >= 1 && (text.length >= 3 || text === name) ? text : "";
  const room = width - advance(DOTS);
  if (room <= 0) return "";
  return endsAsKernel(text) ? bothEnds(text, room, advance) : head(text, room, advance);
}

/** The title of a track cut to a width: the number that tells it from others of its name stays. */
export function fitTitle(title: string, width: number, advance: Advance): string {
  const tail = ownNumber(title);
  if (tail === "" || widthOf(title, advance) <= width) return fitLabel(title, width, advance);
  return fitLabel(title.slice(0, -tail.length), width - widthOf(tail, advance), advance) + tail;
}

function head(text: string, room: number, advance: Advance): string {
  let used = 0;
  let kept = "";
  for (const char of text) {
    used += advance(char);
    if (used > room) break;
    kept += char;
  }
  return kept.length < 3 ? "" : kept.trimEnd() + DOTS;
}

function bothEnds(text: string, room: number, advance: Advance): string {
  let a = 0;
  let b = text.length;
  let used = 0;
  // the head gets a letter first, then both take turns: many kernels share a start and differ at the end
  for (let turn = 0; a < b; turn++) {
    const front = turn % 2 === 0;
    const next = advance(front ? text[a]! : text[b - 1]!);
    if (used + next > room) break;
    used += next;
    if (front) a++;
    else b--;
  }
  const kept = a + (text.length - b);
  return kept < 3 ? "" : text.slice(0, a) + DOTS + text.slice(b);
}
