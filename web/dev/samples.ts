/** Graphs that resemble a tensor compiler's, made from a seed: for tests and measurements. */
import { CONSTANT, INDEXING, SINK } from "../src/layout/graph/fold.ts";
import type { GraphWire } from "../src/wire/graph.ts";

/** Numbers from 0 to 1, the same ones for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Draft {
  op: string;
  dtype: string;
  arg: string;
  shape: string;
  tag: string | null;
  src: number[];
}

/** Collects nodes; the same node is made once, as compilers do. */
export class Maker {
  readonly nodes: Draft[] = [];
  private readonly known = new Map<string, number>();

  add(op: string, src: number[] = [], arg = "", dtype = "float", shape = "()", tag: string | null = null): number {
    const key = [op, arg, dtype, shape, tag, ...src].join("|");
    const old = this.known.get(key);
    if (old !== undefined) return old;
    this.nodes.push({ op, dtype, arg, shape, tag, src });
    this.known.set(key, this.nodes.length - 1);
    return this.nodes.length - 1;
  }

  constant(value: number): number {
    return this.add("CONST", [], String(value), "weakint");
  }

  /** The graph below a root, with identities. */
  graph(root: number): GraphWire {
    return wire(
      this.nodes,
      root,
      this.nodes.map((_, i) => i + 1),
    );
  }
}

/** An unrolled matrix product: loads, products and chains of sums. */
export function kernel(side: number, depth: number): GraphWire {
  const m = new Maker();
  const ranges = [0, 1, 2, 3].map((i) =>
    m.add("RANGE", [m.constant(16 * (i + 1))], `(${i}, AxisType.${i < 2 ? "WEAK" : "REDUCE"})`, "weakint"),
  );
  const [a, b, out] = [1, 2, 0].map((i) =>
    m.add("PARAM", [m.constant(65536)], `ParamArg(${i}, dtypes.float, device='NULL')`, "float", "(65536)"),
  );
  const index = (x: number, y: number, by: number): number =>
    m.add("ADD", [m.add("MUL", [x, m.constant(by)], "", "weakint"), y], "", "weakint");
  const load = (from: number, at: number, off: number): number =>
    m.add("LOAD", [m.add("INDEX", [from, off === 0 ? at : m.add("ADD", [at, m.constant(off)], "", "weakint")])]);
  const [rowOf, columnOf, place] = [
    index(ranges[0]!, ranges[2]!, 512),
    index(ranges[3]!, ranges[1]!, 32),
    index(ranges[0]!, ranges[1]!, 128),
  ];
  const stores: number[] = [];
  for (let i = 0; i < side; i++) {
    for (let j = 0; j < side; j++) {
      let sum = -1;
      for (let k = 0; k < depth; k++) {
        const product = m.add("MUL", [load(a!, rowOf, i * 128 + k), load(b!, columnOf, k * 32 + j)]);
        sum = sum < 0 ? product : m.add("ADD", [sum, product]);
      }
      stores.push(
        m.add(
          "STORE",
          [m.add("INDEX", [out!, m.add("ADD", [place, m.constant(i * side + j)], "", "weakint")]), sum],
          "",
          "void",
        ),
      );
    }
  }
  const end = m.add("END", [m.add("GROUP", stores, "", "void"), ...ranges], "", "void", "()", "'mergeable'");
  return m.graph(m.add("SINK", [end], "KernelInfo(name='r_16_32_4')", "void"));
}

/** A schedule of about `size` nodes: blocks of a network one after the other, each a few kernels. */
export function schedule(size: number): GraphWire {
  const m = new Maker();
  const param = (i: number): number =>
    m.add("PARAM", [m.constant(4096)], `ParamArg(${i}, dtypes.float, device='NULL')`, "float", "(4096)");
  let x = param(0);
  const stored: number[] = [];
  for (let block = 0; m.nodes.length < size - 60; block++) {
    const range = (k: number, kind: string): number =>
      m.add("RANGE", [m.constant(64 + k)], `(${block * 8 + k}, AxisType.${kind})`, "weakint");
    const [r0, r1, r2] = [range(0, "WEAK"), range(1, "WEAK"), range(2, "REDUCE")];
    const at = m.add("ADD", [m.add("MUL", [r0, m.constant(64)], "", "weakint"), r1], "", "weakint");
    const value = m.add("INDEX", [x, at]);
    const mean = m.add("MUL", [
      m.add("REDUCE", [m.add("MUL", [value, value]), r2], "(Ops.ADD, 1)"),
      m.constant(0.0039),
    ]);
    const norm = m.add("MUL", [
      value,
      m.add("RECIPROCAL", [m.add("SQRT", [m.add("ADD", [mean, m.constant(0.000001)])])]),
    ]);
    let sum = norm;
    for (let w = 0; w < 4; w++) {
      const weight = m.add("INDEX", [
        param(1 + block * 4 + w),
        m.add("ADD", [m.add("MUL", [r2, m.constant(32 + w)], "", "weakint"), r1], "", "weakint"),
      ]);
      const product = m.add("REDUCE", [m.add("MUL", [sum, weight]), r2], "(Ops.ADD, 1)");
      const gate = m.add("RECIPROCAL", [
        m.add("ADD", [m.add("EXP2", [m.add("MUL", [product, m.constant(-1.44)])]), m.constant(1)]),
      ]);
      sum = m.add("ADD", [m.add("MUL", [product, gate]), norm]);
    }
    const buffer = m.add(
      "BUFFER",
      [m.constant(4096)],
      `ParamArg(${block}, dtypes.float, device='NULL')`,
      "float",
      "(4096)",
    );
    const store = m.add("STORE", [m.add("INDEX", [buffer, at]), m.add("ADD", [sum, value])], "", "void");
    x = m.add("AFTER", [buffer, m.add("END", [store, r0, r1], "", "void")], "", "float", "(4096)");
    stored.push(x);
  }
  return m.graph(m.add("SINK", stored.slice(-4), "", "void"));
}

