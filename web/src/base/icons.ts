/** The few drawings of the page, built as elements: no markup is ever parsed. */

const SVG = "http://www.w3.org/2000/svg";

const PATHS = {
  search: ["M7 2.8a4.2 4.2 0 1 0 0 8.4a4.2 4.2 0 0 0 0-8.4Z", "M10.2 10.2 14 14"],
  filter: ["M2 4h12M4.5 8h7M7 12h2"],
  panes: [
    "M3.5 3h9A1.5 1.5 0 0 1 14 4.5v7a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 11.5v-7A1.5 1.5 0 0 1 3.5 3Z",
    "M6 3v10M10.5 3v10",
  ],
  dark: ["M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8Z"],
  light: [
    "M8 5a3 3 0 1 0 0 6a3 3 0 0 0 0-6Z",
    "M8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M12.6 3.4l-1.1 1.1M4.5 11.5l-1.1 1.1",
  ],
  system: ["M2.5 3.5h11v7h-11Z", "M6 13h4M8 10.5V13"],
  keys: ["M6 6.2a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4M8 12v.6"],
  picture: [
    "M3 4.5h2.2L6.4 3h3.2l1.2 1.5H13A1 1 0 0 1 14 5.5v6.5a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1V5.5a1 1 0 0 1 1-1Z",
    "M8 6.2a2.4 2.4 0 1 0 0 4.8a2.4 2.4 0 0 0 0-4.8Z",
  ],
  note: ["M3 2.5h10v8L9.5 14H3Z", "M13 10.5H9.5V14", "M5.5 5.5h5M5.5 8h3"],
  close: ["M4 4l8 8M12 4l-8 8"],
} as const;

export type IconName = keyof typeof PATHS;

/** An icon of 16 units; its size and colour come from the style sheet. */
export function icon(name: IconName, size = 16): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("width", String(size));
  svg.setAttribute("height", String(size));
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("ic");
  for (const d of PATHS[name]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}

/** The mark: a peephole. */
export function mark(): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 18 18");
  svg.setAttribute("width", "18");
  svg.setAttribute("height", "18");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("mark");
  for (const [r, name] of [
    [7.6, "rim"],
    [3, "eye"],
  ] as const) {
    const circle = document.createElementNS(SVG, "circle");
    circle.setAttribute("cx", "9");
    circle.setAttribute("cy", "9");
    circle.setAttribute("r", String(r));
    circle.classList.add(name);
    svg.append(circle);
  }
  return svg;
}
