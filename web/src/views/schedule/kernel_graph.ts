/** The kernels of a schedule and the buffers between them, as a graph that the graph view can draw. */
import { plain } from "../../base/ansi.ts";
import type { GraphWire } from "../../wire/graph.ts";
import type { ScheduleWire } from "../../wire/schedule.ts";

/** Identities: kernel i is i, buffer j is kernels + j. */
export function kernelGraph(schedule: ScheduleWire): GraphWire {
  const { kernels, buffers } = schedule;
  const between = buffers.map(() => ({ written: [] as number[], read: [] as number[] }));
  kernels.forEach((kernel, at) => {
    for (const buffer of kernel.writes) between[buffer]?.written.push(at);
    for (const buffer of kernel.reads) between[buffer]?.read.push(at);
  });
  // a buffer that nobody of this schedule wrote, or nobody reads, is no link between kernels
  const shown = buffers
    .map((_, at) => at)
    .filter((at) => between[at]!.written.length > 0 && between[at]!.read.length > 0);
  const placeOf = new Map(shown.map((buffer, index) => [buffer, kernels.length + index]));
  const count = kernels.length + shown.length;
  const srcStart = [0];
  const src: number[] = [];
  kernels.forEach((kernel, at) => {
    for (const buffer of kernel.reads) {
      const place = placeOf.get(buffer);
      // a kernel that reads and writes one buffer would be a circle
      if (place !== undefined && between[buffer]!.written.some((writer) => writer < at)) src.push(place);
    }
    srcStart.push(src.length);
  });
  for (const buffer of shown) {
    const firstReader = Math.min(
      ...between[buffer]!.read.filter((reader) => between[buffer]!.written.some((writer) => writer < reader)),
    );
    for (const writer of between[buffer]!.written) if (writer < firstReader) src.push(writer);
    srcStart.push(src.length);
  }
  // everything hangs on one root, as in any graph; a SINK is not drawn unless it is asked for
  const used = new Set(src);
  for (let node = 0; node < count; node++) if (!used.has(node)) src.push(node);
  srcStart.push(src.length);
  const texts = coder();
  const all = <T>(kernel: (at: number) => T, buffer: (at: number) => T): T[] => [
    ...kernels.map((_, at) => kernel(at)),
    ...shown.map(buffer),
  ];
  const op = all(
    (at) => texts("op", kernels[at]!.kind === "copy" ? "COPY" : "KERNEL"),
    () => texts("op", "BUFFER"),
  );
  const arg = all(
    (at) => texts("arg", plain(kernels[at]!.name)),
    (at) => texts("arg", buffers[at]!.name),
  );
  const dtype = all(
    (at) => texts("dtype", opsOf(kernels[at]!.ops)),
    (at) => texts("dtype", buffers[at]!.dtype),
  );
  const shape = all(
    () => -1,
    (at) => (buffers[at]!.elements === null ? -1 : texts("shape", `(${buffers[at]!.elements})`)),
  );
  for (const [column, code] of [
    [op, texts("op", "SINK")],
    [arg, -1],
    [dtype, texts("dtype", "void")],
    [shape, -1],
  ] as const)
    column.push(code);
  return {
    step: -1 - schedule.context,
    match: 0,
    matches: 0,
    root: count,
    id: Array.from({ length: count + 1 }, (_, at) => (at < kernels.length ? kernels[at]!.node : -1)),
    identity: [
      ...all(
        (at) => at,
        (at) => kernels.length + at,
      ),
      kernels.length + buffers.length,
    ],
    op,
    ops: texts.list("op"),
    arg,
    args: texts.list("arg"),
    dtype,
    dtypes: texts.list("dtype"),
    shape,
    shapes: texts.list("shape"),
    tag: new Array<number>(count + 1).fill(-1),
    tags: [],
    srcStart,
    src,
    added: [],
    changed: [],
    removed: [],
    error: null,
  };
}

/** "MUL, REDUCE ×2": enough to tell kernels apart. */
function opsOf(ops: string[]): string {
  const counts = new Map<string, number>();
  for (const op of ops) counts.set(op, (counts.get(op) ?? 0) + 1);
  const words = [...counts].map(([op, times]) => (times > 1 ? `${op} ×${times}` : op));
  return words.length > 4 ? `${words.slice(0, 4).join(", ")}, …` : words.join(", ");
}

interface Coder {
  (column: string, text: string): number;
  list(column: string): string[];
}

function coder(): Coder {
  const columns = new Map<string, Map<string, number>>();
  const code = ((column: string, text: string): number => {
    const known = columns.get(column) ?? new Map<string, number>();
    columns.set(column, known);
    if (!known.has(text)) known.set(text, known.size);
    return known.get(text)!;
  }) as Coder;
  code.list = (column) => [...(columns.get(column)?.keys() ?? [])];
  return code;
}
