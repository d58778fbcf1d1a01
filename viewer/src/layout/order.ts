// The order of vertices in their layers: barycentres of neighbours, layer by layer down and up, and exchanges of adjacent vertices;
// the order with the fewest crossings wins (Sugiyama, Tagawa & Toda, 1981; crossings counted as by Barth, Juenger & Mutzel, 2002).

import type { LayerEdge, LayerGraph } from "./layer_graph.ts";

const TOLERANCE = 1.25; // times the crossings of a new order, with which the earlier one is kept

/** Orders the vertices of each layer; `earlier` are the centres of items whose order is kept where that costs few crossings. */
export function orderLayers(graph: LayerGraph, earlier?: number[]): void {
  orderAnew(graph);
  if (!earlier) return;
  const position = new Int32Array(graph.rank.length);
  graph.layers.forEach((layer) => { setPositions(layer, position); });
  const fewest = countCrossings(graph, position);
  const fresh = graph.layers;
  restoreOrder(graph, earlier, position);
  if (countCrossings(graph, position) > fewest * TOLERANCE + 2) graph.layers = fresh;
}

/** Puts the items of each layer into their earlier order, and bends beside what they are connected to. */
function restoreOrder(graph: LayerGraph, earlier: number[], position: Int32Array): void {
  graph.layers = graph.layers.map((layer) => {
    const items = layer.filter((vertex) => vertex < earlier.length).sort((a, b) => earlier[a]! - earlier[b]!);
    return layer.map((vertex) => (vertex < earlier.length ? items.shift()! : vertex));
  });
  graph.layers.forEach((layer) => { setPositions(layer, position); });
  let best = graph.layers.map((layer) => [...layer]);
  let fewest = countCrossings(graph, position);
  for (let round = 0; round < 8 && fewest; round++) {
    sweep(graph, position, round % 2 === 0, (vertex) => vertex < earlier.length);
    const crossings = countCrossings(graph, position);
    if (crossings >= fewest) continue;
    fewest = crossings;
    best = graph.layers.map((layer) => [...layer]);
  }
  graph.layers = best;
  graph.layers.forEach((layer) => { setPositions(layer, position); });
}

function orderAnew(graph: LayerGraph): void {
  const position = new Int32Array(graph.rank.length);
  startFromSearch(graph);
  graph.layers.forEach((layer) => { setPositions(layer, position); });
  let best = graph.layers.map((layer) => [...layer]);
  let fewest = countCrossings(graph, position);
  const rounds = graph.rank.length > 4000 ? 6 : 24;
  for (let round = 0, idle = 0; round < rounds && fewest && idle < 6; round++) {
    sweep(graph, position, round % 2 === 0);
    const crossings = countCrossings(graph, position);
    idle = crossings < fewest ? 0 : idle + 1;
    if (crossings >= fewest) continue;
    fewest = crossings;
    best = graph.layers.map((layer) => [...layer]);
  }
  best.forEach((layer, rank) => {
    graph.layers[rank] = layer;
    setPositions(layer, position);
  });
  if (fewest && graph.rank.length < 4000) exchange(graph, position);
}

function setPositions(layer: number[], position: Int32Array): void {
  layer.forEach((vertex, place) => { position[vertex] = place; });
}

/** First order: that of a depth-first search, which keeps what is connected together. */
function startFromSearch(graph: LayerGraph): void {
  const visited = new Uint8Array(graph.rank.length);
  const layers: number[][] = graph.layers.map(() => []);
  for (const start of graph.layers.flat()) {
    const stack = [start];
    while (stack.length) {
      const vertex = stack.pop()!;
      if (visited[vertex]) continue;
      visited[vertex] = 1;
      layers[graph.rank[vertex]!]!.push(vertex);
      for (let i = graph.below[vertex]!.length; i--; ) stack.push(graph.below[vertex]![i]!.lower);
      for (const edge of graph.above[vertex]!) stack.push(edge.upper);
    }
  }
  graph.layers = layers;
}

