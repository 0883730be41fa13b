/** Above the rows: the whole trace with the window in it, and the ruler with its flags. */
import { duration } from "../../base/format.ts";
import type { Span } from "../../layout/span.ts";
import { ticks } from "../../layout/timeline_scale.ts";
import type { MarkersWire } from "../../wire/timeline.ts";
import type { Pen } from "../sheet/pen.ts";
import { firstMarker, TICK } from "./painter.ts";
import type { TimelineTheme } from "./theme.ts";

export const MINIMAP = 44;
export const RULER = 24;

export interface HeadScene {
  span: Span;
  whole: number;
  range: Span | null;
  markers: MarkersWire;
  overview: { devices: Float32Array; host: Float32Array } | null;
}

export class HeadPainter {
  private readonly context: CanvasRenderingContext2D;
  private ratio = 1;
  private kept: HTMLCanvasElement | null = null;
  private keptFor: unknown = null;
  private keptTheme: TimelineTheme | null = null;
  private readonly widths = new Map<string, number>();
  width = 1;
  /** Moments of the window whose flag has no room. */
  crowded: number[] = [];

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  resize(width: number, ratio: number): void {
    this.width = Math.max(1, Math.floor(width));
    this.ratio = ratio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round((MINIMAP + RULER) * ratio);
    this.kept = null;
  }

  draw(scene: HeadScene, theme: TimelineTheme): void {
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.bg1;
    context.fillRect(0, 0, this.width, MINIMAP + RULER);
    this.drawMinimap(scene, theme);
    this.drawRuler(context, scene, theme);
  }

  private drawMinimap(scene: HeadScene, theme: TimelineTheme): void {
    const { context, width } = this;
    const place = (time: number): number => (time / Math.max(1, scene.whole)) * width;
    if (scene.overview) {
      if (this.kept === null || this.keptFor !== scene.overview || this.keptTheme !== theme)
        this.keep(scene.overview, theme);
      context.drawImage(this.kept!, 0, 0, width, MINIMAP);
    }
    const x0 = Math.max(0, place(scene.span.t0));
    const x1 = Math.min(width, place(scene.span.t1));
    context.fillStyle = theme.accentVeil;
    context.fillRect(x0, 0, Math.max(1, x1 - x0), MINIMAP);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1;
    context.strokeRect(Math.round(x0) + 0.5, 0.5, Math.max(1, Math.round(x1 - x0) - 1), MINIMAP - 1);
    context.fillStyle = theme.accent;
    if (scene.range)
      context.fillRect(
        place(scene.range.t0),
        MINIMAP - 3,
        Math.max(2, place(scene.range.t1) - place(scene.range.t0)),
        2,
      );
    for (const x of [x0, x1]) {
      context.beginPath();
      context.roundRect(Math.max(0, Math.min(width - 5, Math.round(x) - 2)), MINIMAP / 2 - 8, 5, 16, 2);
      context.fill();
    }
  }

  /** The trace does not change while the window moves over it: it is drawn once. */
  private keep(overview: { devices: Float32Array; host: Float32Array }, theme: TimelineTheme): void {
    const canvas = document.createElement("canvas");
    canvas.width = this.canvas.width;
    canvas.height = Math.round(MINIMAP * this.ratio);
    const context = canvas.getContext("2d")!;
    context.scale(this.ratio, this.ratio);
    const { devices, host } = overview;
    const step = this.width / devices.length;
    const hasDevices = devices.some((share) => share > 0.02);
    context.fillStyle = theme.fg4;
    (hasDevices ? devices : host).forEach((share, i) => {
      if (share > 0)
        context.fillRect(i * step, MINIMAP - 6 - Math.max(1, share * 30), Math.max(1, step), Math.max(1, share * 30));
    });
    if (hasDevices) {
      context.fillStyle = theme.cat[5]!;
      context.globalAlpha = 0.8;
      host.forEach((share, i) => {
        if (share > 0) context.fillRect(i * step, MINIMAP - 5, Math.max(1, step), 3);
      });
    }
    [this.kept, this.keptFor, this.keptTheme] = [canvas, overview, theme];
  }

  /** Draws the ruler at the top of a pen's page: for pictures to keep. */
  paintRuler(pen: Pen, scene: HeadScene, theme: TimelineTheme): void {
    const { crowded } = this;
    pen.save();
    pen.translate(0, -MINIMAP);
    pen.fillStyle = theme.bg1;
    pen.fillRect(0, MINIMAP, this.width, RULER);
    this.drawRuler(pen, scene, theme);
    pen.restore();
    this.crowded = crowded;
  }

