import type { Picture } from "../../draw/renderer.ts";

export type Direction = "Up" | "Down" | "Left" | "Right";

/** The box that lies in a direction: along an edge upwards and downwards, in the same row to the sides. */
export function step(picture: Picture, box: number, direction: Direction): number {
  const { scene, placement } = picture;
  const along: number[] = [];
  if (direction === "Up" || direction === "Down") {
    const [near, far] = direction === "Up" ? [scene.to, scene.from] : [scene.from, scene.to];
    for (let e = 0; e < near.length; e++) if (near[e] === box) along.push(far[e]!);
  } else {
    const sign = direction === "Right" ? 1 : -1;
    for (let other = 0; other < scene.count; other++) {
      if (placement.y[other] === placement.y[box] && (placement.x[other]! - placement.x[box]!) * sign > 0)
        along.push(other);
    }
  }
  const off = (other: number): number =>
    Math.hypot(placement.x[other]! - placement.x[box]!, placement.y[other]! - placement.y[box]!);
  return along.length === 0 ? box : along.reduce((best, other) => (off(other) < off(best) ? other : best));
}

/** Copies the selected box, as text, when no text is selected. */
export function copyFrom(canvas: HTMLCanvasElement, chosen: () => string | null, signal: AbortSignal): void {
  const copy = (event: ClipboardEvent): void => {
    const { activeElement } = document;
    const inField = activeElement instanceof HTMLInputElement || activeElement instanceof HTMLTextAreaElement;
    if ((document.getSelection()?.toString() ?? "") !== "" || inField || canvas.offsetParent === null) return;
    const text = chosen();
    if (text === null) return;
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", copy, { signal });
}
