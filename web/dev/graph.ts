/** A page with nothing but a graph, for the tests and measurements of the graph alone. Never shipped. */
import "../src/styles/tokens.css";
import "./graph.css";
import { GraphView } from "../src/views/graph/graph_view.ts";
import type { GraphWire } from "../src/wire/graph.ts";
import { call, hostile, kernel, rewrite, schedule } from "./samples.ts";

const theme = new URLSearchParams(location.search).get("theme") ?? "dark";
document.documentElement.dataset["theme"] = theme;

const events: { selected: (number | null)[]; opened: number[]; counts: [number, number, string][] } = {
  selected: [],
  opened: [],
  counts: [],
};
const view = new GraphView(document.getElementById("stage")!, {
  onSelect: (identity) => events.selected.push(identity),
  onOpenCall: (id) => events.opened.push(id),
  onCamera: () => {},
  onCounts: (shown, total, hidden) => events.counts.push([shown, total, hidden]),
  theme: () => (theme === "light" ? "light" : "dark"),
});

/** Time until a graph is on the screen, in ms. */
async function show(graph: GraphWire, mode: "fresh" | "step"): Promise<number> {
  const began = performance.now();
  await view.show(graph, mode);
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - began;
}

/** Durations of the frames in which `act` runs, in ms. */
async function frames(count: number, act: (i: number) => void): Promise<number[]> {
  const times: number[] = [];
  let last = performance.now();
  for (let i = 0; i < count; i++) {
    act(i);
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times;
}

Object.assign(window, { view, show, frames, events, kernel, schedule, rewrite, call, hostile });
