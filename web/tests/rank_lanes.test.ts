/** Names and figures of collectives that are under way at once do not lie over each other. */
import { expect, test } from "vitest";
import { drawLanes } from "../src/draw/rank_lanes_draw.ts";
import type { RanksTheme } from "../src/draw/ranks_draw.ts";
import type { Pen } from "../src/draw/sheet/pen.ts";
import type { StepWire } from "../src/wire/ranks.ts";

const LETTER = 6;
type Text = { text: string; x: number; y: number };

/** A pen that remembers texts: what, and where. */
function remembering(): { pen: Pen; texts: Text[] } {
  const texts: Text[] = [];
  const known: Record<string, unknown> = {
    measureText: (text: string) => ({ width: text.length * LETTER }),
    fillText: (text: string, x: number, y: number) => texts.push({ text, x, y }),
  };
  const pen = new Proxy({}, { get: (_, name) => known[String(name)] ?? (() => undefined), set: () => true });
  return { pen: pen as Pen, texts };
}

function drawn(talks: StepWire["lanes"][number]["talks"]): Text[] {
  const { pen, texts } = remembering();
  const step = {
    lanes: [{ rank: 0, role: "slowest", host: "node0", slices: [], talks }],
    collectives: talks.map(([index]) => ({ index, name: "gloo:all_reduce", last_rank: 0 })),
    path: [],
  } as unknown as StepWire;
  const theme = { fill: [], ink: [] } as unknown as RanksTheme;
  const look = { span: { t0: 0, t1: 1000 }, path: false, bound: 0, chosen: 0 };
  drawLanes(pen, theme, step, { width: 1144, height: 300 }, look);
  return texts.filter(({ text }) => /waits|gloo/.test(text));
}

test("overlapping collectives", () => {
  // the second comes 70 px after the first, and its transfer 40 px after the first one's
  const texts = drawn([
    [0, 10, 500, 900],
    [1, 80, 470, 990],
  ]);
  expect(texts.filter(({ text }) => text.startsWith("waits"))).toHaveLength(1);
  for (const one of texts)
    for (const other of texts)
      if (one !== other && one.x <= other.x) expect(one.x + one.text.length * LETTER).toBeLessThanOrEqual(other.x);
  // no figure is cut: a wait is written whole or not at all
  for (const { text } of texts) if (text.startsWith("waits")) expect(text).toBe("waits 470 ns");
});

test("one collective keeps its name and its wait", () => {
  expect(drawn([[0, 10, 400, 990]]).map(({ text }) => text)).toEqual(["gloo:all_reduce", "waits 400 ns"]);
});
