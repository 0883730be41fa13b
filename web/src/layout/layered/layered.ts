import { packed } from "./components.ts";
import { ROW, type Drawing, type Placement } from "./drawing.ts";
import { layers, type Layers } from "./layers.ts";
import { order } from "./order.ts";
import { place, spacingOf } from "./place.ts";
import { ranks, simplify } from "./ranks.ts";
import { route } from "./route.ts";
import { straighten } from "./straighten.ts";

/** Up to here the picture is worth more work: crossings close to Graphviz dot's; above, everything is linear. */
const SMALL = 2000;
const MIDDLE = 6000;

/**
 * A layered drawing of the whole graph, sources above their users; parts that no edge joins stand beside and below each
 * other.
 */
export function layered(drawing: Drawing): Placement {
  return packed(drawing, joined);
}

function joined(drawing: Drawing): Placement {
  const small = drawing.count <= SMALL;
  const middle = drawing.count <= MIDDLE;
  const dag = simplify(drawing.count, drawing.from, drawing.to);
  const graph = layers(dag, ranks(dag, small ? 24 : 6));
  const ordered = order(graph, {
    sweeps: small ? 40 : middle ? 16 : 6,
    transpose: small || (middle && graph.total < 8000),
  });
  const spacing = spacingOf(graph, drawing.width, drawing.right);
  const all = place(graph, ordered, spacing, small ? 24 : middle ? 12 : 8);
  straighten(graph, ordered, all, spacing, small ? 6 : 2);
  const pitch = ROW * stretch(graph, all);
  const y = Float64Array.from(graph.rank, (row) => row * pitch);
  return {
    x: all.slice(0, drawing.count),
    y: y.slice(0, drawing.count),
    routes: route(drawing, graph, ordered, all, y, pitch),
  };
}

/**
 * How many rows apart the ranks stand: one, more where lines run far to the side.
 *
 * In a wide graph eighteen pixels between two ranks make all lines horizontal. The rows that stay empty are room for
 * what the next matches bring.
 */
function stretch(graph: Layers, x: Float64Array): number {
  let sum = 0;
  for (let v = 0; v < graph.total; v++) {
    for (let i = graph.down.start[v]!; i < graph.down.start[v + 1]!; i++)
      sum += Math.abs(x[graph.down.node[i]!]! - x[v]!);
  }
  const mean = sum / Math.max(1, graph.down.node.length);
  return Math.max(1, Math.min(4, Math.round(mean / 320)));
}
