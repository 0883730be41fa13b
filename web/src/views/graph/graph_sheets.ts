/** The graph to keep: the part that is in sight, and all of it. */
import { counted } from "../../base/format.ts";
import { paintGraph } from "../../draw/canvas.ts";
import type { Camera, Marks, Picture } from "../../draw/renderer.ts";
import type { Sheet } from "../../draw/sheet/sheet.ts";
import { readTheme } from "../../draw/theme.ts";

/** Room around a whole graph. */
const MARGIN = 24;

export function graphSheets(host: HTMLElement, picture: Picture | null, camera: Camera, marks: Marks): Sheet[] {
  if (picture === null || picture.scene.count === 0) return [];
  const theme = readTheme(host);
  const { bounds, scene } = picture;
  const sheet = (title: string, width: number, height: number, view: Camera): Sheet => ({
    title,
    detail: scene.shown === scene.total ? counted(scene.total, "node") : `${scene.shown} of ${scene.total} nodes`,
    width: Math.ceil(width),
    height: Math.ceil(height),
    paint: (pen) => {
      pen.fillStyle = theme.bg0;
      pen.fillRect(0, 0, width, height);
      // what the pointer is over is nothing to keep
      paintGraph(pen, picture, theme, view, { width, height }, { ...marks, hovered: -1 });
    },
  });
  const whole = { x: (bounds.left + bounds.right) / 2, y: (bounds.top + bounds.bottom) / 2, zoom: 1 };
  return [
    sheet("Graph in sight", host.clientWidth, host.clientHeight, { ...camera }),
    sheet("Whole graph", bounds.right - bounds.left + 2 * MARGIN, bounds.bottom - bounds.top + 2 * MARGIN, whole),
  ];
}
