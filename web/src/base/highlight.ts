/** Syntax colours for the few languages that a capture holds: C and its dialects, Python, assembly, lists of ops. */

export interface Token {
  text: string;
  /** k keyword, f function, c comment, s string, no number, ty type; empty for the rest. */
  style: "" | "k" | "f" | "c" | "s" | "no" | "ty";
}

export type Language = "c" | "python" | "asm" | "ops" | "sql" | "text";

const C_KEYWORDS = new Set(
  (
    "auto break case const continue default do else enum extern for goto if inline kernel __kernel __global __local __global__ " +
    "__shared__ __device__ device threadgroup constant restrict __restrict__ return sizeof static struct switch typedef union " +
    "using namespace template volatile while fn let var override workgroup"
  ).split(" "),
);
const C_TYPES = new Set(
  (
    "void bool _Bool char short int long unsigned signed float double half size_t int8_t int16_t int32_t int64_t uint8_t " +
    "uint16_t uint32_t uint64_t __bf16 _Float16 bfloat16 f16 f32 i32 u32 uint uchar ushort ulong"
  ).split(" "),
);
const PY_KEYWORDS = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except finally for from global if " +
    "import in is lambda nonlocal not or pass raise return try while with yield match case"
  ).split(" "),
);

const SQL_KEYWORDS = new Set(
  (
    "all and any as asc between by case cast cross desc describe distinct else end except exists explain analyze false filter " +
    "first from full group having ilike in inner intersect interval is join last lateral left like limit natural not null " +
    "nulls offset on or order outer over partition pivot qualify range recursive right row rows sample select semi show " +
    "similar summarize table tables then true union unnest unpivot using values when where window with within"
  ).split(" "),
);

const C_TOKEN =
  /(?<c>\/\/.*|\/\*.*?(?:\*\/|$))|(?<s>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<n>\b(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?)[fFuUlLhH]*\b|\.\d+f?)|(?<w>[A-Za-z_]\w*)/g;
const PY_TOKEN =
  /(?<c>#.*)|(?<s>[rbfu]{0,2}(?:"""|''')|[rbfu]{0,2}"(?:[^"\\]|\\.)*"|[rbfu]{0,2}'(?:[^'\\]|\\.)*')|(?<n>\b(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?)\b)|(?<w>[A-Za-z_]\w*)/g;
const ASM_TOKEN =
  /(?<c>\/\/.*|;.*|#.*)|(?<s>"(?:[^"\\]|\\.)*")|(?<l>^\s*[\w.$@]+:)|(?<n>(?<![\w.])[$#]?-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?)\b)|(?<r>%\w+|\b(?:(?:[vsawxqd]|ttmp)\d+|(?:[vsa]|ttmp)\[\d+(?::\d+)?\]|[er]?[abcd]x|[er]?[sd]i|[er]?[sb]p|[xyz]mm\d+|r\d+[dwb]?|(?:vcc|exec)(?:_lo|_hi)?|scc|m0|null)(?!\w))|(?<w>[A-Za-z_.][\w.]*)/g;

const SQL_TOKEN =
  /(?<c>--.*|\/\*.*?(?:\*\/|$))|(?<s>'(?:[^']|'')*'?|"(?:[^"]|"")*"?)|(?<n>\b\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?\b)|(?<w>[A-Za-z_]\w*)/g;
const OPS_TOKEN =
  /(?<c>^\s*↑?\d+(?= )|(?<=^\s*)↑\d+)|(?<s>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<t>dtypes\.\w+(?:\.\w+)*|\b(?:void|bool|char|uchar|short|ushort|int|uint|long|ulong|half|bfloat16|float|double|weakint|weakfloat|fp8e4m3|fp8e5m2)\d*\b)|(?<n>(?<![\w.])-?(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?)\b)|(?<w>[A-Za-z_][\w.]*)/g;

/** What to colour an artifact as. */
export function languageOf(language: string, kind: string): Language {
  const name = language.toLowerCase();
  if (kind === "assembly" || kind === "binary" || name === "asm" || name === "amd" || name === "ptx" || name === "llvm")
    return "asm";
  if (name === "python" || name === "py") return "python";
  if (kind === "oplist") return "ops";
  if (name === "text" || kind === "table" || kind === "error") return "text";
  return name === "" && kind !== "source" ? "text" : "c";
}

/** The tokens of one line; joined they are the line. */
export function tokens(line: string, language: Language): Token[] {
  if (language === "text" || line.length > 4000) return [{ text: line, style: "" }];
  const result: Token[] = [];
  const pattern = { c: C_TOKEN, python: PY_TOKEN, asm: ASM_TOKEN, ops: OPS_TOKEN, sql: SQL_TOKEN }[language];
  let at = 0;
  let first = true;
  for (const found of line.matchAll(pattern)) {
    const text = found[0];
    const style = styleOf(found, line, language, first);
    if (found.groups?.["w"] !== undefined || found.groups?.["r"] !== undefined) first = false;
    if (style === "") continue;
    if (found.index > at) result.push({ text: line.slice(at, found.index), style: "" });
    result.push({ text, style });
    at = found.index + text.length;
  }
  if (at < line.length || result.length === 0) result.push({ text: line.slice(at), style: "" });
  return result;
}

function styleOf(found: RegExpMatchArray, line: string, language: Language, first: boolean): Token["style"] {
  const groups = found.groups ?? {};
  if (groups["c"] !== undefined) return "c";
  if (groups["s"] !== undefined) return "s";
  if (groups["n"] !== undefined) return "no";
  if (groups["l"] !== undefined) return "f";
  if (groups["r"] !== undefined || groups["t"] !== undefined) return "ty";
  const word = found[0];
  if (language === "asm") return first ? "k" : "";
  // the op of the line; what it is given stays plain, but for the ops among it
  if (language === "ops")
    return /^[A-Z][A-Z0-9_]*$/.test(word) && first ? "k" : /^[A-Z]\w*\.[A-Z]/.test(word) ? "f" : "";
  const called = line[(found.index ?? 0) + word.length] === "(";
  if (language === "sql") return SQL_KEYWORDS.has(word.toLowerCase()) ? "k" : called ? "f" : "";
  if (language === "python") return PY_KEYWORDS.has(word) ? "k" : called ? "f" : "";
  if (C_KEYWORDS.has(word)) return "k";
  if (C_TYPES.has(word) || /^(?:float|half|int|uint|char|uchar|short|long|double|bool|vec|bfloat)\d+$/.test(word))
    return "ty";
  return called || word.startsWith("__") ? "f" : "";
}

/** The line as elements. */
export function codeNodes(line: string, language: Language): Node[] {
  return tokens(line, language).map(({ text, style }) => {
    if (style === "") return document.createTextNode(text);
    const span = document.createElement("span");
    span.className = style;
    span.textContent = text;
    return span;
  });
}
