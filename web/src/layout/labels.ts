import type { GraphWire } from "../wire/graph.ts";
import { CONSTANT } from "./fold.ts";

/** The two lines of a box: operation with its argument, and type. */
export interface Label {
  name: string;
  arg: string;
  type: string;
}

/** Fields of a node as text, wherever it comes from. */
export interface NodeText {
  op: string;
  dtype: string;
  arg: string;
  shape: string;
  tag: string;
}

const LONGEST_ARG = 34;

const SIGN: Record<string, string> = {
  ADD: "+", SUB: "−", MUL: "×", FDIV: "÷", CDIV: "÷", IDIV: "÷", FLOORDIV: "//", FLOORMOD: "%", CMOD: "%", MOD: "%",
  SHL: "<<", SHR: ">>", AND: "&", OR: "|", XOR: "^", CMPLT: "<", CMPNE: "≠", CMPEQ: "=", MAX: "max", POW: "^",
}; // prettier-ignore

/** The texts of node v. */
export function textOf(graph: GraphWire, v: number): NodeText {
  const pick = (list: string[], code: number | undefined): string =>
    code === undefined || code < 0 ? "" : (list[code] ?? "");
  return {
    op: pick(graph.ops, graph.op[v]),
    dtype: pick(graph.dtypes, graph.dtype[v]),
    arg: pick(graph.args, graph.arg[v]),
    shape: pick(graph.shapes, graph.shape[v]),
    tag: pick(graph.tags, graph.tag[v]),
  };
}

/** The label of node v; constants that were folded away stand in it. */
export function labelOf(graph: GraphWire, v: number, why: Uint8Array): Label {
  const text = textOf(graph, v);
  const first = graph.srcStart[v]!;
  const last = graph.srcStart[v + 1]!;
  const constants: (string | null)[] = [];
  for (let i = first; i < last; i++) {
    const source = graph.src[i]!;
    constants.push(why[source] === CONSTANT ? valueOf(graph, source) : null);
  }
  // vectors of constants are shown as boxes, with their values inside
  if (text.op === "STACK" || text.op === "VECTORIZE") {
    const values = constants.filter((value) => value !== null);
    if (values.length > 0 && values.length === constants.length) return finish(text, `{${values.join(",")}}`);
  }
  return label(text, constants);
}

/** A label from the texts of a node and the values of its constant sources (null: not a constant). */
export function label(text: NodeText, constants: readonly (string | null)[] = []): Label {
  return finish(text, argument(text, constants));
}

/** Everything there is to say about a node, line by line, for the tooltip and for copying. */
export function fullLabel(text: NodeText): string {
  const shape = typeLine(text);
  const lines = [text.op, clean(text.arg), shape, text.tag === "" ? "" : `tag ${text.tag}`];
  const space = addressSpace(text);
  if (space !== "") lines.push(`address space ${space}`);
  return lines.filter((line) => line !== "").join("\n");
}

/** Where a node's memory is: GLOBAL, LOCAL or REG; empty when its own fields do not say. */
export function addressSpace(text: NodeText): string {
  const named = /AddrSpace\.(\w+)/.exec(`${text.arg} ${text.dtype}`)?.[1];
  if (named !== undefined) return named;
  if (text.op === "DEFINE_LOCAL") return "LOCAL";
  if (text.op === "DEFINE_REG") return "REG";
  return /^(PARAM|BUFFER|DEFINE_GLOBAL)$/.test(text.op) && /ParamArg|^\d+$/.test(text.arg) ? "GLOBAL" : "";
}

function argument(text: NodeText, constants: readonly (string | null)[]): string {
  const { op, arg } = text;
  const known = constants.filter((value): value is string => value !== null);
  switch (op) {
    case "RANGE":
      return [rangeName(arg), ...known].filter((part) => part !== "").join(" ");
    case "PARAM":
    case "DEFINE_GLOBAL":
      return paramName(arg, "data");
    case "BUFFER":
    case "DEFINE_REG":
    case "DEFINE_LOCAL": {
      const space = addressSpace(text);
      return space === "REG"
        ? `REG ${paramName(arg, "acc")}`
        : space === "LOCAL"
          ? `LOCAL ${paramName(arg, "")}`
          : paramName(arg, "");
    }
    case "STAGE":
    case "BUFFERIZE":
      return (
        [addressSpace(text), /device='([^']*)'/.exec(arg)?.[1] ?? ""].filter((part) => part !== "").join(" ") ||
        clean(arg)
      );
    case "REDUCE":
    case "ALLREDUCE":
    case "REDUCE_AXIS":
      return /Ops\.(\w+)/.exec(arg)?.[1] ?? clean(arg);
    case "RESHAPE":
    case "EXPAND":
      return text.shape !== "" ? `→ ${tidyShape(text.shape)}` : clean(arg);
    case "CAST":
    case "BITCAST":
      return ""; // the type line says it
    case "STORE":
      return constants[1] != null ? `← ${constants[1]}` : clean(arg);
    case "INDEX":
      return constants.length === 2 && constants[1] != null ? `[${constants[1]}]` : clean(arg);
    case "WHERE":
      if (known.length > 0) return `${constants[0] ?? ""}? ${constants[1] ?? "·"} : ${constants[2] ?? "·"}`;
      return clean(arg);
    case "SPECIAL":
      return [clean(arg), ...known].join(" ");
    case "SINK":
    case "PROGRAM":
    case "CALL":
    case "FUNCTION":
    case "KERNEL":
      return nameIn(arg);
    default:
  }
  const sign = SIGN[op];
  if (sign !== undefined && constants.length === 2 && known.length > 0) {
    if (known.length === 2) return `${known[0]} ${sign} ${known[1]}`;
    return constants[1] != null ? `${sign} ${constants[1]}` : `${constants[0]} ${sign}`;
  }
  const own = clean(arg);
  const ports = constants.flatMap((value, port) => (value === null ? [] : [`${port}:${value}`]));
  return [own, ...ports].filter((part) => part !== "").join(" ");
}

