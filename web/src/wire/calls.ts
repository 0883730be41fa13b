/** What the server says about who called what. See docs/api.md. */

export interface CallsWire {
  /** Threads that can be chosen. */
  threads: { title: string[]; slices: number[]; nested: boolean[] };
  threadCount: number;
  /** The title of the one that is shown; "*" for all. */
  thread: string;
  title: string;
  mode: string;
  /** ns in which anything ran */
  busy: number;
  slices: number;
  /** Functions of the whole thread. */
  known: number;
  /** False when the part that was asked for is not there, and the whole tree is given. */
  found: boolean;
  /** Slices without an end. */
  unfinished: number;
  /** Of an inverted tree: callers further up than are given. */
  leftOut: number;
  /** The depth at which the tree ends though calls, or callers, do not; 0 is what nothing called, and no cut. */
  depthCut: number;
  /** Nodes as a tree is read; the first is the top of what is shown. */
  depth: number[];
  /** Number of the function; -1 for the thread itself. */
  function: number[];
  count: number[];
  total: number[];
  self: number[];
  /** Own time and that of all below: what a flame graph draws. */
  width: number[];
  row: number[];
  context: number[];
  /** Nodes below it that are too small to be given. */
  folded: number[];
  /** Callers of the top, outermost first. */
  path: { function: number[]; total: number[] };
  functions: {
    name: string[];
    place: string[];
    number: number[];
    colour: number[];
    total: number[];
    self: number[];
    count: number[];
  };
}

export interface CallSlicesWire {
  slices: { row: number; thread: string; start: number; dur: number }[];
}
