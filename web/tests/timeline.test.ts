import { serials } from "../src/data/serials.ts";
import { describe, expect, it } from "vitest";
import { figure } from "../src/draw/timeline/painter.ts";
import { gridFor, PIXELS, tileKey, TileStore } from "../src/data/timeline_tiles.ts";
import { orderRows, toCsv } from "../src/data/top.ts";
import { fitLabel, fitTitle } from "../src/layout/timeline_labels.ts";
import { layoutRows, rowAt } from "../src/layout/timeline_rows.ts";
import { clampSpan, panSpan, zoomSpan } from "../src/layout/span.ts";
import { moment, ticks, traceLimits } from "../src/layout/timeline_scale.ts";
import { decodeWindow, type TracksWire } from "../src/wire/timeline.ts";
import type { TopWire } from "../src/wire/top.ts";

const one = (): number => 1;

describe("scale", () => {
  it("keeps the time under the pointer while zooming", () => {
    const span = { t0: 1000, t1: 9000 };
    const zoomed = zoomSpan(span, 0.5, 0.25, traceLimits(100_000));
    expect(zoomed.t0 + 0.25 * (zoomed.t1 - zoomed.t0)).toBeCloseTo(3000, 6);
    expect(zoomed.t1 - zoomed.t0).toBeCloseTo(4000, 6);
  });
  it("stays within the trace", () => {
    const far = panSpan({ t0: 0, t1: 1000 }, 1e9, traceLimits(50_000));
    expect(far.t1).toBeLessThanOrEqual(50_000 * 1.05);
    expect(far.t1 - far.t0).toBeCloseTo(1000, 6);
    const out = zoomSpan({ t0: 0, t1: 50_000 }, 1e6, 0.5, traceLimits(50_000));
    expect(out.t1 - out.t0).toBeLessThan(60_000);
    const empty = clampSpan({ t0: 5, t1: 5 }, traceLimits(1000));
    expect(empty.t1).toBeGreaterThan(empty.t0);
  });
  it("names ticks in the unit of the window", () => {
    expect(ticks({ t0: 70.5e6, t1: 111.5e6 }, 1060).unit).toBe("ms");
    const marks = ticks({ t0: 70.5e6, t1: 111.5e6 }, 1060);
    expect(marks.label(72e6)).toBe("72");
    expect(ticks({ t0: 0, t1: 5e9 }, 1000).unit).toBe("s");
    expect(ticks({ t0: 0, t1: 5e3 }, 1000).unit).toBe("µs");
    expect(ticks({ t0: 0, t1: 900 }, 1000).unit).toBe("ns");
    expect(ticks({ t0: 0, t1: 3e6 }, 1000).label(200_000)).toBe("0.2");
    expect(moment(88_793_000)).toBe("88.793 ms");
    expect(moment(0, 0)).toBe("0 ns");
    expect(moment(115_184_189_714, 610_000)).toBe("115.184190 s");
    expect(moment(115_184_189_714, 100)).toBe("115.184189714 s");
  });
});

describe("labels", () => {
  it("keeps both ends of a kernel's name", () => {
    expect(fitLabel("r_16_32_2_4_4_512_128_4", 15, one)).toBe("r_16_32…12_128_4".slice(0, 7) + "…" + "2_128_4");
  });
  it("keeps both ends of what ends with a kernel's name", () => {
    expect(fitLabel("do_to_program for r_16_32_4", 10, one)).toBe("do_to…32_4");
  });
  it("is quick with a name of nothing but underscores", { timeout: 500 }, () => {
    expect(fitLabel(`a${"_".repeat(300)}!`, 6, one)).toBe("a____…");
  });
  it("keeps the head of another name", () => {
    expect(fitLabel("simplify ranges", 6, one)).toBe("simpl…");
  });
  it("says nothing below three letters", () => {
    expect(fitLabel("r_16_32_2_4", 3, one)).toBe("");
    expect(fitLabel("simplify", 2.5, one)).toBe("");
    expect(fitLabel("E", 4, one)).toBe("E");
  });
});

describe("titles of tracks", () => {
  const one = (): number => 1;
  it("keep the number that tells them apart", () => {
    expect(fitTitle("TINY · compile worker 29301", 16, one)).toBe("TINY · co… 29301");
    expect(fitTitle("tf_XLAEigen/-3726165856684448314", 14, one)).toMatch(/^tf_.*…48314$/);
    expect(fitTitle("worker 1", 20, one)).toBe("worker 1");
  });
});

describe("tiles", () => {
  it("are half as wide to as wide as a tile's pixels", () => {
    for (const length of [100, 12_345, 1e6, 3.3e9, 1e13]) {
      const grid = gridFor(0, length, 1000);
      const drawn = grid.width / (length / 1000);
      expect(drawn).toBeLessThanOrEqual(PIXELS);
      expect(drawn).toBeGreaterThan(length < 2000 ? 0 : PIXELS / 2);
      expect(grid.past * grid.width).toBeGreaterThanOrEqual(length);
    }
  });
  it("let another level stand in, and forget what was used longest ago", () => {
    const store = new TileStore<string>(100);
    store.put(tileKey("1:0", 10, 0), { data: "coarse", generation: 1 }, 40);
    const grid = gridFor(0, 512, 512);
    expect(store.cover("1:0", grid, 0, 512).map((tile) => tile.data)).toEqual(["coarse"]);
    store.put(tileKey("1:0", 9, 0), { data: "fine", generation: 1 }, 40);
    expect(store.cover("1:0", grid, 0, 512).map((tile) => tile.data)).toEqual(["fine"]);
    store.put(tileKey("1:0", 9, 1), { data: "more", generation: 1 }, 40);
    expect(store.get(tileKey("1:0", 10, 0))).toBeUndefined();
    expect(store.peek(tileKey("1:0", 9, 1))?.generation).toBe(1);
  });
});

