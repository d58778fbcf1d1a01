// The ways of edges. Between two layers, where no box is, an edge is a curve; beside the boxes of a layer it is a vertical line.
// So no edge crosses a box.

import type { LayerEdge, LayerGraph } from "./layer_graph.ts";
import type { LayoutProblem } from "./problem.ts";

export interface Levels {
  top: Float64Array; // of each layer
  bottom: Float64Array;
  itemTop: Float64Array;
  itemBottom: Float64Array;
}

export function routeNets(problem: LayoutProblem, graph: LayerGraph, x: Float64Array, levels: Levels): number[][][] {
  return problem.nets.map((net, n) =>
    net.targets.map((target, t) => {
      if (target.item === net.source.item) return [];
      const bends = graph.chains[n]![t]!;
      const backward = graph.rank[target.item]! <= graph.rank[net.source.item]!;
      return backward
        ? routeBackward(graph, x, levels, net.source.item, bends, target.item)
        : routeForward(graph, x, levels, net.source.item, bends, target.item, n);
    }),
  );
}

function routeForward(graph: LayerGraph, x: Float64Array, levels: Levels, source: number, bends: number[], target: number, net: number): number[] {
  const first = graph.below[source]!.find((edge) => edge.net === net && edge.lower === (bends[0] ?? target));
  const last = graph.above[target]!.find((edge) => edge.net === net && edge.upper === (bends[bends.length - 1] ?? source));
  const start = x[source]! + offset(first, "upperOffset");
  const end = x[target]! + offset(last, "lowerOffset");
  const points = [start, levels.itemBottom[source]!, start, levels.bottom[graph.rank[source]!]!];
  for (const bend of bends) {
    const rank = graph.rank[bend]!;
    points.push(x[bend]!, levels.top[rank]!, x[bend]!, levels.bottom[rank]!);
  }
  points.push(end, levels.top[graph.rank[target]!]!, end, levels.itemTop[target]!);
  return joinStraight(points);
}

function offset(edge: LayerEdge | undefined, end: "upperOffset" | "lowerOffset"): number {
  return edge ? edge[end] : 0;
}

/** Down from the source, up beside all layers, down to the target. */
function routeBackward(graph: LayerGraph, x: Float64Array, levels: Levels, source: number, bends: number[], target: number): number[] {
  const bottom = levels.bottom[graph.rank[source]!]!;
  const top = levels.top[graph.rank[target]!]!;
  const points = [x[source]!, levels.itemBottom[source]!, x[source]!, bottom];
  for (const bend of bends) {
    const rank = graph.rank[bend]!;
    points.push(x[bend]!, levels.bottom[rank]!, x[bend]!, levels.top[rank]!);
  }
  points.push(x[target]!, top, x[target]!, levels.itemTop[target]!);
  return joinStraight(points);
}

/** Leaves out points in the middle of vertical lines. */
function joinStraight(points: number[]): number[] {
  const result: number[] = [];
  for (let i = 0; i < points.length; i += 2) {
    const [px, py] = [points[i]!, points[i + 1]!];
    const last = result.length;
    if (last >= 2 && Math.abs(result[last - 2]! - px) < 0.01 && Math.abs(result[last - 1]! - py) < 0.01) continue;
    if (last >= 4 && Math.abs(result[last - 4]! - px) < 0.01 && Math.abs(result[last - 2]! - px) < 0.01) result[last - 1] = py;
    else result.push(px, py);
  }
  return result;
}
