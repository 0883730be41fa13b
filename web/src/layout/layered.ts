import { ROW, type Drawing, type Placement } from "./drawing.ts";
import { layers } from "./layers.ts";
import { order } from "./order.ts";
import { place } from "./place.ts";
import { ranks, simplify } from "./ranks.ts";
import { route } from "./route.ts";

/** Up to here the picture is worth more work: crossings close to Graphviz dot's; above, everything is linear. */
const SMALL = 2000;
const MIDDLE = 6000;

/** A layered drawing of the whole graph, sources above their users. */
export function layered(drawing: Drawing): Placement {
  const small = drawing.count <= SMALL;
  const middle = drawing.count <= MIDDLE;
  const dag = simplify(drawing.count, drawing.from, drawing.to);
  const graph = layers(dag, ranks(dag, small ? 24 : 6));
  const ordered = order(graph, { sweeps: small ? 40 : middle ? 16 : 6, transpose: small || (middle && graph.total < 20_000) });
  const all = place(graph, ordered, drawing.width, drawing.right, small ? 24 : middle ? 12 : 8);
  const y = Float64Array.from(graph.rank, (row) => row * ROW);
  return {
    x: all.slice(0, drawing.count),
    y: y.slice(0, drawing.count),
    routes: route(drawing, graph, all, y),
  };
}
