/** What the tooltip of the drawing of memory says. */
import { h } from "../../base/dom.ts";
import { bufferHandle, bytes, counted, duration } from "../../base/format.ts";
import { foldedOf } from "../../draw/memory_draw.ts";
import { clock, shortType } from "../../layout/memory_bands.ts";
import type { MemoryStage, Under } from "./stage.ts";

/** What is under the pointer: the total at a moment, a buffer, or what is folded. */
export function describeMemory(stage: MemoryStage, under: Under): HTMLElement[] | null {
  const { picture, span } = stage;
  const pixel = (span.t1 - span.t0) / stage.room;
  const say = (time: number): string => clock(time, pixel / 10, span.t1 - span.t0);
  const { data, bands } = picture;
  if (!data) return null;
  if (under.total) {
    const { start, low, high } = data.total;
    let i = start.length - 1;
    while (i >= 0 && start[i]! > under.time) i--;
    if (i < 0) return null;
    const value = low[i]! === high[i]! ? bytes(high[i]!) : `${bytes(low[i]!)} to ${bytes(high[i]!)}`;
    return [h("b", value), h("span.faint", ` at ${say(under.time)}`)];
  }
  const folded = foldedOf(picture);
  if (under.strip)
    return [
      h("div", `${counted(folded.count, "buffer")}, ${bytes(folded.bytes)}, from before this window until after it`),
    ];
  if (under.band < 0) return null;
  const i = under.band;
  const dtype = shortType(data.dtypes[bands.dtype[i]!] ?? "");
  const name = data.names[bands.name[i]!] ?? "";
  const free = bands.free[i]!;
  const life = Number.isFinite(free)
    ? `${say(bands.alloc[i]!)} to ${say(free)}, ${duration(free - bands.alloc[i]!)}`
    : `from ${say(bands.alloc[i]!)}, never freed`;
  return [
    h("b.mono", bufferHandle(bands.id[i]!, picture.several)),
    h("span", ` ${bytes(bands.bytes[i]!)}`),
    ...(dtype === "" ? [] : [h("span.faint", ` · ${dtype}`)]),
    ...(name === "" ? [] : [h("div.mono.name", name)]),
    h("div.faint", life),
  ];
}