/** A call of a kernel with two buffers. */
export function call(): GraphWire {
  const m = new Maker();
  const body = m.add(
    "PROGRAM",
    [m.add("SINK", [m.add("SQRT", [m.add("PARAM", [], "ParamArg(0, dtypes.float)")])], "", "void")],
    "ProgramInfo(name='E_4')",
    "void",
  );
  const buffers = [0, 1].map((i) =>
    m.add("BUFFER", [m.constant(4)], `ParamArg(${i}, dtypes.float, device='NULL')`, "float", "(4)"),
  );
  return m.graph(
    m.add("SINK", [m.add("CALL", [body, ...buffers], "CallInfo(None, None, False, False)", "void")], "", "void"),
  );
}

/** A graph in which every text is an attack or far too long. */
export function hostile(): GraphWire {
  const m = new Maker();
  const bad = `<img src=x onerror="window.hacked=1">'"&amp;\u202egnp\u202c<script>window.hacked=1</script>`;
  const long = "x".repeat(10_000);
  const leaf = m.add(bad, [], bad, bad, bad, bad);
  return m.graph(m.add("SINK", [m.add("ADD", [leaf, m.add(long, [leaf], long, long, long, long)])], bad, "void"));
}

/** The graph after one more match: a few nodes are replaced by new ones, everything else keeps its identity. */
export function rewrite(graph: GraphWire, seed: number): GraphWire {
  const next = random(seed);
  const count = graph.id.length;
  const drafts: Draft[] = graph.id.map((_, v) => draft(graph, v));
  const identities = [...graph.identity];
  let fresh = Math.max(...identities) + 1;
  const picks = drafts
    .map((_, v) => v)
    .filter((v) => /^(ADD|MUL|LOAD|REDUCE|SQRT)$/.test(drafts[v]!.op) && v !== graph.root);
  const target = picks[Math.floor(next() * picks.length)] ?? 0;
  const put = (op: string, src: number[]): number => {
    drafts.push({ ...drafts[target]!, op, arg: "", src });
    identities.push(fresh++);
    return drafts.length - 1;
  };
  let made = put("WHERE", [...drafts[target]!.src]);
  for (let i = 0; i < next() * 4; i++)
    made = put(["ADD", "MUL", "CAST", "AFTER"][i % 4]!, [made, ...drafts[target]!.src.slice(0, 1)]);
  for (let v = 0; v < count; v++) drafts[v]!.src = drafts[v]!.src.map((s) => (s === target ? made : s));
  const result = wire(drafts, graph.root, identities);
  const before = new Set(graph.identity);
  const after = new Set(result.identity);
  const of = new Map(graph.identity.map((identity, v) => [identity, v]));
  result.match = graph.match + 1;
  result.added = result.identity.flatMap((identity, v) => (before.has(identity) ? [] : [v]));
  const sources = (g: GraphWire, v: number): string =>
    g.src
      .slice(g.srcStart[v], g.srcStart[v + 1])
      .map((s) => g.identity[s])
      .join();
  result.changed = result.identity.flatMap((identity, v) => {
    const old = of.get(identity);
    return old !== undefined && sources(graph, old) !== sources(result, v) ? [v] : [];
  });
  result.removed = graph.identity.flatMap((identity, v) => {
    if (after.has(identity)) return [];
    const { op, dtype, arg, shape, tag, src } = draft(graph, v);
    const users = graph.id.flatMap((_, u) => (draft(graph, u).src.includes(v) ? [graph.identity[u]!] : []));
    const sources = src.map((s) => graph.identity[s]!);
    const drawn = look([{ op, dtype, arg, shape, tag, src: [] }]);
    const columns = Object.keys(drawn.looks) as (keyof typeof drawn.looks)[];
    for (const column of columns) (result.looks[column] as unknown[]).push(drawn.looks[column][0]);
    const place = result.looks.name.length - 1;
    const own = { id: graph.id[v]!, identity, op, dtype, arg, shape, tag, look: place, fold: drawn.fold[0]! };
    return [{ ...own, src: sources, users }];
  });
  return result;
}

