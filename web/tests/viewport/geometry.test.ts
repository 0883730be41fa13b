import { describe, expect, it } from "vitest";
import { anchorSpan, clampSpan, panSpan, zoomSpan, type Limits, type Span } from "../../src/layout/span.ts";
import { axisKey, planeKey } from "../../src/views/common/viewport/keys.ts";
import { anchorCamera } from "../../src/views/common/viewport/plane_viewport.ts";
import { otherEnd, pullRange, rangeBetween, type RangeTarget } from "../../src/views/common/viewport/range.ts";
import { wheelStep } from "../../src/views/common/viewport/wheel.ts";

const LIMITS: Limits = { first: 100, last: 1100, shortest: 10, longest: 1100, beyond: 0.5 };
const at = (span: Span, share: number): number => span.t0 + share * (span.t1 - span.t0);
const wheel = (change: object): Parameters<typeof wheelStep>[0] => ({
  deltaX: 0,
  deltaY: 0,
  deltaMode: 0,
  shiftKey: false,
  ctrlKey: false,
  ...change,
});

describe("a window on an axis", () => {
  it.each([0, 0.25, 0.8, 1])("keeps what is under the pointer at %d of its width while zooming", (share) => {
    const span = { t0: 300, t1: 700 };
    const zoomed = zoomSpan(span, 0.3, share, LIMITS);
    expect(zoomed.t1 - zoomed.t0).toBeCloseTo(120, 9);
    expect(at(zoomed, share)).toBeCloseTo(at(span, share), 9);
  });
  it("keeps it under the pointer where it can get no nearer", () => {
    const nearest = zoomSpan({ t0: 500, t1: 512 }, 1e-3, 0.75, LIMITS);
    expect(nearest.t1 - nearest.t0).toBeCloseTo(10, 9);
    expect(at(nearest, 0.75)).toBeCloseTo(509, 9);
  });
  it("stays within its limits", () => {
    const out = zoomSpan({ t0: 100, t1: 1100 }, 1e9, 0.5, LIMITS);
    expect(out.t1 - out.t0).toBeCloseTo(1100, 9);
    const far = panSpan({ t0: 200, t1: 400 }, 1e9, LIMITS);
    expect(far).toEqual({ t0: 1000, t1: 1200 });
    expect(panSpan({ t0: 200, t1: 400 }, -1e9, LIMITS)).toEqual({ t0: 0, t1: 200 });
    expect(clampSpan({ t0: 5, t1: 5 }, LIMITS).t1).toBeGreaterThan(clampSpan({ t0: 5, t1: 5 }, LIMITS).t0);
  });
  it("moves by as much as a finger does, and spreads as two do", () => {
    const span = { t0: 300, t1: 700 };
    expect(anchorSpan(span, 0.5, 0.25, 1, LIMITS)).toEqual({ t0: 400, t1: 800 });
    const spread = anchorSpan(span, 0.5, 0.25, 0.5, LIMITS);
    expect(spread.t1 - spread.t0).toBe(200);
    expect(at(spread, 0.25)).toBe(at(span, 0.5));
  });
});

describe("a camera", () => {
  const size = { width: 800, height: 600 };
  const camera = { x: 40, y: -20, zoom: 0.5 };
  const under = (view: typeof camera, x: number, y: number): [number, number] => [
    view.x + (x - 400) / view.zoom,
    view.y + (y - 300) / view.zoom,
  ];
  it("keeps what is under the pointer", () => {
    const zoomed = anchorCamera(camera, { x: 700, y: 50 }, { x: 700, y: 50 }, 1.7, size);
    expect(zoomed.zoom).toBeCloseTo(0.85, 9);
    expect(under(zoomed, 700, 50)[0]).toBeCloseTo(under(camera, 700, 50)[0], 9);
    expect(under(zoomed, 700, 50)[1]).toBeCloseTo(under(camera, 700, 50)[1], 9);
  });
  it("takes what is held to where it is held now, and no nearer than 400%", () => {
    const moved = anchorCamera(camera, { x: 100, y: 100 }, { x: 160, y: 80 }, 100, size);
    expect(moved.zoom).toBe(4);
    expect(under(moved, 160, 80)).toEqual(under(camera, 100, 100));
  });
});

