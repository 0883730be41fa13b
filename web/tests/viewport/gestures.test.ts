import { describe, expect, it } from "vitest";
import { listen, type Drag, type Gestures } from "../../src/views/common/viewport/gestures.ts";

/** As much of an element as gestures need: it lies at (10, 20) of the screen. */
class Surface extends EventTarget {
  readonly classes = new Set<string>();
  readonly captured: number[] = [];
  readonly classList = {
    add: (name: string) => this.classes.add(name),
    remove: (name: string) => this.classes.delete(name),
  };
  focus(): void {}
  getBoundingClientRect(): { left: number; top: number } {
    return { left: 10, top: 20 };
  }
  setPointerCapture(id: number): void {
    this.captured.push(id);
  }
  send(type: string, x: number, y: number, more: object = {}): void {
    const event = new Event(type, { cancelable: true });
    const base = { clientX: x + 10, clientY: y + 20, button: 0, buttons: 1, pointerId: 1, shiftKey: false };
    this.dispatchEvent(Object.assign(event, base, more));
  }
}

function setUp(more: Partial<Gestures> = {}): { surface: Surface; said: string[]; stop: AbortController } {
  const surface = new Surface();
  const said: string[] = [];
  const stop = new AbortController();
  const drag = (name: string): Drag => ({
    look: "panning",
    move: (to) => said.push(`${name} to ${to.x},${to.y} ${to.apart}`),
    done: (to) => said.push(`${name} done ${to.x},${to.y}`),
    click: (at) => said.push(`${name} click ${at.x},${at.y}`),
    cancel: () => said.push(`${name} cancel`),
  });
  const gestures: Gestures = {
    wheel: (step, at) => said.push(`wheel ${step.scroll} at ${at.x},${at.y}`),
    press: (_, shift) => drag(shift ? "range" : "pan"),
    grip: (at) => drag(`grip ${at.x},${at.y}`),
    open: (at) => said.push(`open ${at.x},${at.y}`),
    ...more,
  };
  listen(surface as unknown as HTMLElement, gestures, stop.signal);
  return { surface, said, stop };
}

describe("gestures", () => {
  it("tell a click from a drag", () => {
    const { surface, said } = setUp();
    surface.send("pointerdown", 50, 50);
    surface.send("pointermove", 52, 51);
    surface.send("pointerup", 52, 51);
    expect(said).toEqual(["pan click 52,51"]);
    said.length = 0;
    surface.send("pointerdown", 50, 50);
    surface.send("pointermove", 60, 50);
    expect([...surface.classes]).toEqual(["panning"]);
    surface.send("pointermove", 51, 50); // back again: it stays a drag
    surface.send("pointerup", 51, 50);
    expect(said).toEqual(["pan to 60,50 1", "pan to 51,50 1", "pan done 51,50"]);
    expect([...surface.classes]).toEqual([]);
  });
  it("leave other buttons and what is not theirs alone", () => {
    const { surface, said } = setUp({ press: () => null });
    surface.send("pointerdown", 50, 50, { button: 2 });
    surface.send("pointerdown", 50, 50);
    surface.send("pointermove", 90, 50);
    surface.send("pointerup", 90, 50);
    expect(said).toEqual([]);
    expect(surface.captured).toEqual([]);
  });
  it("go on with two fingers, and with the one that stays", () => {
    const { surface, said } = setUp();
    surface.send("pointerdown", 0, 0);
    surface.send("pointerdown", 100, 0, { pointerId: 2 });
    surface.send("pointermove", 200, 0, { pointerId: 2 });
    surface.send("pointerup", 0, 0);
    surface.send("pointermove", 220, 0, { pointerId: 2 });
    surface.send("pointerup", 220, 0, { pointerId: 2 });
    expect(said).toEqual([
      "pan cancel",
      "grip 50,0 to 100,0 200",
      "grip 200,0 to 220,0 1",
      "grip 200,0 done 220,0", // no click: something moved
    ]);
  });
  it("are given back when the system takes the pointer", () => {
    const { surface, said } = setUp();
    surface.send("pointerdown", 0, 0, { shiftKey: true });
    surface.send("pointermove", 30, 0);
    surface.send("pointercancel", 30, 0);
    expect(said).toEqual(["range to 30,0 1", "range cancel"]);
  });
  it("say where the wheel turned and where the pointer is, until they are stopped", () => {
    const hovered: unknown[] = [];
    const { surface, said, stop } = setUp({ hover: (at, event) => hovered.push(at && [at.x, at.y, event.buttons]) });
    surface.send("wheel", 5, 6, { deltaX: 0, deltaY: 7, deltaMode: 0, ctrlKey: false });
    surface.send("dblclick", 8, 9);
    surface.send("pointermove", 1, 2, { buttons: 0 });
    surface.send("pointerleave", 1, 2);
    expect(said).toEqual(["wheel 7 at 5,6", "open 8,9"]);
    expect(hovered).toEqual([[1, 2, 0], null]);
    stop.abort();
    surface.send("dblclick", 8, 9);
    expect(said.length).toBe(2);
  });
});