function draft(graph: GraphWire, v: number): Draft {
  const text = (list: string[], code: number): string => (code < 0 ? "" : list[code]!);
  return {
    op: text(graph.ops, graph.op[v]!),
    dtype: text(graph.dtypes, graph.dtype[v]!),
    arg: text(graph.args, graph.arg[v]!),
    shape: text(graph.shapes, graph.shape[v]!),
    tag: graph.tag[v]! < 0 ? null : graph.tags[graph.tag[v]!]!,
    src: graph.src.slice(graph.srcStart[v], graph.srcStart[v + 1]),
  };
}

/** Labels as a server sends them, of a compiler with constants, indices, calls and a last node. */
function look(nodes: Draft[]): Pick<GraphWire, "look" | "looks" | "inside" | "insides" | "fold"> {
  const constant = (node: Draft): boolean => node.op === "CONST";
  const cut = (text: string): string => (text.length <= 34 ? text : `${text.slice(0, 33)}…`);
  const short = (arg: string): string => cut(arg.replace(/^ParamArg\((\d+).*$/, "data$1"));
  const whole = (arg: string): string => arg.replaceAll("dtypes.", "");
  const insides = nodes.map(({ op, arg, src }) => {
    const values = src.map((s) => nodes[s]!).filter(constant);
    if (values.length === 0 || op === "PARAM") return "";
    const parts = [op === "MUL" ? "×" : short(arg), ...values.map((node) => node.arg)];
    return cut(parts.filter((part) => part !== "").join(" "));
  });
  return {
    look: nodes.map((_, v) => v),
    looks: {
      name: nodes.map(({ op }) => cut(op)),
      arg: nodes.map(({ arg }) => short(arg)),
      type: nodes.map(({ dtype, shape }) => cut(`${dtype} ${shape}`)),
      family: nodes.map(({ op }) => 1 + (op.length % 12)),
      bodies: nodes.map(({ op }) => (op === "CALL" ? 1 : op === "PROGRAM" ? 2 : 0)),
      space: nodes.map(() => ""),
      wholeArg: nodes.map(({ arg }) => (short(arg) === whole(arg) ? null : whole(arg))),
      wholeType: nodes.map(() => null),
    },
    inside: insides.map((text, v) => (text === "" ? -1 : v)),
    insides,
    fold: nodes.map(
      (node) =>
        (constant(node) ? CONSTANT : 0) | (node.dtype === "weakint" ? INDEXING : 0) | (node.op === "SINK" ? SINK : 0),
    ),
  };
}

/** Columns of the nodes that a root reaches, sources first. */
function wire(nodes: Draft[], root: number, identities: number[]): GraphWire {
  const place = new Map<number, number>();
  const order: number[] = [];
  const stack: [number, number][] = [[root, 0]];
  const seen = new Set([root]);
  while (stack.length > 0) {
    const top = stack[stack.length - 1]!;
    const source = nodes[top[0]]!.src[top[1]++];
    if (source === undefined) {
      place.set(top[0], order.length);
      order.push(top[0]);
      stack.pop();
    } else if (!seen.has(source)) {
      seen.add(source);
      stack.push([source, 0]);
    }
  }
  const column = (pick: (node: Draft) => string | null): { codes: number[]; list: string[] } => {
    const list: string[] = [];
    const codes = new Map<string, number>();
    return {
      list,
      codes: order.map((v) => {
        const text = pick(nodes[v]!);
        if (text === null) return -1;
        if (!codes.has(text)) codes.set(text, list.push(text) - 1);
        return codes.get(text)!;
      }),
    };
  };
  const [op, dtype, arg, shape, tag] = [
    column((n) => n.op),
    column((n) => n.dtype),
    column((n) => n.arg),
    column((n) => n.shape),
    column((n) => n.tag),
  ];
  const srcStart = [0];
  const src: number[] = [];
  for (const v of order) srcStart.push(src.push(...nodes[v]!.src.map((s) => place.get(s)!)));
  const drawn = look(order.map((v) => ({ ...nodes[v]!, src: nodes[v]!.src.map((s) => place.get(s)!) })));
  return {
    ...drawn,
    step: 1, match: 0, matches: 9, root: place.get(root)!, id: order.map((v) => 1000 + v), identity: order.map((v) => identities[v]!),
    op: op.codes, ops: op.list, dtype: dtype.codes, dtypes: dtype.list, arg: arg.codes, args: arg.list,
    shape: shape.codes, shapes: shape.list, tag: tag.codes, tags: tag.list,
    srcStart, src, added: [], changed: [], removed: [], error: null,
  }; // prettier-ignore
}
