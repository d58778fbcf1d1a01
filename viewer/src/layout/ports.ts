// Where edges meet the borders of items: side by side, in the order of their other ends, so that they neither coincide nor cross.

import type { LayerEdge, LayerGraph } from "./layer_graph.ts";

const PORT_GAP = 16;

/** Moves the free ends of edges, given the centres of all vertices. */
export function spreadPorts(graph: LayerGraph, x: Float64Array, items: number): void {
  for (let item = 0; item < items; item++) {
    spread(graph, x, item, graph.above[item]!.filter((edge) => edge.lowerFree).map((edge) => [edge]), "upper");
    const nets = new Map<number, LayerEdge[]>();
    for (const edge of graph.below[item]!) {
      if (edge.upperFree) nets.set(edge.net, [...(nets.get(edge.net) ?? []), edge]);
    }
    spread(graph, x, item, [...nets.values()], "lower");
  }
}

/** Each group of edges gets one port; `far` is the end that is not at the item. */
function spread(graph: LayerGraph, x: Float64Array, item: number, groups: LayerEdge[][], far: "upper" | "lower"): void {
  const place = (edge: LayerEdge): number => x[edge[far]]! + (far === "upper" ? edge.upperOffset : edge.lowerOffset);
  const wishes = groups.map((edges) => ({ edges, x: edges.reduce((sum, edge) => sum + place(edge), 0) / edges.length - x[item]! }));
  wishes.sort((a, b) => a.x - b.x);
  const room = graph.width[item]! * 0.8;
  const gap = Math.min(PORT_GAP, room / Math.max(1, wishes.length - 1));
  // An edge that comes straight from its other end stays straight.
  const straight = wishes.findIndex((wish) => Math.abs(wish.x) < 1);
  const middle = straight >= 0 && wishes.length * gap < room / 2 ? straight : (wishes.length - 1) / 2;
  wishes.forEach((wish, i) => {
    for (const edge of wish.edges) {
      if (far === "upper") edge.lowerOffset = (i - middle) * gap;
      else edge.upperOffset = (i - middle) * gap;
    }
  });
}
