/** Names as the compiler coloured them: ANSI codes become classes, everything else stays text. */

export interface Piece {
  text: string;
  /** Class of the piece, empty for plain text. */
  style: string;
}

// axis colours of kernel names on our own tokens; what is not listed is plain
const STYLES: Record<string, string> = {
  "31": "axis-red",
  "91": "axis-red",
  "32": "axis-local",
  "92": "axis-local",
  "33": "axis-up",
  "93": "axis-up",
  "34": "axis-global",
  "94": "axis-global",
  "35": "axis-unroll",
  "95": "axis-unroll",
  "36": "axis-local",
  "96": "axis-local",
  "90": "faint",
  "37": "",
  "97": "",
};
const ESC = "\x1b";
const CODE = new RegExp(`${ESC}\\[([0-9;]*)m`);

/** The pieces of a name, without its escape codes. */
export function pieces(name: string): Piece[] {
  if (!name.includes("\x1b")) return [{ text: name, style: "" }];
  const parts = name.split(CODE);
  const result: Piece[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    const text = parts[i] ?? "";
    if (text !== "") result.push({ text, style: i === 0 ? "" : styleOf(parts[i - 1] ?? "") });
  }
  return result;
}

/** The name as plain text. */
export function plain(name: string): string {
  return name.includes("\x1b")
    ? pieces(name)
        .map((piece) => piece.text)
        .join("")
    : name;
}

/** The name as elements. */
export function nameNodes(name: string, longest = 240): Node[] {
  let left = longest;
  const nodes: Node[] = [];
  for (const { text, style } of pieces(name)) {
    if (left <= 0) break;
    const shown = text.length > left ? `${text.slice(0, left)}…` : text;
    left -= text.length;
    if (style === "") nodes.push(document.createTextNode(shown));
    else {
      const span = document.createElement("span");
      span.className = style;
      span.textContent = shown;
      nodes.push(span);
    }
  }
  return nodes;
}

function styleOf(code: string): string {
  const last = code.split(";").at(-1) ?? "";
  return STYLES[last] ?? "";
}
