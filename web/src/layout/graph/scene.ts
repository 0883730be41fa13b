import type { GraphWire } from "../../wire/graph.ts";
import { adjacency } from "../layered/adjacency.ts";
import type { Drawing } from "../layered/drawing.ts";
import { CONSTANT, fold, hiddenWords, INDEXING, SHOWN, SINK, type Folded } from "./fold.ts";
import type { Folding } from "./folding.ts";
import { narrowed } from "./near.ts";
import { labelOf, lookLabel, spaceOf, textOf, type Label } from "./labels.ts";

/** The colour, of the twelve in tokens.css, of what stands for several nodes; a node's comes with its graph. */
const OTHER = 12;

/** How a box came about in this match. */
export const PLAIN = 0;
export const ADDED = 1;
export const CHANGED = 2;
export const REMOVED = 3;

/** Everything that is drawn, before it has a place: boxes (nodes, blocks of nodes, ghosts) and edges between them. */
export interface Scene extends Drawing {
  /** Identity of a node or ghost; a block has a negative number that stays the same while it exists. */
  key: Float64Array;
  /** Position in the graph's columns; -1 for blocks and ghosts. */
  node: Int32Array;
  state: Uint8Array;
  labels: Label[];
  /** The number of its colour. */
  family: Uint8Array;
  tags: string[];
  spaces: string[];
  /** Nodes that a box stands for: more than one for a block or a node whose sources are folded into it. */
  members: Int32Array;
  /** Block of a box, -1 for none. */
  block: Int32Array;
  /** Place of the source in its user's list; -1 where several edges became one. */
  port: Int32Array;
  edgeState: Uint8Array;
  /** Nodes of the graph, those that stand by themselves, and why the others do not. */
  total: number;
  shown: number;
  hidden: string;
  /** The box of each node of the graph, -1 when it is hidden. */
  boxOf: Int32Array;
}

const CHAR = 7.23; // of the box's fonts: 12 px and 10.5 px monospace
const SMALL_CHAR = 6.33;

/** The boxes and edges of a graph under the user's folding. */
export function scene(graph: GraphWire, folding: Folding): Scene {
  const folded = narrowed(graph, fold(graph, folding.switches, folding.opened), folding.only);
  const count = graph.id.length;
  const states = new Uint8Array(count);
  for (const v of graph.added) states[v] = ADDED;
  for (const v of graph.changed) states[v] = CHANGED;
  const rep = representatives(graph, folded, folding, states);
  return new Builder(graph, folded, folding, states, rep).build();
}

/** For each node the node that stands for it: itself, or the closed one that everything above it leads to. */
function representatives(graph: GraphWire, folded: Folded, folding: Folding, states: Uint8Array): Int32Array {
  const count = graph.id.length;
  const rep = new Int32Array(count);
  for (let v = 0; v < count; v++) rep[v] = v;
  if (folding.closed.size === 0) return rep;
  const sources = adjacency(count, folded.to, folded.from);
  const left = new Int32Array(count);
  for (const v of folded.from) left[v]!++;
  for (let v = 0; v < count; v++) {
    if (folded.why[v] !== SHOWN || !folding.closed.has(graph.identity[v]!)) continue;
    const remaining = new Map<number, number>();
    const stack = [v];
    while (stack.length > 0) {
      const user = stack.pop()!;
      for (let i = sources.start[user]!; i < sources.start[user + 1]!; i++) {
        const source = sources.node[i]!;
        const rest = (remaining.get(source) ?? left[source]!) - 1;
        remaining.set(source, rest);
        // only what nothing else uses, and never what this match made
        if (rest === 0 && states[source] === PLAIN) {
          rep[source] = v;
          stack.push(source);
        }
      }
    }
  }
  for (let v = 0; v < count; v++) {
    let top = v;
    while (rep[top] !== top) top = rep[top]!;
    rep[v] = top;
  }
  return rep;
}

class Builder {
  private readonly key: number[] = [];
  private readonly node: number[] = [];
  private readonly state: number[] = [];
  private readonly labels: Label[] = [];
  private readonly family: number[] = [];
  private readonly tags: string[] = [];
  private readonly spaces: string[] = [];
  private readonly members: number[] = [];
  private readonly block: number[] = [];
  private readonly boxOf: Int32Array;
  private readonly from: number[] = [];
  private readonly to: number[] = [];
  private readonly port: number[] = [];
  private readonly edgeState: number[] = [];