function finish(text: NodeText, arg: string): Label {
  return {
    name: cut(text.op, LONGEST_ARG),
    arg: number(arg) || cut(arg, LONGEST_ARG),
    type: cut(typeLine(text), LONGEST_ARG + 10),
  };
}

function typeLine(text: NodeText): string {
  return [text.dtype.replaceAll("dtypes.", ""), tidyShape(text.shape)].filter((part) => part !== "").join(" ");
}

function tidyShape(shape: string): string {
  return shape.replace(/,\)$/, ")").replace(/, /g, ",");
}

/** The value of a constant, through the ops that only hand it on. */
function valueOf(graph: GraphWire, v: number): string {
  for (let hops = 0; hops < 64; hops++) {
    const text = textOf(graph, v);
    const first = graph.srcStart[v]!;
    const last = graph.srcStart[v + 1]!;
    if (text.op === "STACK" || text.op === "VECTORIZE") {
      const values: string[] = [];
      for (let i = first; i < last && values.length < 12; i++) values.push(valueOf(graph, graph.src[i]!));
      return `{${values.join(",")}}`;
    }
    if (first === last || /^(CONST|VCONST|DEVICE|UNIQUE|LUNIQUE)$/.test(text.op))
      return number(clean(text.arg)) || cut(clean(text.arg) || text.op, 16);
    v = graph.src[first]!;
  }
  return "";
}

/**
 * A number in at most twelve characters, with ≈ where that is not all of it; empty for what is none. A number is never
 * cut.
 */
function number(text: string): string {
  if (!/^-?\d+\.?\d*(?:e[+-]?\d+)?$/i.test(text)) return "";
  if (text.length <= 12) return text;
  const short = Number(text)
    .toPrecision(6)
    .replace(/\.?0+(?=e|$)/, "");
  return `≈${short}`;
}

function rangeName(arg: string): string {
  const numbers = arg.match(/\d+(?![^<]*>)/g) ?? [];
  const kind = /AxisType\.(\w+)/.exec(arg)?.[1]?.toLowerCase() ?? "";
  return numbers.length === 0 ? clean(arg) : `r${numbers.join("_")}${kind === "" ? "" : ` ${kind}`}`;
}

function paramName(arg: string, prefix: string): string {
  const named = /name='([^']+)'/.exec(arg)?.[1];
  if (named !== undefined) return named;
  const number = /^(?:ParamArg\()?(?:slot=)?(-?\d+)/.exec(arg)?.[1];
  return number === undefined ? clean(arg) : prefix + number;
}

/** The name='…' inside an argument, without the compiler's colour codes; CallInfo and the like have none. */
function nameIn(arg: string): string {
  const named = /name='((?:[^'\\]|\\.)*)'/.exec(arg)?.[1];
  if (named !== undefined) return clean(named);
  return /^\w+Info\(/.test(arg) ? "" : clean(arg);
}

/** Escape codes of a terminal's colours, as they are or as Python's repr writes them. */
const COLOURS = new RegExp(`(?:\\\\x1b|\\\\033|${"\x1b"})\\[[0-9;]*m`, "g");

function clean(arg: string): string {
  if (arg === "None") return "";
  return arg
    .replace(COLOURS, "")
    .replace(/\b(?:dtypes|Ops|AxisType|AddrSpace)\./g, "")
    .replace(/\s+/g, " ")
    .trim();
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  // kernel names share their start: both ends stay
  if (/^[rE]_\d/.test(text))
    return `${text.slice(0, Math.ceil(most * 0.6))}…${text.slice(text.length - Math.floor(most * 0.4) + 1)}`;
  return `${text.slice(0, most - 1)}…`;
}
