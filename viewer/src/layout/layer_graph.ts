// The graph between neighbouring layers: items, and bends where a net passes a layer. All edges of a net that pass a layer share one bend.

import type { LayoutEnd, LayoutProblem } from "./problem.ts";
import { LINE_GAP, COLUMN_GAP } from "./problem.ts";

export interface LayerEdge {
  upper: number;
  lower: number;
  upperOffset: number; // from the centre of the vertex
  lowerOffset: number;
  upperFree: boolean; // whether the layout chooses the offset
  lowerFree: boolean;
  net: number;
}

/** Vertices are the items, then the bends. */
export interface LayerGraph {
  width: Float64Array;
  gap: Float64Array; // room that a vertex needs beside it
  rank: Int32Array;
  layers: number[][]; // vertices in their order
  above: LayerEdge[][]; // edges to the layer above
  below: LayerEdge[][];
  chains: number[][][]; // bends from source to target, by net and target
}

export function makeLayerGraph(problem: LayoutProblem, ranks: Int32Array, reversed: boolean[][]): LayerGraph {
  const bendRanks: number[] = [];
  const edges: LayerEdge[] = [];
  const items = problem.items.length;
  const addBend = (rank: number): number => items + bendRanks.push(rank) - 1;
  const fromCentre = (end: LayoutEnd | null): number => (end?.offset ? end.offset - problem.items[end.item]!.width / 2 : 0);
  // An end is null where the edge meets a bend.
  const connect = (upper: number, upperEnd: LayoutEnd | null, lower: number, lowerEnd: LayoutEnd | null, net: number): void => {
    edges.push({
      upper, lower, net,
      upperOffset: fromCentre(upperEnd), lowerOffset: fromCentre(lowerEnd),
      upperFree: upperEnd?.offset === null, lowerFree: lowerEnd?.offset === null,
    });
  };

  const chains = problem.nets.map((net, n) => {
    const { source, targets } = net;
    const shared: number[] = [];
    const start = ranks[source.item]!;
    const bendOf = (rank: number): number => {
      while (shared.length < rank - start) {
        const bend = addBend(start + shared.length + 1);
        connect(shared[shared.length - 1] ?? source.item, shared.length ? null : source, bend, null, n);
        shared.push(bend);
      }
      return shared[rank - start - 1]!;
    };
    return targets.map((target, t) => {
      const end = ranks[target.item]!;
      if (target.item === source.item) return [];
      if (reversed[n]![t] || end <= start) return backwardChain(start, end, n);
      if (end > start + 1) bendOf(end - 1);
      const chain = shared.slice(0, end - start - 1);
      connect(chain[chain.length - 1] ?? source.item, chain.length ? null : source, target.item, target, n);
      return chain;
    });
  });

  function backwardChain(start: number, end: number, net: number): number[] {
    const chain: number[] = [];
    for (let rank = end; rank <= start; rank++) {
      const bend = addBend(rank);
      if (chain.length) connect(chain[chain.length - 1]!, null, bend, null, net);
      chain.push(bend);
    }
    return chain.reverse();
  }
  return assemble(problem, ranks, bendRanks, edges, chains);
}

function assemble(problem: LayoutProblem, ranks: Int32Array, bendRanks: number[], edges: LayerEdge[], chains: number[][][]): LayerGraph {
  const items = problem.items.length;
  const count = items + bendRanks.length;
  const rank = Int32Array.from([...ranks, ...bendRanks]);
  const depth = rank.reduce((most, r) => Math.max(most, r + 1), 0);
  const layers: number[][] = Array.from({ length: depth }, () => []);
  const above: LayerEdge[][] = Array.from({ length: count }, () => []);
  const below: LayerEdge[][] = Array.from({ length: count }, () => []);
  for (let vertex = 0; vertex < count; vertex++) layers[rank[vertex]!]!.push(vertex);
  for (const edge of edges) {
    above[edge.lower]!.push(edge);
    below[edge.upper]!.push(edge);
  }
  const width = new Float64Array(count);
  const gap = new Float64Array(count).fill(LINE_GAP);
  problem.items.forEach((item, i) => {
    width[i] = item.width;
    gap[i] = item.width ? COLUMN_GAP : LINE_GAP;
  });
  return { width, gap, rank, layers, above, below, chains };
}
