/** The pen of a canvas that has a width and height on the page, px, and is as sharp as the screen; its units are px. */
export function sizedPen(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  // another size empties a canvas, and takes time
  if (canvas.width !== wide || canvas.height !== tall) [canvas.width, canvas.height] = [wide, tall];
  const pen = canvas.getContext("2d", { alpha: false })!;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}
