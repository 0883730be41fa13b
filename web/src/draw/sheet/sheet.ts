/** A drawing to keep: the same code that draws on the screen draws it as SVG or onto a canvas of its own. */
import { readTheme } from "../theme.ts";
import type { Pen } from "./pen.ts";
import { SvgPen } from "./svg_pen.ts";

export interface Sheet {
  /** What it shows, for the menu: "Timeline window". */
  title: string;
  /** What part of it, for the line under the picture: "1.2 s to 1.4 s". */
  detail: string;
  width: number;
  height: number;
  /** Draws it from 0, 0, the ground too. */
  paint(pen: Pen): void;
}

export interface Kept {
  blob: Blob;
  /** A sentence when the picture is not what was asked for. */
  note: string;
}

const CAPTION = 24;
/** Pixels of a PNG: of a side, and in all; browsers give an empty canvas beyond some such size. */
const SIDE = 16_000;
const AREA = 120_000_000;
const SHARP = 2;

/** The sheet as SVG, with a line under it that says what it is. */
export function svgOf(sheet: Sheet, capture: string): Kept {
  const pen = new SvgPen(document.createElement("canvas").getContext("2d")!);
  paintAll(pen, sheet, capture);
  const text = pen.document(sheet.width, sheet.height + CAPTION, captionOf(sheet, capture));
  return { blob: new Blob([text], { type: "image/svg+xml" }), note: "" };
}

/** The sheet as PNG, two pixels for one of the page's where that has room. */
export async function pngOf(sheet: Sheet, capture: string): Promise<Kept> {
  const height = sheet.height + CAPTION;
  const scale = Math.min(SHARP, SIDE / Math.max(sheet.width, height), Math.sqrt(AREA / (sheet.width * height)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.floor(sheet.width * scale);
  canvas.height = Math.floor(height * scale);
  const context = canvas.getContext("2d", { alpha: false })!;
  context.scale(scale, scale);
  paintAll(context, sheet, capture);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob === null) throw new Error("The browser made no PNG of this size; SVG has no limit.");
  const percent = Math.round(100 * scale);
  return { blob, note: scale < 1 ? `The PNG is ${percent}% of the drawing's size; SVG keeps all of it.` : "" };
}

export function captionOf(sheet: Sheet, capture: string): string {
  return [capture, sheet.title, sheet.detail].filter((part) => part !== "").join(" · ");
}

function paintAll(pen: Pen, sheet: Sheet, capture: string): void {
  const theme = readTheme(document.documentElement);
  pen.save();
  pen.beginPath();
  pen.rect(0, 0, sheet.width, sheet.height);
  pen.clip();
  sheet.paint(pen);
  pen.restore();
  pen.fillStyle = theme.bg1;
  pen.fillRect(0, sheet.height, sheet.width, CAPTION);
  pen.fillStyle = theme.line1;
  pen.fillRect(0, sheet.height, sheet.width, 1);
  pen.fillStyle = theme.fg2;
  pen.font = `11px ${theme.ui}`;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.fillText(captionOf(sheet, capture), 10, sheet.height + CAPTION / 2 + 0.5);
}
