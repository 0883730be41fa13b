/** Colours and fonts of the page, read from its tokens, for drawing on a canvas. */
export interface Theme {
  bg0: string; bg1: string; bg2: string; bg3: string; bg4: string;
  line1: string; line2: string; edge: string;
  fg1: string; fg2: string; fg3: string; fg4: string;
  accent: string; accentFg: string; accentLine: string; accentBg: string; accentVeil: string;
  added: string; addedBg: string; removed: string; removedBg: string; changed: string; changedBg: string;
  /** cat[1] to cat[12]; behind them the five steps of heat */
  cat: string[];
  mono: string;
  ui: string;
} // prettier-ignore

/** The theme that holds at an element. */
export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const token = (name: string): string => style.getPropertyValue(`--${name}`).trim() || "#888";
  return {
    bg0: token("bg-0"), bg1: token("bg-1"), bg2: token("bg-2"), bg3: token("bg-3"), bg4: token("bg-4"),
    line1: token("line-1"), line2: token("line-2"), edge: token("edge"),
    fg1: token("fg-1"), fg2: token("fg-2"), fg3: token("fg-3"), fg4: token("fg-4"),
    accent: token("accent"), accentFg: token("accent-fg"), accentLine: token("accent-line"), accentBg: token("accent-bg"),
    accentVeil: token("accent-veil"),
    added: token("added"), addedBg: token("added-bg"), removed: token("removed"), removedBg: token("removed-bg"),
    changed: token("changed"), changedBg: token("changed-bg"),
    cat: Array.from({ length: 18 }, (_, i) => (i === 0 ? "" : token(i < 13 ? `cat-${i}` : `heat-${i - 13}`))),
    mono: style.getPropertyValue("--font-mono").trim() || "monospace",
    ui: style.getPropertyValue("--font-ui").trim() || "sans-serif",
  }; // prettier-ignore
}
