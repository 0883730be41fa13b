/** What went wrong, or took long, while a program was compiled. See docs/api.md. */
import type { SourceLine, StackFrame } from "./capture.ts";

export interface CompilationWire {
  context: number;
  name: string;
  /** The rank or process, where there are several. */
  group: string;
  function: string;
  /** "file:line" of the function; empty when unknown. */
  place: string;
  /** How long compiling it took, -1 when unknown. */
  cost: number;
  time: number;
}

export interface ProblemWire {
  /** What it goes by among those of its kind. */
  id: string;
  kind: string;
  title: string;
  context: number;
  contextName: string;
  group: string;
  function: string;
  reason: string;
  /** Several on lines of their own; empty when there is none. */
  hint: string;
  file: string;
  line: number;
  /** Whether that is a line of the user's program. */
  own: boolean;
  /** Nanoseconds from the timeline's begin, -1 when unknown. */
  time: number;
  cost: number;
  /** Memory that it is about, -1 for none. */
  bytes: number;
  wanted: string;
  got: string;
  missed: string;
  link: string;
  others: string[];
  text: string;
  stack: StackFrame[];
}

export interface ProblemsWire {
  /** How long compiling took altogether. */
  compiling: number;
  compilations: CompilationWire[];
  problems: ProblemWire[];
}

export interface ProblemLinesWire {
  lines: SourceLine[];
}