describe("the wheel", () => {
  it("zooms up and down, and a pinch (with Ctrl) more so", () => {
    const notch = wheelStep(wheel({ deltaY: -100 }));
    expect(notch.factor).toBeCloseTo(1.0018 ** -100, 9);
    expect(notch.pan).toBe(0);
    expect(wheelStep(wheel({ deltaY: -5, ctrlKey: true })).factor).toBeCloseTo(1.0018 ** -20, 9);
    expect(wheelStep(wheel({ deltaY: 3, deltaMode: 1 })).factor).toBeCloseTo(1.0018 ** 48, 9);
    expect(wheelStep(wheel({ deltaY: 1e6 })).factor).toBeLessThan(5);
  });
  it("pans sideways, and with Shift", () => {
    expect(wheelStep(wheel({ deltaX: 30, deltaY: -10 }))).toEqual({ factor: 1, pan: 30, scroll: -10 });
    expect(wheelStep(wheel({ deltaY: 40, shiftKey: true })).pan).toBe(40);
    expect(wheelStep(wheel({ deltaX: 40, shiftKey: true })).pan).toBe(40); // some browsers turn it themselves
  });
});

describe("keys", () => {
  it("zoom and pan, with Shift three times as far", () => {
    expect(axisKey("w", false)).toEqual({ factor: 0.8, pan: 0 });
    expect(axisKey("S", true)!.factor).toBeCloseTo(1.25 ** 3, 9);
    expect(axisKey("a", false)!.pan).toBeCloseTo(-0.12, 9);
    expect(axisKey("D", true)!.pan).toBeCloseTo(0.36, 9);
    expect(axisKey("q", false)).toBeNull();
    expect(planeKey("+")).toBe(planeKey("="));
    expect(planeKey("-")).toBeCloseTo(1 / planeKey("+")!, 9);
    expect(planeKey("w")).toBeNull();
  });
});

describe("a range", () => {
  function drawing(range: Span | null): RangeTarget & { done: (Span | null)[] } {
    const done: (Span | null)[] = [];
    return {
      range,
      first: 0,
      last: 1000,
      done,
      timeAt: (x) => x * 10,
      xOf: (time) => time / 10,
      select(next, finished) {
        Object.assign(this, { range: next });
        if (finished) done.push(next);
      },
    };
  }
  it("is in order, whole, within the ends, and none when it is empty", () => {
    expect(rangeBetween(70.4, 20.6, 0, 1000)).toEqual({ t0: 21, t1: 70 });
    expect(rangeBetween(-50, 1e9, 0, 1000)).toEqual({ t0: 0, t1: 1000 });
    expect(rangeBetween(10.1, 10.2, 0, 1000)).toBeNull();
  });
  it("is taken by the edge that is near, the other stays", () => {
    const target = drawing({ t0: 200, t1: 500 });
    expect(otherEnd(target, 22)).toBe(500);
    expect(otherEnd(target, 47)).toBe(200);
    expect(otherEnd(target, 35)).toBeNull();
    const drag = pullRange(target, 500);
    drag.move({ x: 60, y: 0, apart: 1 });
    expect(target.range).toEqual({ t0: 500, t1: 600 });
    expect(target.done).toEqual([]);
    drag.done!({ x: 62, y: 0 });
    expect(target.done).toEqual([{ t0: 500, t1: 620 }]);
  });
  it("is as it was when the pointer is taken away", () => {
    const target = drawing({ t0: 200, t1: 500 });
    const drag = pullRange(target, 700);
    drag.move({ x: 10, y: 0, apart: 1 });
    drag.cancel!();
    expect(target.range).toEqual({ t0: 200, t1: 500 });
    expect(target.done).toEqual([]);
  });
});
