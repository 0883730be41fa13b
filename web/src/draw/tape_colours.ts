/** The colours of a tape's operations on either theme. Which operation has which is told by the server. */
import type { TapeWire } from "../wire/tape.ts";

/** Below this a mark on the background is lost. */
const LEAST_CONTRAST = 2.2;

type Rgb = [number, number, number];

export interface FamilyColour {
  fill: string;
  /** Of a pale one: the outline that makes it visible. */
  outline: string | null;
  /** How strong the fill of a mark is, and that of an area. */
  alpha: number;
  area: number;
}

/** A colour for each family, by its number; the hue is kept, and lifted or lowered only where it would be lost. */
export function familyColours(tape: TapeWire, background: string, edge: string): FamilyColour[] {
  const ground = parse(background);
  const dark = luminance(ground) < 0.2;
  return tape.families.map(({ colour, outlined }) => {
    const hex = colour === "" ? "#6b7280" : colour;
    if (outlined) return { fill: hex, outline: dark ? hex : edge, alpha: dark ? 0.35 : 1, area: dark ? 0.7 : 1 };
    return { fill: seen(parse(hex), ground, dark), outline: null, alpha: 1, area: 1 };
  });
}

function seen(colour: Rgb, ground: Rgb, dark: boolean): string {
  let now = colour;
  const towards = dark ? 255 : 0;
  for (let i = 0; i < 20 && contrast(now, ground) < LEAST_CONTRAST; i++)
    now = now.map((v) => v + (towards - v) * 0.08) as Rgb;
  return `rgb(${now.map(Math.round).join(" ")})`;
}

function parse(text: string): Rgb {
  const hex = /^#([0-9a-f]{6})$/i.exec(text.trim())?.[1];
  if (hex === undefined) return [128, 128, 128];
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Rgb;
}

function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((v) =>
    v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4,
  ) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: Rgb, b: Rgb): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}