  constructor(
    private readonly graph: GraphWire,
    private readonly folded: Folded,
    private readonly folding: Folding,
    private readonly states: Uint8Array,
    private readonly rep: Int32Array,
  ) {
    this.boxOf = new Int32Array(graph.id.length).fill(-1);
  }

  build(): Scene {
    const grouped = this.addNodes();
    this.addEdges();
    this.addGhosts();
    const shown = this.node.reduce((sum, v) => sum + (v >= 0 ? 1 : 0), 0);
    const words = hiddenWords(this.folded.why, this.graph.ops[this.graph.op[this.graph.root]!] ?? "");
    const inBlocks = grouped > 0 ? `${grouped.toLocaleString("en-US")} in blocks` : "";
    return {
      count: this.key.length,
      width: Float64Array.from(this.labels, widthOf),
      right: Float64Array.from(this.tags, tagWidth),
      from: Int32Array.from(this.from),
      to: Int32Array.from(this.to),
      key: Float64Array.from(this.key),
      node: Int32Array.from(this.node),
      state: Uint8Array.from(this.state),
      labels: this.labels,
      family: Uint8Array.from(this.family),
      tags: this.tags,
      spaces: this.spaces,
      members: Int32Array.from(this.members),
      block: Int32Array.from(this.block),
      port: Int32Array.from(this.port),
      edgeState: Uint8Array.from(this.edgeState),
      total: this.graph.id.length,
      shown,
      hidden: [inBlocks, words].filter((part) => part !== "").join(", "),
      boxOf: this.boxOf,
    };
  }

  private addNodes(): number {
    const { graph, folded, rep, states } = this;
    const boxOfBlock = new Map<number, number>();
    let grouped = 0;
    for (let v = 0; v < graph.id.length; v++) {
      if (folded.why[v] !== SHOWN || rep[v] !== v) continue;
      const identity = graph.identity[v]!;
      // what this match made or changed always stands by itself
      const number = states[v] === PLAIN ? this.folding.blocks?.of.get(identity) : undefined;
      if (number === undefined) {
        this.boxOf[v] = this.addNode(v);
        continue;
      }
      grouped++;
      let box = boxOfBlock.get(number);
      if (box === undefined) boxOfBlock.set(number, (box = this.addBlock(number)));
      this.members[box]!++;
      this.boxOf[v] = box;
    }
    for (let v = 0; v < graph.id.length; v++) {
      if (folded.why[v] !== SHOWN || rep[v] === v) continue;
      const box = this.boxOf[rep[v]!]!;
      this.boxOf[v] = box;
      this.members[box]!++;
      grouped++;
    }
    this.nameFolded();
    return grouped;
  }

  /** Boxes that stand for several nodes say how many. */
  private nameFolded(): void {
    const words = (n: number): string => `${n.toLocaleString("en-US")} nodes`;
    this.labels.forEach((text, box) => {
      const members = this.members[box]!;
      if (this.block[box]! >= 0) {
        text.type = text.type === "" ? words(members) : `${words(members)}, ${text.type}`;
      } else if (members > 1) text.type = `${text.type} +${members - 1}`;
    });
  }

  private addNode(v: number): number {
    const { graph, folding } = this;
    const identity = graph.identity[v]!;
    return this.add({
      key: identity,
      node: v,
      state: this.states[v]!,
      label: labelOf(graph, v, !folding.switches.constants && !folding.opened.has(identity)),
      family: graph.looks.family[graph.look[v]!]!,
      tag: textOf(graph, v).tag,
      space: spaceOf(graph, v),
      members: 1,
      block: -1,
    });
  }

  private addBlock(number: number): number {
    const [name = "", note = ""] = (this.folding.blocks?.names.get(number) ?? `Block ${number}`).split("\n");
    const text = { name, arg: "", type: note };
    return this.add({
      key: -1 - number,
      node: -1,
      state: PLAIN,
      label: text,
      family: OTHER,
      tag: "",
      space: "",
      members: 0,
      block: number,
    });
  }

