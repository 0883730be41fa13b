/** What stands beside the lines of a kernel's source: op, pass and rule, and which lines one rule wrote. */
import { location } from "../base/format.ts";
import type { LinesWire, LineWire } from "../wire/code.ts";

export const FROM_SCHEDULE = "from the schedule";
/** Of the twelve data colours the last one is for what belongs to no pass. */
const COLOURS = 11;

export interface LineMark {
  /** Data colour of the pass, 0 for a line that did not come out of the graph. */
  colour: number;
  op: string;
  pass: string;
  /** "symbolic.py:88", empty where the rule is that of the line above. */
  rule: string;
  /** Everything about it, for the tooltip. */
  full: string;
}

/** True when it is known where a line came from. */
export function isKnown(line: LineWire): boolean {
  return line.kind !== "none" && (line.kind !== "brace" || line.ops.length > 0);
}

/** The rule that wrote a line, as a key that equal rules share; empty when no rule did. */
function ruleOf(line: LineWire): string {
  if (line.rule !== null) return `${line.rule.file}:${line.rule.line}`;
  return line.step >= 0 ? `step ${line.step}` : "";
}

/** A mark for each line, in order. */
export function lineMarks(wire: LinesWire): LineMark[] {
  const colours = passColours(wire.lines.filter((line) => line.step >= 0).map((line) => line.stepName));
  let above = "";
  return wire.lines.map((line) => {
    const known = isKnown(line);
    const rule = ruleOf(line);
    const changed = rule !== above;
    above = rule;
    if (!known) return { colour: 0, op: "", pass: "", rule: "", full: "" };
    const op = line.ops[0] ?? "";
    if (line.kind === "signature") return { colour: 0, op, pass: "", rule: "", full: "" };
    if (line.step < 0)
      return {
        colour: line.kind === "op" ? COLOURS + 1 : 0,
        op,
        pass: line.kind === "op" ? FROM_SCHEDULE : "",
        rule: "",
        full: line.ops.join(", "),
      };
    return {
      colour: colours.get(line.stepName)!,
      op,
      pass: line.stepName,
      rule: changed && line.rule !== null ? shortRule(line.rule.file, line.rule.line) : "",
      full: fullText(line),
    };
  });
}

/** Numbers (from 1) of the lines that the rule of this line wrote, itself among them. */
export function sameRule(wire: LinesWire, line: number): number[] {
  const chosen = wire.lines[line - 1];
  const key = chosen === undefined ? "" : ruleOf(chosen);
  return key === "" ? [] : wire.lines.filter((one) => ruleOf(one) === key).map((one) => one.line);
}

/** File and line; a file of many name-sakes keeps its folder. */
function shortRule(file: string, line: number): string {
  const place = location(file, line);
  return place.includes("__init__") ? place : place.slice(place.lastIndexOf("/") + 1);
}

function fullText(line: LineWire): string {
  const match = line.match > 0 ? ` › match ${line.match.toLocaleString("en-US")}` : "";
  const rule =
    line.rule === null
      ? []
      : [`${line.rule.file}:${line.rule.line}${line.handler === null ? "" : ` calls ${line.handler}`}`];
  return [line.ops.join(", "), `${line.stepName}${match}`, ...rule].join("\n");
}

/**
 * A colour for each pass: the same in most kernels, since it comes from the name, and no two alike in one kernel while
 * there are enough.
 */
function passColours(names: string[]): Map<string, number> {
  const colours = new Map<string, number>();
  const used = new Set<number>();
  for (const name of names) {
    if (colours.has(name)) continue;
    let colour = hash(name) % COLOURS;
    while (used.has(colour) && used.size < COLOURS) colour = (colour + 1) % COLOURS;
    used.add(colour);
    colours.set(name, colour + 1);
  }
  return colours;
}

function hash(text: string): number {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619) >>> 0;
  return value;
}