  private drawRuler(context: Pen, scene: HeadScene, theme: TimelineTheme): void {
    const { width } = this;
    const { span, range } = scene;
    const scale = width / (span.t1 - span.t0);
    const x = (time: number): number => (time - span.t0) * scale;
    context.fillStyle = theme.line1;
    context.fillRect(0, MINIMAP, width, 1);
    context.fillRect(0, MINIMAP + RULER - 1, width, 1);
    context.textBaseline = "middle";
    const taken: [number, number][] = [];
    const free = (a: number, b: number): boolean => {
      for (let i = taken.length - 1; i >= 0; i--) if (a < taken[i]![1] && b > taken[i]![0]) return false;
      return true;
    };
    // the selected range gives way to nothing, marker flags give way to it, ticks to both
    if (range && x(range.t1) >= 0 && x(range.t0) <= width) {
      context.font = `600 11px ${theme.ui}`;
      const text = duration(range.t1 - range.t0);
      const wide = context.measureText(text).width + 12;
      const a = Math.max(0, x(range.t0));
      const b = Math.min(width, x(range.t1));
      const left = Math.max(0, Math.min(width - wide, (a + b) / 2 - wide / 2));
      context.fillStyle = theme.accent;
      context.fillRect(a, MINIMAP + RULER - 2, Math.max(1, b - a), 2);
      flag(context, left, wide, 3);
      context.fillStyle = theme.bg0;
      context.fillText(text, left + 6, MINIMAP + 12);
      taken.push([left - 4, left + wide + 4]);
    }
    this.drawFlags(context, scene, theme, x, free, taken);
    context.font = `11px ${theme.ui}`;
    const marks = ticks(span, width, TICK);
    for (const time of marks.times) {
      const at = Math.round(x(time));
      context.fillStyle = theme.line2;
      context.fillRect(at, MINIMAP + RULER - 6, 1, 6);
      const text = marks.label(time);
      const wide = context.measureText(text).width;
      if (at + 4 + wide > width - 2 || !free(at, at + wide + 8)) continue;
      taken.push([at, at + wide + 8]);
      context.fillStyle = theme.fg2;
      context.fillText(text, at + 4, MINIMAP + 12);
    }
  }

  private drawFlags(
    context: Pen,
    scene: HeadScene,
    theme: TimelineTheme,
    x: (time: number) => number,
    free: (a: number, b: number) => boolean,
    taken: [number, number][],
  ): void {
    const { width } = this;
    const { time, name, track } = scene.markers;
    // moments of one track get a flag only when there are no others
    const whole = track.some((one) => one < 0);
    context.font = `600 11px ${theme.ui}`;
    this.crowded = [];
    for (let i = firstMarker(time, scene.span.t0); i < time.length && time[i]! <= scene.span.t1; i++) {
      if (whole && track[i]! >= 0) continue;
      const at = Math.round(x(time[i]!));
      if (at > width) continue;
      context.fillStyle = theme.fg3;
      context.fillRect(at, MINIMAP + RULER - 4, 1, 4);
      const text = name[i]!.length > 24 ? `${name[i]!.slice(0, 23)}…` : name[i]!;
      if (text === "") continue;
      const wide = this.wide(context, text) + 10;
      // at the right edge it stands on the other side of its line
      const left = at + wide > width ? at - wide + 1 : at;
      if (left < 0 || !free(left - 4, left + wide + 4)) {
        this.crowded.push(i);
        continue;
      }
      taken.push([left - 4, left + wide + 4]);
      context.fillStyle = theme.bg4;
      context.beginPath();
      context.roundRect(left, MINIMAP + 3, wide, 17, left === at ? [0, 3, 3, 0] : [3, 0, 0, 3]);
      context.fill();
      context.fillStyle = theme.fg3;
      context.fillRect(at, MINIMAP + 3, 1, RULER - 3);
      context.fillStyle = theme.fg1;
      context.fillText(text, left + 5, MINIMAP + 12);
    }
  }

  /** Width of a flag's text; asking the canvas for thousands of them a frame would be felt. */
  private wide(context: Pen, text: string): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 5000) this.widths.clear();
      this.widths.set(text, (width = context.measureText(text).width));
    }
    return width;
  }
}

function flag(context: Pen, left: number, wide: number, radius: number): void {
  context.beginPath();
  context.roundRect(left, MINIMAP + 3, wide, 17, radius);
  context.fill();
}
