// Horizontal coordinates: four alignments of vertices with their median neighbours, each as narrow as it can be, and their average
// (Brandes & Koepf, "Fast and Simple Horizontal Coordinate Assignment", 2001; ports as by Rueegg et al., 2015).

import type { LayerEdge, LayerGraph } from "./layer_graph.ts";

interface Alignment {
  root: Int32Array;
  shift: Float64Array; // of a vertex against the root of its block
}

/** Centres of all vertices. */
export function assignColumns(graph: LayerGraph): Float64Array {
  const conflicts = findConflicts(graph);
  const results: Float64Array[] = [];
  for (const down of [true, false]) {
    for (const rightward of [true, false]) {
      const layers = rightward ? graph.layers : graph.layers.map((layer) => [...layer].reverse());
      const sign = rightward ? 1 : -1;
      const alignment = align(graph, layers, conflicts, down, sign);
      const x = compact(graph, layers, alignment);
      results.push(sign === 1 ? x : x.map((value) => -value));
    }
  }
  return balance(graph, results);
}

/** Edges that cross an edge between two bends, which must stay straight. */
function findConflicts(graph: LayerGraph): Set<LayerEdge> {
  const conflicts = new Set<LayerEdge>();
  const items = (vertex: number): boolean => graph.width[vertex]! > 0;
  const position = new Int32Array(graph.rank.length);
  for (const layer of graph.layers) layer.forEach((vertex, place) => { position[vertex] = place; });
  for (const layer of graph.layers) {
    // Inner edges to this layer have ascending upper ends, wherever they do not cross each other.
    let left = -1;
    let scan = 0;
    layer.forEach((vertex, place) => {
      const inner = graph.above[vertex]!.find((edge) => !items(vertex) && !items(edge.upper));
      if (!inner && place < layer.length - 1) return;
      const right = inner ? position[inner.upper]! : Infinity;
      for (; scan <= place; scan++) {
        for (const edge of graph.above[layer[scan]!]!) {
          const p = position[edge.upper]!;
          if ((p < left || p > right) && !(!items(edge.upper) && !items(edge.lower))) conflicts.add(edge);
        }
      }
      left = Math.max(left, right);
    });
  }
  return conflicts;
}

function align(graph: LayerGraph, layers: number[][], conflicts: Set<LayerEdge>, down: boolean, sign: number): Alignment {
  const count = graph.rank.length;
  const root = Int32Array.from({ length: count }, (_, vertex) => vertex);
  const shift = new Float64Array(count);
  const taken = new Uint8Array(count); // each vertex is the neighbour of at most one block below
  const position = new Int32Array(count);
  for (const layer of layers) layer.forEach((vertex, place) => { position[vertex] = place; });
  for (const layer of down ? layers : [...layers].reverse()) {
    let limit = -1;
    for (const vertex of layer) {
      const edges = [...(down ? graph.above[vertex]! : graph.below[vertex]!)];
      if (!edges.length) continue;
      const end = down ? "upper" : "lower";
      edges.sort((a, b) => position[a[end]]! - position[b[end]]!);
      const middle = (edges.length - 1) / 2;
      for (const choice of [edges[Math.floor(middle)]!, edges[Math.ceil(middle)]!]) {
        const other = choice[end];
        if (root[vertex] !== vertex || taken[other] || conflicts.has(choice) || position[other]! <= limit) continue;
        taken[other] = 1;
        root[vertex] = root[other]!;
        const [own, far] = down ? [choice.lowerOffset, choice.upperOffset] : [choice.upperOffset, choice.lowerOffset];
        shift[vertex] = shift[other]! + sign * (far - own);
        limit = position[other]!;
      }
    }
  }
  return { root, shift };
}

/** Centres of an alignment: longest paths over blocks, then blocks pulled to their right neighbours. */
function compact(graph: LayerGraph, layers: number[][], { root, shift }: Alignment): Float64Array {
  const count = graph.rank.length;
  const next: [block: number, distance: number][][] = Array.from({ length: count }, () => []);
  const missing = new Int32Array(count);
  for (const layer of layers) {
    for (let i = 1; i < layer.length; i++) {
      const [left, right] = [layer[i - 1]!, layer[i]!];
      const room = (graph.width[left]! + graph.width[right]!) / 2 + (graph.gap[left]! + graph.gap[right]!) / 2;
      next[root[left]!]!.push([root[right]!, room + shift[left]! - shift[right]!]);
      missing[root[right]!]!++;
    }
  }
  const order: number[] = [];
  for (let vertex = 0; vertex < count; vertex++) if (root[vertex] === vertex && !missing[vertex]) order.push(vertex);
  const x = new Float64Array(count);
  for (let i = 0; i < order.length; i++) {
    const block = order[i]!;
    for (const [right, distance] of next[block]!) {
      x[right] = Math.max(x[right]!, x[block]! + distance);
      if (--missing[right]! === 0) order.push(right);
    }
  }
  for (let i = order.length; i--; ) {
    let limit = Infinity;
    for (const [right, distance] of next[order[i]!]!) limit = Math.min(limit, x[right]! - distance);
    if (limit !== Infinity) x[order[i]!] = Math.max(x[order[i]!]!, limit);
  }
  const centres = new Float64Array(count);
  for (let vertex = 0; vertex < count; vertex++) centres[vertex] = x[root[vertex]!]! + shift[vertex]!;
  return centres;
}

/** Mean of the two middle ones of the four results, moved to the borders of the narrowest. */
function balance(graph: LayerGraph, results: Float64Array[]): Float64Array {
  const bounds = results.map((x) => {
    let [low, high] = [Infinity, -Infinity];
    x.forEach((centre, vertex) => {
      low = Math.min(low, centre - graph.width[vertex]! / 2);
      high = Math.max(high, centre + graph.width[vertex]! / 2);
    });
    return [low, high] as const;
  });
  const narrowest = bounds.reduce((best, [low, high], i) => (high - low < bounds[best]![1] - bounds[best]![0] ? i : best), 0);
  const [low, high] = bounds[narrowest]!;
  const moves = bounds.map(([own, far], i) => (i % 2 === 0 ? low - own : high - far));
  return results[0]!.map((_, vertex) => {
    const centres = results.map((x, i) => x[vertex]! + moves[i]!).sort((a, b) => a - b);
    return (centres[1]! + centres[2]!) / 2;
  });
}
