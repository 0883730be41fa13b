/** Details of the selected node: its fields, what it reads, who reads it, when it came and went. */
import { fill, h } from "../../base/dom.ts";
import { clip, count } from "../../base/format.ts";
import { sentenceOf } from "../../data/client.ts";
import { label } from "../../data/listing.ts";
import { isCall } from "../../layout/graph/labels.ts";
import type { HistoryWire, LinkWire, NodeWire, PassageWire } from "../../wire/capture.ts";
import type { GraphWire } from "../../wire/graph.ts";
import { copyButton } from "../common/copy.ts";
import { locationLink } from "../common/location.ts";
import { whenReleased } from "../common/released.ts";
import { chainRows } from "./node_chain.ts";

const MOST = 24;
/** More passes in a row than these that did nothing with a node are said in one line. */
const IDLE_LINES = 3;

export interface NodeActions {
  /** The node as it is known in the graphs of its own step. */
  at: { step: number; match: number; node: number };
  /** Select another node by identity. */
  select(identity: number): void;
  /** Go to a match and show a node there. */
  goTo(step: number, match: number, identity: number): void;
  close(): void;
  history(): Promise<HistoryWire>;
  /** The same in the other passes of its context. */
  passages(): Promise<PassageWire[]>;
  /** What a call was compiled in, by the node's id: a name and its address; null when nothing is known. */
  called(id: number): Promise<{ name: string; href: string } | null>;
  /** From the program's line over the node of that id to its kernels; empty where the compiler tells none. */
  chain(id: number): Promise<LinkWire[]>;
  /** The address of a kernel's code. */
  code(context: number): string;
  /** What the capture knows about a node by its id. */
  recorded(id: number): Promise<NodeWire>;
}

/** Fills the section for the node of that identity; hides it when the graph has none and never had. */
export function showNode(host: HTMLElement, graph: GraphWire, identity: number, actions: NodeActions): void {
  const at = graph.identity.indexOf(identity);
  const ghost = at < 0 ? graph.removed.find((node) => node.identity === identity) : undefined;
  host.hidden = false;
  const close = h("button.btn", { type: "button", onclick: () => actions.close() }, "Close ", h("kbd", "Esc"));
  const history = h("dd.history", h("span.faint", "…"));
  const origin = [h("dt", { hidden: true }, "From"), h("dd.mono.wrap", { hidden: true })] as const;
  const chain = h("div.chain", { hidden: true, role: "group", "aria-label": "From the program to the kernel" });
  const compiled = [h("dt", { hidden: true }, "Compiled in"), h("dd.called", { hidden: true })] as const;
  if (at < 0 && !ghost) {
    fill(
      host,
      h("div.h", h("span.grow", "Node"), close),
      h("p.dim", "The selected node is not in this graph."),
      h("dl.kv", h("dt", "History"), history),
    );
  } else {
    const fields = at >= 0 ? fieldsOf(graph, at) : ghostFields(ghost!);
    const text = fields.map(([name, value]) => `${name}: ${value}`).join("\n");
    fill(
      host,
      h(
        "div.h",
        h("span.grow", "Node"),
        copyButton(() => text),
        close,
      ),
      h("div.title.mono.name", ghost ? h("s", fields[0]![1]) : fields[0]![1]),
      h(
        "dl.kv",
        ...fields.slice(1).flatMap(([name, value]) => [h("dt", name), h("dd.mono.wrap", clip(value, 2000))]),
        ...compiled,
        h("dt", "History"),
        history,
        ...origin,
      ),
      chain,
      ...(at >= 0
        ? [
            neighbours("Sources", sourcesOf(graph, at), graph, actions),
            neighbours("Used by", usersOf(graph, at), graph, actions),
          ]
        : []),
    );
  }
  if (isCall(graph, at)) {
    actions.called(graph.id[at]!).then(
      (called) =>
        whenReleased(() => {
          fill(
            compiled[1],
            called === null
              ? h("span.faint", "no context of this capture")
              : h("a.mono.name", { href: called.href }, clip(called.name, 80)),
            called !== null && h("span.faint", " · ", h("kbd", "O")),
          );
          for (const element of compiled) element.hidden = false;
        }),
      () => undefined,
    );
  }
  const id = at >= 0 ? graph.id[at]! : ghost?.id;
  if (id !== undefined) {
    actions.chain(id).then(
      (links) =>
        whenReleased(() => {
          fill(chain, ...chainRows(links, actions));
          chain.hidden = links.length === 0;
          if (links.some((link) => link.stage === "line")) for (const element of origin) element.hidden = true;
        }),
      () => undefined,
    );
    actions.recorded(id).then(
      ({ metadata }) =>
        whenReleased(() => {
          if (!metadata || metadata === "(lost)" || !chain.hidden) return;
          fill(origin[1], ...fromNodes(metadata));
          for (const element of origin) element.hidden = false;
        }),
      () => undefined,
    );
  }
  const ask = (): Promise<void> =>
    actions.history().then(
      (wire) => {
        if (!history.isConnected) return;
        const { step, match, node } = actions.at;
        const here = { ...wire, step, name: "", identity: node };
        whenReleased(() => fill(history, historyLine(here, match, actions)));
        void actions.passages().then(
          (others) => {
            const lines = (some: readonly PassageWire[]): HTMLElement[] => passageLines(some, actions);
            if (others.length === 0 || !history.isConnected) return;
            const [before, after] = [others.filter((one) => one.step < step), others.filter((one) => one.step > step)];
            const own = historyLine({ ...here, name: "this pass" }, match, actions);
            whenReleased(() => fill(history, ...lines(before), own, ...lines(after)));
          },
          () => undefined,
        );
      },
      (error: unknown) =>
        fill(
          history,
          h("span.faint", sentenceOf(error)),
          " ",
          h("button.link", { type: "button", onclick: () => void ask() }, "Try again"),
        ),
    );
  void ask();
}

