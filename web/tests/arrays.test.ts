import { describe, expect, it } from "vitest";
import { perLane, readArrays, sum } from "../src/wire/arrays.ts";
import { decodeMemory } from "../src/wire/memory.ts";
import { readTapeWindow } from "../src/wire/tape.ts";
import { decodeOverview, decodeWindow } from "../src/wire/timeline.ts";
import { readWindow } from "../src/wire/hardware.ts";

/** An answer as the server makes it: the head is padded so that columns begin at a multiple of eight. */
function answer(head: object, ...columns: (Float64Array | Float32Array | Int32Array | Uint32Array)[]): ArrayBuffer {
  let text = JSON.stringify(head);
  const bytes = (): Uint8Array => new TextEncoder().encode(text);
  while ((4 + bytes().length) % 8 !== 0) text += " ";
  const parts = [new Uint8Array(Uint32Array.of(bytes().length).buffer), bytes()].map((part) => [...part]);
  for (const { buffer, byteOffset, byteLength } of columns)
    parts.push([...new Uint8Array(buffer, byteOffset, byteLength)]);
  return Uint8Array.from(parts.flat()).buffer;
}

describe("an answer of raw arrays", () => {
  const whole = answer(
    { n: [2, 0, 1], name: "ä" },
    Float64Array.of(1.5, 2, 1e300),
    Float32Array.of(0.5, 1, 2),
    Int32Array.of(-1, 7, 2 ** 31 - 1),
    Uint32Array.of(0, 1, 2 ** 32 - 1),
  );
  it("is its head and its columns, in order and without a copy", () => {
    const { head, f64, f32, i32, u32 } = readArrays<{ n: number[]; name: string }>(whole);
    expect(head.name).toBe("ä");
    const start = f64(3);
    expect([...start]).toEqual([1.5, 2, 1e300]);
    expect(start.buffer).toBe(whole);
    expect([...f32(3)]).toEqual([0.5, 1, 2]);
    expect([...i32(3)]).toEqual([-1, 7, 2 ** 31 - 1]);
    expect([...u32(3)]).toEqual([0, 1, 2 ** 32 - 1]);
    expect(() => u32(1)).toThrow("cut off");
  });
  it("is lanes", () => {
    const { head, f64 } = readArrays<{ n: number[] }>(whole);
    expect(sum(head.n)).toBe(3);
    const lanes = perLane(head.n, { start: f64(3) });
    expect(lanes.map((lane) => [...lane.start])).toEqual([[1.5, 2], [], [1e300]]);
  });
  it("says so when it was cut off, wherever that was", () => {
    const read = (length: number): void => {
      const { f64, f32, i32, u32 } = readArrays(whole.slice(0, length));
      for (const column of [f64, f32, i32, u32]) column(3);
    };
    read(whole.byteLength);
    for (let length = 0; length < whole.byteLength; length++) expect(() => read(length)).toThrow("cut off");
  });
  it("is read with the same care by every view", () => {
    const window = answer({ generation: 3, n: [1], width: [0] }, Float64Array.of(1, 2), new Float32Array(4));
    expect(decodeWindow(window).lanes[0]!.end[0]).toBe(2);
    const overview = answer({ pixels: 2 }, Float32Array.of(0, 1, 2, 3));
    expect([...decodeOverview(overview).host]).toEqual([2, 3]);
    const trace = answer({ counts: [0, 1] }, Float64Array.of(5, 6), Int32Array.of(0, 1, 2, 3, 4, 5, 6));
    expect(readWindow(trace)[1]!.busy[0]).toBe(6);
    const memory = answer({ bands: 1, pixels: 1, reserved: 0 }, new Float64Array(8).fill(9), Int32Array.of(1, 2));
    expect(decodeMemory(memory).bands.name[0]).toBe(2);
    const tape = answer({ marks: 0, columns: 0, arrows: 1 }, Float64Array.of(1, 2, 3), Int32Array.of(4, 5, 6));
    expect(readTapeWindow(tape).arrows.count[0]).toBe(6);
    for (const [data, decode] of [
      [window, decodeWindow],
      [overview, decodeOverview],
      [trace, readWindow],
      [memory, decodeMemory],
      [tape, readTapeWindow],
    ] as const)
      expect(() => decode(data.slice(0, -4))).toThrow("cut off");
  });
});
