// The layer of each item: longest paths, then moves within the room that neighbours leave, so that the sum of the lengths of
// nets falls. (Gansner et al., "A Technique for Drawing Directed Graphs", 1993, minimise the same sum by a simplex method; moves of
// single items reach it for nearly all graphs of models at a fraction of the time.)

import type { LayoutProblem } from "./problem.ts";

interface Neighbours {
  before: number[][];
  after: number[][];
}

export function assignRanks(problem: LayoutProblem, reversed: boolean[][]): Int32Array {
  const neighbours = findNeighbours(problem, reversed);
  const order = topologicalOrder(neighbours);
  const ranks = new Int32Array(problem.items.length);
  for (const item of order) {
    for (const next of neighbours.after[item]!) ranks[next] = Math.max(ranks[next]!, ranks[item]! + 1);
  }
  shorten(problem, neighbours, order, ranks);
  placePorts(problem, ranks);
  return ranks;
}

function findNeighbours(problem: LayoutProblem, reversed: boolean[][]): Neighbours {
  const before: number[][] = problem.items.map(() => []);
  const after: number[][] = problem.items.map(() => []);
  problem.nets.forEach((net, n) => {
    net.targets.forEach((target, t) => {
      if (target.item === net.source.item) return;
      const [from, to] = reversed[n]![t] ? [target.item, net.source.item] : [net.source.item, target.item];
      after[from]!.push(to);
      before[to]!.push(from);
    });
  });
  return { before, after };
}

function topologicalOrder(neighbours: Neighbours): number[] {
  const missing = neighbours.before.map((items) => items.length);
  const order = missing.flatMap((count, item) => (count ? [] : [item]));
  for (let i = 0; i < order.length; i++) {
    for (const next of neighbours.after[order[i]!]!) if (--missing[next]! === 0) order.push(next);
  }
  return order;
}

/** Moves items towards their neighbours, from the last to the first and back, until nothing moves. */
function shorten(problem: LayoutProblem, neighbours: Neighbours, order: number[], ranks: Int32Array): void {
  const backward = [...order].reverse();
  const trees = findTrees(problem, neighbours, order);
  for (let round = 0; round < 8; round++) {
    let moved = false;
    for (const item of round % 2 ? order : backward) {
      const rank = bestRank(problem, neighbours, trees, ranks, item);
      moved ||= rank !== ranks[item];
      ranks[item] = rank;
    }
    if (!moved && round) return;
  }
}

/** Items whose producers, and theirs, have no other consumers: a whole tree of them moves down at no cost. */
function findTrees(problem: LayoutProblem, { before, after }: Neighbours, order: number[]): Uint8Array {
  const trees = new Uint8Array(problem.items.length);
  for (const item of order) {
    const isTree = before[item]!.every((other) => trees[other] && after[other]!.length === 1);
    trees[item] = isTree && problem.items[item]!.layer === "free" ? 1 : 0;
  }
  return trees;
}

function bestRank(problem: LayoutProblem, { before, after }: Neighbours, trees: Uint8Array, ranks: Int32Array, item: number): number {
  const rank = ranks[item]!;
  if (problem.items[item]!.layer !== "free") return rank;
  let low = -1;
  let high = Infinity;
  for (const other of before[item]!) low = Math.max(low, ranks[other]!);
  for (const other of after[item]!) high = Math.min(high, ranks[other]!);
  if (high === Infinity) return before[item]!.length ? low + 1 : rank;
  if (trees[item]) return high - 1;
  // Edges of one net share their way: an item with one value costs one length, however many use it.
  const pull = Math.min(after[item]!.length, 1) - before[item]!.length;
  return pull > 0 ? high - 1 : pull < 0 ? low + 1 : rank;
}

/** Shifts ranks to begin with 0; ports go to a layer of their own, before or after all others. */
function placePorts(problem: LayoutProblem, ranks: Int32Array): void {
  let low = Infinity;
  let high = -Infinity;
  problem.items.forEach((item, i) => {
    if (item.layer !== "free") return;
    low = Math.min(low, ranks[i]!);
    high = Math.max(high, ranks[i]!);
  });
  if (low === Infinity) [low, high] = [1, 0];
  const first = problem.items.some((item) => item.layer === "first") ? 1 : 0;
  problem.items.forEach((item, i) => {
    ranks[i] = item.layer === "first" ? 0 : item.layer === "last" ? high - low + 1 + first : ranks[i]! - low + first;
  });
}