/** "softmax@prog.py:4" as the name and a link to the line; whatever else it is, as it is. */
function fromNodes(metadata: string): Node[] {
  const [, name, file, line] = /^([^@]*)@([^@]+):(\d+)$/.exec(metadata) ?? [];
  if (name === undefined || file === undefined) return [document.createTextNode(clip(metadata, 400))];
  return [locationLink(file, Number(line)), h("span.faint.name", name === "" ? "" : ` in ${clip(name, 120)}`)];
}

/** A line for each pass; many in a row that did nothing with the node are one. */
function passageLines(passages: readonly PassageWire[], actions: NodeActions): HTMLElement[] {
  const lines: HTMLElement[] = [];
  for (let at = 0; at < passages.length;) {
    let past = at;
    while (past < passages.length && isIdle(passages[past]!)) past++;
    const idle = passages.slice(at, past).map((one) => historyLine(one, -1, actions));
    if (idle.length > IDLE_LINES)
      lines.push(h("details", h("summary.faint", `${count(idle.length)} passes left it untouched`), ...idle));
    else lines.push(...idle);
    if (past < passages.length) lines.push(historyLine(passages[past]!, -1, actions));
    at = past + 1;
  }
  return lines;
}

const isIdle = (one: PassageWire): boolean => one.created === 0 && one.deleted <= 0 && one.touched.length === 0;

/** The matches of one pass that touched a node, each a link to it; the one on the screen stands out. */
function historyLine(wire: PassageWire, shown: number, actions: NodeActions): HTMLElement {
  const go =
    (match: number): (() => void) =>
    () =>
      actions.goTo(wire.step, match, wire.identity);
  const link = (match: number): Node =>
    h(
      "button.link",
      { type: "button", "aria-current": match === shown && "true", onclick: go(match) },
      `match ${count(match)}`,
    );
  const parts: Node[] = [];
  const say = (words: string, ...links: Node[]): void => {
    if (parts.length > 0) parts.push(document.createTextNode(", "));
    parts.push(document.createTextNode(words));
    links.forEach((one, at) => parts.push(document.createTextNode(at === 0 ? " " : ", "), one));
  };
  if (wire.created === 0 && wire.name === "")
    parts.push(h("button.link", { type: "button", onclick: go(0) }, "in the graph that went in"));
  if (wire.created > 0) say("made by", link(wire.created));
  const changed = wire.touched.filter((match) => match !== wire.created && match !== wire.deleted);
  if (changed.length > 0) say("changed by", ...changed.slice(0, MOST).map(link));
  if (changed.length > MOST) parts.push(h("span.faint", ` and ${count(changed.length - MOST)} more`));
  if (wire.deleted > 0) say("removed by", link(wire.deleted));
  else if (wire.created >= 0 && wire.name === "") parts.push(h("span.faint", ", still there at the end"));
  if (wire.created < 0) parts.push(h("span.faint", "unknown"));
  if (parts.length === 0) parts.push(h("span.faint", "untouched"));
  if (wire.name === "") return h("div", ...parts);
  return h("div", h("button.link.name", { type: "button", onclick: go(0) }, clip(wire.name, 60)), ": ", ...parts);
}

function fieldsOf(graph: GraphWire, at: number): [string, string][] {
  const name = graph.names?.[graph.name?.[at] ?? -1];
  const fields: [string, string][] = [
    ...(name === undefined ? [] : [["Name", name] as [string, string]]),
    ["Op", graph.ops[graph.op[at]!] ?? "?"],
    ["Type", graph.dtypes[graph.dtype[at]!] ?? ""],
  ];
  const optional: [string, string | undefined][] = [
    ["Shape", graph.shapes[graph.shape[at]!]],
    ["Argument", graph.args[graph.arg[at]!]],
    ["Tag", graph.tags[graph.tag[at]!]],
  ];
  for (const [name, value] of optional)
    if (value !== undefined && value !== "" && value !== "None") fields.push([name, value]);
  fields.push(["Node", count(graph.id[at]!)]);
  return fields;
}

function ghostFields(node: GraphWire["removed"][number]): [string, string][] {
  return [
    ["Name", node.name ?? ""],
    ["Op", node.op],
    ["Type", node.dtype],
    ["Shape", node.shape ?? ""],
    ["Argument", node.arg ?? ""],
    ["Node", count(node.id)],
  ].filter(([, value]) => value !== "") as [string, string][];
}

function sourcesOf(graph: GraphWire, at: number): number[] {
  return graph.src.slice(graph.srcStart[at], graph.srcStart[at + 1]);
}

function usersOf(graph: GraphWire, at: number): number[] {
  const users: number[] = [];
  for (let node = 0; node < graph.id.length; node++) {
    for (let edge = graph.srcStart[node]!; edge < graph.srcStart[node + 1]!; edge++) {
      if (graph.src[edge] === at) {
        users.push(node);
        break;
      }
    }
  }
  return users;
}

function neighbours(title: string, nodes: number[], graph: GraphWire, actions: NodeActions): HTMLElement | null {
  if (nodes.length === 0) return null;
  const rows = nodes
    .slice(0, MOST)
    .map((node, index) =>
      h(
        "button.near",
        { type: "button", onclick: () => actions.select(graph.identity[node]!) },
        title === "Sources" ? h("span.faint.num", index) : null,
        h("span.ell.mono.name", clip(label(graph, node), 200)),
      ),
    );
  return h(
    "div.nearby",
    h("div.h", h("span.grow", title), h("span.chip", count(nodes.length))),
    ...rows,
    nodes.length > MOST && h("div.faint", `and ${count(nodes.length - MOST)} more`),
  );
}
