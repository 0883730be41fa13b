/** The page's colours as the timeline needs them: for pixels and for lines. */
import { readTheme, type Theme } from "../theme.ts";
import { inkOf } from "./raster.ts";
import type { Ink } from "./surface.ts";

export interface TimelineTheme extends Theme {
  line0: string;
  grid: string;
  pixels: {
    bg: Ink;
    group: Ink;
    line0: Ink;
    line1: Ink;
    grid: Ink;
    fg1: Ink;
    fg2: Ink;
    fg3: Ink;
    /** Colour and ink of the text on it, by number; 0 is neutral. */
    cat: Ink[];
    ink: Ink[];
    accent: Ink;
    /** How much of the accent a veil is, 0 … 256. */
    veil: number;
  };
}

export function readTimelineTheme(element: Element): TimelineTheme {
  const theme = readTheme(element);
  const style = getComputedStyle(element);
  const token = (name: string): string => style.getPropertyValue(`--${name}`).trim() || "#888";
  const veil = /\/\s*(\.?\d*\.?\d+)\s*\)/.exec(theme.accentVeil);
  return {
    ...theme,
    line0: token("line-0"),
    grid: token("grid"),
    pixels: {
      bg: inkOf(theme.bg0),
      group: inkOf(theme.bg1),
      line0: inkOf(token("line-0")),
      line1: inkOf(theme.line1),
      grid: inkOf(token("grid")),
      fg1: inkOf(theme.fg1),
      fg2: inkOf(theme.fg2),
      fg3: inkOf(theme.fg3),
      cat: Array.from({ length: 13 }, (_, i) => inkOf(i === 0 ? theme.bg4 : token(`cat-${i}`))),
      ink: Array.from({ length: 13 }, (_, i) => inkOf(i === 0 ? theme.fg1 : token(`cat-${i}-ink`))),
      accent: inkOf(theme.accent),
      veil: Math.round(256 * (veil ? Number(veil[1]) : 0.12)),
    },
  };
}