  private add(box: BoxFields): number {
    this.key.push(box.key);
    this.node.push(box.node);
    this.state.push(box.state);
    this.labels.push(box.label);
    this.family.push(box.family);
    this.tags.push(box.tag === "()" ? "" : box.tag); // an empty tag says nothing
    this.spaces.push(box.space);
    this.members.push(box.members);
    this.block.push(box.block);
    return this.key.length - 1;
  }

  private addEdges(): void {
    const { folded, boxOf } = this;
    const seen = new Set<number>();
    for (let e = 0; e < folded.from.length; e++) {
      const a = boxOf[folded.from[e]!]!;
      const b = boxOf[folded.to[e]!]!;
      if (a === b || a < 0 || b < 0) continue;
      const several = this.members[a]! > 1 || this.members[b]! > 1;
      // between blocks one line says enough
      if (several) {
        const pair = a * this.key.length + b;
        if (seen.has(pair)) continue;
        seen.add(pair);
      }
      const added = this.state[a] === ADDED || this.state[b] === ADDED;
      this.addEdge(a, b, several ? -1 : folded.port[e]!, added ? ADDED : PLAIN);
    }
  }

  private addEdge(a: number, b: number, port: number, state: number): void {
    this.from.push(a);
    this.to.push(b);
    this.port.push(port);
    this.edgeState.push(state);
  }

  /** Nodes that this match took away, with dashed edges to what is left of their neighbours. */
  private addGhosts(): void {
    const { graph, folding } = this;
    const boxOf = new Map<number, number>();
    this.key.forEach((key, box) => boxOf.set(key, box));
    for (let v = 0; v < graph.id.length; v++) {
      if (!boxOf.has(graph.identity[v]!) && this.boxOf[v]! >= 0) boxOf.set(graph.identity[v]!, this.boxOf[v]!);
    }
    const ghosts = graph.removed.filter((ghost) => {
      if (boxOf.has(ghost.identity)) return false;
      const { only } = folding;
      if (only !== null && !only.has(ghost.identity)) return false;
      const { constants, indexing, sink } = folding.switches;
      const hidden = (constants ? 0 : CONSTANT) | (indexing ? 0 : INDEXING) | (sink ? 0 : SINK);
      return (ghost.fold & hidden) === 0;
    });
    for (const ghost of ghosts) {
      const { identity, look } = ghost;
      const [family, space] = [graph.looks.family[look]!, graph.looks.space[look]!];
      const fields = { key: identity, node: -1, state: REMOVED, label: lookLabel(graph, look), tag: ghost.tag ?? "" };
      boxOf.set(identity, this.add({ ...fields, family, space, members: 1, block: -1 }));
    }
    for (const ghost of ghosts) {
      const box = boxOf.get(ghost.identity)!;
      ghost.src.forEach((identity, port) => {
        const other = boxOf.get(identity);
        if (other !== undefined && other !== box) this.addEdge(other, box, port, REMOVED);
      });
      for (const identity of new Set(ghost.users)) {
        const other = boxOf.get(identity);
        // an edge to another ghost is that ghost's source already
        if (other !== undefined && other !== box && this.state[other] !== REMOVED)
          this.addEdge(box, other, -1, REMOVED);
      }
    }
  }
}

interface BoxFields {
  key: number;
  node: number;
  state: number;
  label: Label;
  family: number;
  tag: string;
  space: string;
  members: number;
  block: number;
}

/** Width of a box: bar, text and the room that the sign of a change takes. */
export function widthOf(text: Label): number {
  const line = text.name.length * CHAR + (text.arg === "" ? 0 : 6 + text.arg.length * CHAR);
  return Math.max(92, Math.ceil(14 + Math.max(line, text.type.length * SMALL_CHAR) + 18));
}

/** Width of the bubble beside a box, with the gap before it; 0 without a tag. */
function tagWidth(tag: string): number {
  return tag === "" ? 0 : 6 + 14 + Math.min(14, tag.length) * 6.02;
}

/** The part of a scene that a layout needs: the rest would only be copied to the worker and back. */
export function drawingOf(scene: Scene): Pick<Scene, "count" | "width" | "right" | "from" | "to"> {
  return { count: scene.count, width: scene.width, right: scene.right, from: scene.from, to: scene.to };
}
