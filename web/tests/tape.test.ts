import { describe, expect, it } from "vitest";
import { familyColours } from "../src/draw/tape_colours.ts";
import { endOf, isWall, type Way } from "../src/layout/tape_arrows.ts";
import { TapeAxis } from "../src/layout/tape_axis.ts";
import { columnsOf, eventNames, laneBoxes, radius, signalNames, stackY } from "../src/layout/tape_lanes.ts";
import { readTapeWindow, type TapeLane, type TapeMarks, type TapeSignal, type TapeWire } from "../src/wire/tape.ts";

const lane = (name: string, kind: string): TapeLane => ({
  name,
  kind,
  events: 1,
  bytesIn: 0,
  bytesOut: 0,
  busy: 0,
  busyMost: 0,
  idle: 1,
  failures: 0,
  share: 0,
  since: null,
  until: null,
});
const measure = (text: string): number => text.length * 6;

describe("the axis of a tape", () => {
  const axis = new TapeAxis(
    [
      [1e9, 2e9],
      [10e9, 11e9],
    ],
    1e6,
  );

  it("folds what lies between its stretches and goes both ways", () => {
    expect(axis.folded).toBe(8e9);
    expect(axis.length).toBeCloseTo(2e9 * 1.03);
    for (const time of [0.5e9, 1e9, 1.7e9, 2e9, 5e9, 10e9, 10.4e9, 11e9, 12e9])
      expect(axis.toTime(axis.toU(time))).toBeCloseTo(time, -1);
    expect(axis.toU(10.5e9) - axis.toU(10e9)).toBeCloseTo(0.5e9);
  });

  it("has round ticks in the order of time, none in what is folded", () => {
    const ticks = axis.ticks(0, axis.length, 1000);
    expect(ticks.length).toBeGreaterThan(5);
    for (const [i, tick] of ticks.entries()) {
      const seconds = Number(tick.text);
      expect(seconds <= 2 || seconds >= 10).toBe(true);
      if (i > 0) expect(tick.u).toBeGreaterThan(ticks[i - 1]!.u);
    }
  });

  it("gives room to a tape of one moment", () => {
    expect(new TapeAxis([[5, 5]], 1e6).length).toBe(1e7);
  });
});

describe("arrows of a tape", () => {
  const way = (x: number, y0: number, y1: number): Way => ({ x0: x, y0, x1: x, y1, width: 1 });

  it("are a wall when they cover a quarter of the lanes", () => {
    const ways = Array.from({ length: 100 }, (_, i) => way(i * 2, 0, 100));
    expect(isWall(ways, 1000, 100)).toBe(false);
    expect(isWall(ways, 200, 100)).toBe(true);
  });

  it("keep the end at the worker, whichever way they go", () => {
    expect(endOf(way(5, 10, 210), false, 20)).toMatchObject({ y0: 190, y1: 210 });
    expect(endOf(way(5, 210, 10), true, 20)).toMatchObject({ y0: 210, y1: 190 });
    expect(endOf(way(5, 10, 15), false, 20)).toMatchObject({ y0: 10, y1: 15 });
  });
});

