// Layered layout of one frame: cycles, ranks, order, columns, routes.

import { assignColumns } from "./coordinates.ts";
import { findReversed } from "./cycles.ts";
import type { LayerGraph } from "./layer_graph.ts";
import { makeLayerGraph } from "./layer_graph.ts";
import { orderLayers } from "./order.ts";
import { spreadPorts } from "./ports.ts";
import type { Layout, LayoutProblem } from "./problem.ts";
import { COLUMN_GAP, LAYER_GAP, LAYER_GAP_LIMIT } from "./problem.ts";
import { assignRanks } from "./ranks.ts";
import type { Levels } from "./routes.ts";
import { routeNets } from "./routes.ts";

export function layOut(problem: LayoutProblem): Layout {
  const loose = findLoose(problem);
  const layout = layOutConnected(problem, loose);
  placeLoose(problem, loose, layout);
  return layout;
}

/** Items without edges, where they are so many that one layer would hold a long row of them. */
function findLoose(problem: LayoutProblem): number[] {
  const connected = new Uint8Array(problem.items.length);
  for (const net of problem.nets) {
    for (const target of net.targets) {
      if (target.item !== net.source.item) connected[target.item] = connected[net.source.item] = 1;
    }
  }
  const loose = problem.items.flatMap((item, i) => (connected[i] || item.layer !== "free" ? [] : [i]));
  return loose.length > 3 ? loose : [];
}

function layOutConnected(problem: LayoutProblem, loose: number[]): Layout {
  const reversed = findReversed(problem);
  const ranks = assignRanks(problem, reversed);
  const graph = makeLayerGraph(problem, ranks, reversed);
  const absent = new Set(loose);
  if (absent.size) graph.layers = graph.layers.map((layer) => layer.filter((vertex) => !absent.has(vertex)));
  orderLayers(graph, problem.earlier);
  const x = assignColumns(graph);
  spreadPorts(graph, x, problem.items.length);
  const levels = assignLevels(problem, graph, x);
  const routes = routeNets(problem, graph, x, levels);
  const shown = problem.items.map((_, i) => !absent.has(i));
  return normalise(problem, x, levels, routes, shown);
}

function assignLevels(problem: LayoutProblem, graph: LayerGraph, x: Float64Array): Levels {
  const depth = graph.layers.length;
  const levels: Levels = {
    top: new Float64Array(depth),
    bottom: new Float64Array(depth),
    itemTop: new Float64Array(problem.items.length),
    itemBottom: new Float64Array(problem.items.length),
  };
  let y = 0;
  graph.layers.forEach((layer, rank) => {
    const height = layer.reduce((most, vertex) => Math.max(most, problem.items[vertex]?.height ?? 0), 0);
    levels.top[rank] = y;
    levels.bottom[rank] = y + height;
    for (const vertex of layer) {
      const item = problem.items[vertex];
      if (!item) continue;
      const free = height - item.height;
      levels.itemTop[vertex] = y + (free > 2 * item.height ? Math.min(free, 12) : free / 2);
      levels.itemBottom[vertex] = levels.itemTop[vertex] + item.height;
    }
    y += height + gapBelow(graph, x, layer);
  });
  return levels;
}

/** Room for the curves below a layer: more where they go far to the side. */
function gapBelow(graph: LayerGraph, x: Float64Array, layer: number[]): number {
  let widest = 0;
  for (const vertex of layer) {
    for (const edge of graph.below[vertex]!) {
      widest = Math.max(widest, Math.abs(x[edge.upper]! + edge.upperOffset - x[edge.lower]! - edge.lowerOffset));
    }
  }
  return Math.min(LAYER_GAP_LIMIT, LAYER_GAP + widest * 0.12);
}

/** Moves everything so that the upper left corner is the origin. */
function normalise(problem: LayoutProblem, x: Float64Array, levels: Levels, routes: number[][][], shown: boolean[]): Layout {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  const include = (px: number, py: number): void => {
    left = Math.min(left, px);
    right = Math.max(right, px);
    top = Math.min(top, py);
    bottom = Math.max(bottom, py);
  };
  problem.items.forEach((item, i) => {
    if (!shown[i]) return;
    include(x[i]! - item.width / 2, levels.itemTop[i]!);
    include(x[i]! + item.width / 2, levels.itemBottom[i]!);
  });
  for (const points of routes.flat()) for (let i = 0; i < points.length; i += 2) include(points[i]!, points[i + 1]!);
  if (left === Infinity) [left, top, right, bottom] = [0, 0, 0, 0];
  for (const points of routes.flat()) {
    for (let i = 0; i < points.length; i += 2) {
      points[i]! -= left;
      points[i + 1]! -= top;
    }
  }
  return {
    width: right - left,
    height: bottom - top,
    x: problem.items.map((item, i) => x[i]! - item.width / 2 - left),
    y: problem.items.map((_, i) => levels.itemTop[i]! - top),
    routes,
  };
}

/** Rows of loose items below the others, about as wide as high. */
function placeLoose(problem: LayoutProblem, loose: number[], layout: Layout): void {
  if (!loose.length) return;
  const area = loose.reduce((sum, i) => sum + (problem.items[i]!.width + COLUMN_GAP) * (problem.items[i]!.height + COLUMN_GAP), 0);
  const limit = Math.max(layout.width, Math.sqrt(area) * 1.3);
  let [x, y, height] = [0, layout.height ? layout.height + LAYER_GAP : 0, 0];
  for (const i of loose) {
    const item = problem.items[i]!;
    if (x && x + item.width > limit) [x, y, height] = [0, y + height + COLUMN_GAP, 0];
    layout.x[i] = x;
    layout.y[i] = y;
    x += item.width + COLUMN_GAP;
    height = Math.max(height, item.height);
    layout.width = Math.max(layout.width, x - COLUMN_GAP);
    layout.height = Math.max(layout.height, y + item.height);
  }
}
