// What a node depends on and what depends on it, and ways between inputs and outputs.

import type { DocumentView, GraphView } from "./graph_view.ts";

export type Direction = "producers" | "consumers";

export function neighbours(document: DocumentView, graph: GraphView, node: number, direction: Direction): number[] {
  const result = new Set<number>();
  if (direction === "producers") {
    for (const value of [...graph.inputs(node), ...document.capturesOf(graph, node)]) {
      if (value >= 0 && graph.producer(value) >= 0) result.add(graph.producer(value));
    }
  } else {
    for (const value of graph.outputs(node)) {
      if (value < 0) continue;
      for (const consumer of [...graph.consumers(value), ...document.capturers(graph, value)]) result.add(consumer);
    }
  }
  return [...result];
}

/** All nodes that a node reaches, without itself. */
export function reach(document: DocumentView, graph: GraphView, node: number, direction: Direction): Set<number> {
  const reached = new Set<number>();
  const waiting = [node];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const other of neighbours(document, graph, next, direction)) {
      if (reached.has(other)) continue;
      reached.add(other);
      waiting.push(other);
    }
  }
  return reached;
}

/** Nodes of a shortest way from a node to an input or an output of the graph, the node first; null where there is none. */
export function wayToBorder(document: DocumentView, graph: GraphView, node: number, direction: Direction): number[] | null {
  const previous = new Map<number, number>([[node, -1]]);
  const queue = [node];
  const inputs = new Set(graph.data.inputs);
  const isEnd = (n: number): boolean =>
    direction === "producers" ? graph.inputs(n).some((value) => inputs.has(value) && !graph.isInline(value)) : graph.outputs(n).some((value) => value >= 0 && graph.isOutput(value));
  for (let i = 0; i < queue.length; i++) {
    const next = queue[i]!;
    if (isEnd(next)) return trace(previous, next);
    for (const other of neighbours(document, graph, next, direction)) {
      if (previous.has(other)) continue;
      previous.set(other, next);
      queue.push(other);
    }
  }
  return null;
}

function trace(previous: Map<number, number>, end: number): number[] {
  const way: number[] = [];
  for (let node = end; node >= 0; node = previous.get(node)!) way.unshift(node);
  return way;
}