describe("lanes and names", () => {
  const lanes = [lane("Client", "client"), lane("Dispatcher", "dispatcher"), lane("w", "worker")];

  it("share the room, and scroll when it is too little", () => {
    expect(laneBoxes(lanes, [0, 1, 2], 300).map((box) => box.y0)).toEqual([0, 100, 200]);
    const many = laneBoxes(
      lanes,
      Array.from({ length: 50 }, () => 2),
      300,
    );
    expect(many.at(-1)!.y0).toBeGreaterThan(300);
  });

  it("stack the events of one moment in order, inside their lane", () => {
    const [box] = laneBoxes(lanes, [2], 80);
    const places = Array.from({ length: 12 }, (_, i) => stackY(box!, i, 12));
    expect([...places].sort((a, b) => a - b)).toEqual(places);
    expect(places[0]!).toBeGreaterThan(box!.y0);
    expect(places.at(-1)!).toBeLessThan(box!.y0 + box!.height);
  });

  it("place names so that none touches another and count the rest", () => {
    const n = 200;
    const column = (of: (i: number) => number): Int32Array => Int32Array.from({ length: n }, (_, i) => of(i));
    const marks: TapeMarks = {
      time: Float64Array.from({ length: n }, (_, i) => i * 5),
      dur: new Float64Array(n),
      size: new Float64Array(n),
      seq: column((i) => i),
      lane: column(() => 0),
      place: column(() => 0),
      many: column(() => 1),
      event: column((i) => i % 2),
      family: column((i) => i % 3),
      op: column(() => 0),
      flags: column(() => 0),
    };
    const boxes = new Map(laneBoxes(lanes, [0], 100).map((box) => [box.lane, box]));
    const names = eventNames(
      marks,
      boxes,
      0,
      ["MatMul", "FreeTensor", "Sum"],
      (time) => time,
      1000,
      (i) => `#${i} op`,
      measure,
    );
    expect(names.placed.length + names.left).toBe(100);
    for (const a of names.placed) {
      expect(a.x + a.width).toBeLessThanOrEqual(1000);
      for (const b of names.placed)
        if (a !== b && a.y === b.y) expect(a.x + a.width <= b.x || b.x + b.width <= a.x).toBe(true);
    }
  });

  it("keep the name of a signal in sight while its span is", () => {
    const signal = (name: string, start: number, end: number): TapeSignal => ({
      name,
      start,
      end,
      lane: -1,
      span: true,
      ending: false,
    });
    const { placed, left } = signalNames(
      [signal("forward", -500, 300), signal("back", 310, 320), signal("gone", -90, -80)],
      (time) => time,
      400,
      measure,
    );
    expect(left).toBe(0);
    expect(placed.map(({ text }) => text)).toEqual(["forward", "back"]);
    expect(placed[0]!.x).toBeGreaterThanOrEqual(0);
  });

  it("sum the rows of a column", () => {
    const { columns, most } = columnsOf({
      start: Float64Array.of(0, 0, 8, 0),
      lane: Int32Array.of(0, 0, 0, 1),
      count: Int32Array.of(2, 3, 1, 9),
    });
    expect(columns.map(({ total }) => total)).toEqual([5, 1, 9]);
    expect(most).toEqual(
      new Map([
        [0, 5],
        [1, 9],
      ]),
    );
  });
});

it("keeps an operation's colour on either theme and lifts only what would be lost", () => {
  const tape = {
    families: [
      { name: "MatMul", colour: "#d62728" },
      { name: "ReLU", colour: "#4a4a4a" },
      { name: "FreeTensor", colour: "#c9ccd6", outlined: true },
    ],
  } as TapeWire;
  const [dark, light] = [familyColours(tape, "#0b0d10", "#888888"), familyColours(tape, "#ffffff", "#888888")];
  expect(dark[0]!.fill).toBe("rgb(214 39 40)");
  expect(light[0]!.fill).toBe(dark[0]!.fill);
  expect(dark[1]!.fill).not.toBe("rgb(74 74 74)");
  expect(light[1]!.fill).toBe("rgb(74 74 74)");
  expect(light[2]!.outline).not.toBeNull();
});

it("reads a window's columns at their places", () => {
  const head = {
    lanes: [0],
    kept: 1,
    visible: 1,
    first: 0,
    stack: 1,
    cell: 1,
    arrowCell: 1,
    marks: 1,
    columns: 2,
    arrows: 1,
  };
  const json = new TextEncoder().encode(JSON.stringify(head));
  const size = json.length + ((8 - ((json.length + 4) % 8)) % 8);
  const floats = [10, 11, 12, 20, 21, 30, 31, 32];
  const ints = Array.from({ length: 8 + 4 * 2 + 3 }, (_, i) => i);
  const data = new ArrayBuffer(4 + size + 8 * floats.length + 4 * ints.length);
  new DataView(data).setUint32(0, size, true);
  new Uint8Array(data, 4, size).fill(32);
  new Uint8Array(data, 4).set(json);
  new Float64Array(data, 4 + size, floats.length).set(floats);
  new Int32Array(data, 4 + size + 8 * floats.length).set(ints);
  const window = readTapeWindow(data);
  expect([window.marks.time[0], window.marks.size[0], window.columns.start[1], window.arrows.bytes[0]]).toEqual([
    10, 12, 21, 32,
  ]);
  expect([window.marks.seq[0], window.marks.flags[0], window.columns.count[1], window.arrows.count[0]]).toEqual([
    0, 7, 13, 18,
  ]);
});

describe("radius", () => {
  it("grows with the size up to the largest on the tape, which has room in its lane", () => {
    const sizes = [-1, 64, 4096, 2 ** 20, 2 ** 30, 3 * 2 ** 40];
    const radii = sizes.map((size) => radius(size, sizes.at(-1)!, 120));
    expect(radii[0]).toBe(2.6);
    for (let i = 1; i < radii.length; i++) expect(radii[i]! - radii[i - 1]!).toBeGreaterThan(0.2);
    expect(radii.at(-1)).toBeCloseTo(11);
    expect(radius(3 * 2 ** 40, 3 * 2 ** 40, 30)).toBeCloseTo(6);
  });

  it("does not depend on the largest while that has room", () => {
    expect(radius(4096, 4096, 120)).toBe(radius(4096, 9000, 120));
  });
});
