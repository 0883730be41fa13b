/** Marker shapes by event, in the letters that the server sends. */

const STAR = Array.from({ length: 10 }, (_, i): [number, number] => {
  const [r, angle] = [i % 2 === 0 ? 1.4 : 0.6, (Math.PI * i) / 5];
  return [r * Math.sin(angle), -r * Math.cos(angle)];
});

/** Corners for a radius of one; a circle has none. */
const CORNERS: Record<string, [number, number][]> = {
  s: [
    [-0.9, -0.9],
    [0.9, -0.9],
    [0.9, 0.9],
    [-0.9, 0.9],
  ],
  D: [
    [0, -1.2],
    [1.2, 0],
    [0, 1.2],
    [-1.2, 0],
  ],
  d: [
    [0, -1.3],
    [0.8, 0],
    [0, 1.3],
    [-0.8, 0],
  ],
  ">": [
    [1.2, 0],
    [-1, -1.1],
    [-1, 1.1],
  ],
  "<": [
    [-1.2, 0],
    [1, -1.1],
    [1, 1.1],
  ],
  "^": [
    [0, -1.2],
    [1.1, 1],
    [-1.1, 1],
  ],
  v: [
    [0, 1.2],
    [1.1, -1],
    [-1.1, -1],
  ],
  "|": [
    [-0.4, -1.4],
    [0.4, -1.4],
    [0.4, 1.4],
    [-0.4, 1.4],
  ],
  _: [
    [-1.3, -0.4],
    [1.3, -0.4],
    [1.3, 0.4],
    [-1.3, 0.4],
  ],
  "*": STAR,
  X: [
    [-1.2, -0.7],
    [-0.7, -1.2],
    [0, -0.5],
    [0.7, -1.2],
    [1.2, -0.7],
    [0.5, 0],
    [1.2, 0.7],
    [0.7, 1.2],
    [0, 0.5],
    [-0.7, 1.2],
    [-1.2, 0.7],
    [-0.5, 0],
  ],
  P: [
    [-0.4, -1.2],
    [0.4, -1.2],
    [0.4, -0.4],
    [1.2, -0.4],
    [1.2, 0.4],
    [0.4, 0.4],
    [0.4, 1.2],
    [-0.4, 1.2],
    [-0.4, 0.4],
    [-1.2, 0.4],
    [-1.2, -0.4],
    [-0.4, -0.4],
  ],
};

/** Adds a mark's outline to the current path. */
export function shape(g: CanvasRenderingContext2D, letter: string, x: number, y: number, r: number): void {
  const corners = CORNERS[letter];
  g.beginPath();
  if (!corners) g.arc(x, y, r, 0, 7);
  else for (const [dx, dy] of corners) g.lineTo(x + dx * r, y + dy * r);
  g.closePath();
}

const SVG = "http://www.w3.org/2000/svg";

/** The same as an icon of 10 px for a legend. */
export function shapeIcon(letter: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of [
    ["width", "10"],
    ["height", "10"],
    ["viewBox", "-5 -5 10 10"],
    ["aria-hidden", "true"],
  ] as const)
    svg.setAttribute(name, value);
  const corners = CORNERS[letter];
  const element = document.createElementNS(SVG, corners ? "polygon" : "circle");
  if (corners)
    element.setAttribute(
      "points",
      corners.map(([x, y]) => `${(x * 3.6).toFixed(2)},${(y * 3.6).toFixed(2)}`).join(" "),
    );
  else element.setAttribute("r", "3.6");
  svg.append(element);
  return svg;
}