/** isFixed: vertices that stay in their order among each other. */
function sweep(graph: LayerGraph, position: Int32Array, down: boolean, isFixed: ((vertex: number) => boolean) | null = null): void {
  const ranks = graph.layers.map((_, rank) => rank);
  if (!down) ranks.reverse();
  for (const rank of ranks) {
    const layer = graph.layers[rank]!;
    const weights = new Map<number, number>();
    for (const vertex of layer) weights.set(vertex, barycentre(graph, position, vertex, down));
    const fixed = isFixed ? layer.filter(isFixed) : [];
    layer.sort((a, b) => weights.get(a)! - weights.get(b)! || position[a]! - position[b]!);
    if (isFixed) layer.forEach((vertex, place) => { if (isFixed(vertex)) layer[place] = fixed.shift()!; });
    setPositions(layer, position);
  }
}

function barycentre(graph: LayerGraph, position: Int32Array, vertex: number, down: boolean): number {
  const edges = down ? graph.above[vertex]! : graph.below[vertex]!;
  if (!edges.length) return position[vertex]!;
  let sum = 0;
  for (const edge of edges) sum += down ? placeOf(graph, position, edge.upper, edge.upperOffset) : placeOf(graph, position, edge.lower, edge.lowerOffset);
  return sum / edges.length;
}

/** A position, with the offset of a port as a fraction. */
function placeOf(graph: LayerGraph, position: Int32Array, vertex: number, offset: number): number {
  return position[vertex]! + (graph.width[vertex]! ? offset / graph.width[vertex] : 0) * 0.9;
}

export function countCrossings(graph: LayerGraph, position: Int32Array): number {
  let total = 0;
  for (let rank = 0; rank + 1 < graph.layers.length; rank++) total += crossingsBelow(graph, position, rank);
  return total;
}

function crossingsBelow(graph: LayerGraph, position: Int32Array, rank: number): number {
  const ends: number[] = [];
  for (const vertex of graph.layers[rank]!) {
    const edges = graph.below[vertex]!;
    if (edges.length > 1) edges.sort((a, b) => a.upperOffset - b.upperOffset || position[a.lower]! - position[b.lower]!);
    for (const edge of edges) ends.push(position[edge.lower]!);
  }
  // Inversions, by a tree of sums over the positions of the lower layer.
  const size = graph.layers[rank + 1]!.length + 1;
  const tree = new Int32Array(size + 1);
  let total = 0;
  ends.forEach((end, earlier) => {
    let before = 0;
    for (let i = end + 1; i > 0; i -= i & -i) before += tree[i]!;
    total += earlier - before;
    for (let i = end + 1; i <= size; i += i & -i) tree[i]!++;
  });
  return total;
}

/** Exchanges adjacent vertices while that removes crossings. */
function exchange(graph: LayerGraph, position: Int32Array): void {
  for (let round = 0; round < 4; round++) {
    let changed = false;
    for (const layer of graph.layers) {
      for (let i = 0; i + 1 < layer.length; i++) {
        const [left, right] = [layer[i]!, layer[i + 1]!];
        if (pairCrossings(graph, position, left, right) <= pairCrossings(graph, position, right, left)) continue;
        [layer[i], layer[i + 1]] = [right, left];
        [position[left], position[right]] = [i + 1, i];
        changed = true;
      }
    }
    if (!changed) return;
  }
}

function pairCrossings(graph: LayerGraph, position: Int32Array, left: number, right: number): number {
  const count = (leftEdges: LayerEdge[], rightEdges: LayerEdge[], end: "upper" | "lower"): number => {
    let crossings = 0;
    for (const a of leftEdges) for (const b of rightEdges) if (position[a[end]]! > position[b[end]]!) crossings++;
    return crossings;
  };
  return count(graph.above[left]!, graph.above[right]!, "upper") + count(graph.below[left]!, graph.below[right]!, "lower");
}
