/** Bars of a distribution, as one path. */

const SVG = "http://www.w3.org/2000/svg";

/** `colour` is a value of the style sheet. */
export function histogram(counts: readonly number[], width: number, height: number, colour: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("histogram");
  const most = Math.max(1, ...counts);
  const step = width / counts.length;
  const bars = counts.map((count, at) => {
    if (count === 0) return "";
    const tall = Math.max(1.5, (count / most) * height);
    return `M${(at * step).toFixed(2)} ${(height - tall).toFixed(2)}h${(step - 1).toFixed(2)}V${height}h${(1 - step).toFixed(2)}z`;
  });
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", bars.join("") || "M0 0");
  path.style.fill = colour;
  const floor = document.createElementNS(SVG, "path");
  floor.setAttribute("d", `M0 ${height - 0.5}h${width}v.5h-${width}z`);
  floor.style.fill = "var(--line-2)";
  svg.append(path, floor);
  return svg;
}
