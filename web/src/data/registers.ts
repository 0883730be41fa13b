/**
 * The registers that an instruction's text names: `v4` or `v[4]` is one, `v[4:7]` four; `%eax` is the low half of
 * `%rax`, `%xmm1` of `%ymm1`, `w3` of `x3`: what shares bits is one.
 */

const REGISTER =
  /\b(v|s|a|ttmp)(?:(\d{1,4})\b|\[(\d{1,4})(?::(\d{1,4}))?\])|\b(?:vcc|exec)(?:_lo|_hi)?\b|\b(?:scc|m0)\b|%[a-z][a-z0-9]*\b|\b[xw]\d{1,2}\b/g;
/** The parts of a register by the ways that they are written, and the register. */
const PARTS: readonly [RegExp, string][] = [
  [/^%[re]?([abcd])x$|^%([abcd])[lh]$/, "%r$1$2x"],
  [/^%[re]?([sd]i|[sb]p|ip)l?$/, "%r$1"],
  [/^%r(8|9|1[0-5])[dwb]$/, "%r$1"],
  [/^%[xyz]mm(\d+)$/, "%zmm$1"],
  [/^w(\d+)$/, "x$1"],
];
const MOST = 64;

/** A piece of an instruction's text; `keys` are the single registers that it stands for, none for other text. */
export interface Token {
  text: string;
  keys: string[];
}

/** The text in pieces, registers apart from the rest. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(REGISTER)) {
    if (match.index > end) found.push({ text: text.slice(end, match.index), keys: [] });
    found.push({ text: match[0], keys: keysOf(match) });
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push({ text: text.slice(end), keys: [] });
  return found;
}

/** Whether two pieces name a register in common. */
export function share(a: readonly string[], b: readonly string[]): boolean {
  return a.some((key) => b.includes(key));
}

function keysOf(match: RegExpMatchArray): string[] {
  const [whole, file, one, first, last] = match;
  if (file === undefined) {
    const of = PARTS.find(([part]) => part.test(whole));
    if (of) return [whole.replace(...of)];
    const [name, half] = whole.split("_");
    return half === undefined && (name === "vcc" || name === "exec") ? [`${name}_lo`, `${name}_hi`] : [whole];
  }
  if (one !== undefined) return [`${file}${one}`];
  const [low, high] = [Number(first), Number(last ?? first)];
  const count = Math.min(Math.max(high - low + 1, 0), MOST);
  return Array.from({ length: count }, (_, at) => `${file}${low + at}`);
}
