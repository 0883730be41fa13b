/** Paints a flame graph: calm boxes, a label where it fits, a number whole or not at all. */
import type { FlameBox } from "../layout/flame.ts";
import type { Pen } from "./sheet/pen.ts";

export const ROW = 23;
export const PAD = 10;
const HEIGHT = 22;
const TOP = 8;

export interface FlameTheme {
  bg0: string;
  bg4: string;
  fg1: string;
  font: string;
  fill: readonly string[];
  ink: readonly string[];
}

export interface FlameLabels {
  colour(node: number): number;
  name(node: number): string;
  time(node: number): string;
  dimmed(node: number): boolean;
}

export function readFlameTheme(element: HTMLElement): FlameTheme {
  const style = getComputedStyle(element);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  const numbers = Array.from({ length: 13 }, (_, at) => at);
  return {
    bg0: value("--bg-0"),
    bg4: value("--bg-4"),
    fg1: value("--fg-1"),
    font: `11px ${value("--font-mono")}`,
    fill: numbers.map((at) => (at === 0 ? value("--bg-4") : value(`--cat-${at}`))),
    ink: numbers.map((at) => (at === 0 ? value("--fg-1") : value(`--cat-${at}-ink`) || value("--fg-1"))),
  };
}

/** The level at a height of the canvas. */
export function levelAt(y: number): number {
  return Math.floor((y - TOP) / ROW);
}

export function flameHeight(levels: number): number {
  return TOP * 2 + levels * ROW;
}

export function drawFlame(
  ctx: Pen,
  theme: FlameTheme,
  boxes: readonly FlameBox[],
  labels: FlameLabels,
  size: { width: number; height: number; scroll: number },
  selected: number,
): void {
  const { width, height, scroll } = size;
  ctx.fillStyle = theme.bg0;
  ctx.fillRect(0, 0, width, height);
  ctx.font = theme.font;
  ctx.textBaseline = "middle";
  const letter = ctx.measureText("m").width;
  let chosen: FlameBox | null = null;
  for (const box of boxes) {
    const y = TOP + box.level * ROW - scroll;
    if (y + HEIGHT < 0 || y > height) continue;
    if (box.node === selected) chosen = box;
    const x = box.x + PAD;
    const wide = box.width > 3 ? box.width - 1 : box.width;
    const colour = labels.colour(box.node);
    const dimmed = labels.dimmed(box.node);
    ctx.globalAlpha = dimmed ? 0.3 : 1;
    ctx.fillStyle = theme.fill[colour]!;
    if (wide > 4) {
      ctx.beginPath();
      ctx.roundRect(x, y, wide, HEIGHT, 2);
      ctx.fill();
    } else ctx.fillRect(x, y, Math.max(wide, 0.5), HEIGHT);
    if (wide > 26) {
      const text = labelFor(labels.name(box.node), labels.time(box.node), Math.floor((wide - 9) / letter));
      if (text !== "") {
        ctx.globalAlpha = 1;
        ctx.fillStyle = dimmed ? theme.fg1 : theme.ink[colour]!;
        ctx.fillText(text, x + 5, y + HEIGHT / 2 + 0.5);
      }
    }
  }
  ctx.globalAlpha = 1;
  if (chosen) {
    const y = TOP + chosen.level * ROW - scroll;
    const wide = Math.max(chosen.width - 1, 3);
    for (const [style, line] of [
      [theme.bg0, 4],
      [theme.fg1, 2],
    ] as const) {
      ctx.strokeStyle = style;
      ctx.lineWidth = line;
      ctx.strokeRect(chosen.x + PAD + 1, y + 1, Math.max(wide - 2, 1), HEIGHT - 2);
    }
  }
}

/** Name and time where both fit; else the name, cut at its end; nothing under three letters. */
export function labelFor(name: string, time: string, room: number): string {
  if (name.length + 2 + time.length <= room) return `${name}  ${time}`;
  if (name.length <= room) return name;
  return room < 4 ? "" : `${name.slice(0, room - 1)}…`;
}