const TRACKS: TracksWire = {
  id: [1, 2, 3, 5, -1],
  name: ["USER", "TINY", "CPU", "CPU:COPY", "CPU"],
  kind: ["user", "tiny", "device", "copy", "memory"],
  group: ["Host", "Host", "Devices", "Devices", "Memory"],
  depths: [[0], [0, 1, 2], [0], [0], []],
  slices: [1, 3, 9, 4, 0],
  parent: [-1, -1, -1, -1, -1],
  under: [-1, -1, -1, 3, -1],
  unit: ["", "", "", "", "bytes"],
  where: ["", "", "", "", ""],
};
const ALL = { shut: new Set<string>(), pinned: new Set<string>(), filter: "", small: false };

describe("rows", () => {
  it("put copies under their device and stack without gaps", () => {
    const layout = layoutRows(TRACKS, ALL);
    expect(layout.rows.map((row) => row.title)).toEqual(["Host", "USER", "TINY", "Devices", "CPU", "Memory", "CPU"]);
    const device = layout.rows[4]!;
    expect(device.lanes.map((lane) => [lane.track, lane.h])).toEqual([
      [3, 22],
      [5, 10],
    ]);
    layout.rows.forEach((row, at) =>
      expect(row.y).toBe(at === 0 ? 0 : layout.rows[at - 1]!.y + layout.rows[at - 1]!.h),
    );
    expect(rowAt(layout.rows, device.y + 5)).toBe(device);
    expect(rowAt(layout.rows, layout.height + 1)).toBeNull();
  });
  it("fold, pin and filter", () => {
    expect(layoutRows(TRACKS, { ...ALL, shut: new Set(["g:Host"]) }).rows.map((row) => row.title)).not.toContain(
      "USER",
    );
    expect(layoutRows(TRACKS, { ...ALL, shut: new Set(["t:2"]) }).places.has("2:1")).toBe(false);
    expect(layoutRows(TRACKS, { ...ALL, pinned: new Set(["t:3"]) }).rows[1]!.title).toBe("CPU");
    const filtered = layoutRows(TRACKS, { ...ALL, filter: "tiny" });
    expect(filtered.tracks).toBe(1);
    expect(filtered.hidden).toBe(3);
    expect(layoutRows(TRACKS, { ...ALL, filter: "r_16" }).tracks).toBe(4);
  });
});

describe("wire", () => {
  it("reads lanes out of raw arrays", () => {
    const head = new TextEncoder().encode(JSON.stringify({ generation: 3, n: [2, 1], width: [0, 8] }).padEnd(52));
    const buffer = new ArrayBuffer(56 + 3 * 32);
    new Uint32Array(buffer, 0, 1)[0] = 52;
    new Uint8Array(buffer, 4, 52).set(head);
    new Float64Array(buffer, 56, 6).set([0, 10, 20, 5, 15, 28]);
    new Int32Array(buffer, 56 + 28 * 3, 3).set([7, -1, 9]);
    const { generation, lanes } = decodeWindow(buffer);
    expect(generation).toBe(3);
    expect([...lanes[0]!.end]).toEqual([5, 15]);
    expect([...lanes[1]!.start]).toEqual([20]);
    expect(lanes[1]!.width).toBe(8);
    expect([...lanes[0]!.name]).toEqual([7, -1]);
  });
});

describe("top", () => {
  const top = {
    total: 100,
    name: ["b", "=a", "c"],
    serial: [1, 1, 2],
    sum: [60, 30, 10],
    self: [20, 30, 10],
    mean: [60, 10, 10],
    runs: [1, 3, 1],
    p95: [1, 2, 3],
    longest: [60, 10, 10],
    shortest: [60, 10, 10],
    median: [60, 10, 10],
    flops: [-1, -1, -1],
    bytesPerS: [-1, -1, -1],
  } as unknown as TopWire;
  it("sorts and filters", () => {
    expect(orderRows(top, "total", true, "")).toEqual([0, 1, 2]);
    expect(orderRows(top, "self", true, "")).toEqual([1, 0, 2]);
    expect(orderRows(top, "runs", true, "")).toEqual([1, 0, 2]);
    expect(orderRows(top, "name", false, "")).toEqual([1, 0, 2]);
    expect(orderRows(top, "total", true, "C")).toEqual([2]);
  });
  it("gives no formula to a spreadsheet", () => {
    expect(toCsv(top, [1]).split("\n")[1]).toMatch(/^'=a,30,30,0\.300000,3,10,/);
  });
  it("numbers kernels of one name as the terminal does", () => {
    expect(toCsv(top, [2]).split("\n")[1]).toMatch(/^c#2,10,/);
    expect(serials(["a", "b", "a"])).toEqual(["", "", "#2"]);
  });
});

describe("a counter's value", () => {
  it("has four digits and a prefix from a million on, never an exponent", () => {
    const figures = [0, 0.25, 12, 999_999, 1_919_000, -2.5e9, 1e12].map((value) => figure(value, ""));
    expect(figures).toEqual(["0", "0.25", "12", "999,999", "1.919 M", "-2.500 G", "1.000 T"]);
    expect(figure(1_919_000, "flops")).toBe("1.919 Mflops");
    expect(figure(40, "W")).toBe("40 W");
    expect(figure(1_919_000, "bytes")).toBe("1.92 MB");
  });
});
