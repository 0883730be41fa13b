/** The kernels of a schedule and the buffers between them, as a graph that the graph view can draw. */
import { plain } from "../../base/ansi.ts";
import type { GraphWire } from "../../wire/graph.ts";
import { SINK } from "../../layout/graph/fold.ts";
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
  // everything hangs on one root, as in any graph; it is not drawn unless it is asked for
  const used = new Set(src);
  for (let node = 0; node < count; node++) if (!used.has(node)) src.push(node);
  srcStart.push(src.length);
  const looks = [...kernels.map(({ look }) => look), ...shown.map((at) => buffers[at]!.look), schedule.root];
  const names = [...kernels.map(({ name }) => plain(name)), ...shown.map((at) => buffers[at]!.name), ""];
  const texts = coder();
  return {
    step: -1 - schedule.context,
    match: 0,
    matches: 0,
    root: count,
    id: Array.from({ length: count + 1 }, (_, at) => (at < kernels.length ? kernels[at]!.node : -1)),
    identity: [
      ...kernels.map((_, at) => at),
      ...shown.map((at) => kernels.length + at),
      kernels.length + buffers.length,
    ],
    op: looks.map(({ name }) => texts("op", name)),
    ops: texts.list("op"),
    arg: names.map((name) => texts("arg", name)),
    args: texts.list("arg"),
    dtype: looks.map(({ type }) => texts("dtype", type)),
    dtypes: texts.list("dtype"),
    shape: looks.map(() => -1),
    shapes: [],
    tag: looks.map(() => -1),
    tags: [],
    srcStart,
    src,
    look: looks.map((_, at) => at),
    looks: {
      name: looks.map(({ name }) => name),
      arg: looks.map(({ arg }) => arg),
      type: looks.map(({ type }) => type),
      family: looks.map(({ family }) => family),
      bodies: looks.map((_, at) => (at < kernels.length && kernels[at]!.kind === "kernel" ? 1 : 0)),
      space: looks.map(() => ""),
      wholeArg: looks.map(({ arg }, at) => (names[at] === arg ? null : names[at]!)),
      wholeType: looks.map(() => null),
    },
    inside: looks.map(() => -1),
    insides: [],
    fold: looks.map((_, at) => (at === count ? SINK : 0)),
    added: [],
    changed: [],
    removed: [],
    error: null,
  };
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
