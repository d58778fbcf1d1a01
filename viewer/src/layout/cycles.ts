// Edges to reverse so that no cycle remains: those that close one in a depth-first search from the sources. Graphs of valid
// models have no cycles, but folded scopes, state of training and broken models do.

import type { LayoutProblem } from "./problem.ts";

/** Successors of each item, without edges from an item to itself and edges that go back. */
export function successors(problem: LayoutProblem): number[][] {
  const next: number[][] = problem.items.map(() => []);
  for (const net of problem.nets) {
    if (net.isBack) continue;
    for (const target of net.targets) if (target.item !== net.source.item) next[net.source.item]!.push(target.item);
  }
  return next;
}

/** Whether each target of each net has to be reversed. */
export function findReversed(problem: LayoutProblem): boolean[][] {
  const order = finishOrder(problem);
  return problem.nets.map((net) => net.targets.map((target) => net.isBack === true || order[target.item]! < order[net.source.item]!));
}

/** A position for each item such that an edge that goes back closes a cycle. */
function finishOrder(problem: LayoutProblem): Int32Array {
  const next = successors(problem);
  const count = problem.items.length;
  const position = new Int32Array(count).fill(-1);
  const visited = new Uint8Array(count);
  const hasPredecessor = new Uint8Array(count);
  for (const targets of next) for (const target of targets) hasPredecessor[target] = 1;
  let place = count;
  const stack: [item: number, child: number][] = [];
  const visit = (start: number): void => {
    if (visited[start]) return;
    visited[start] = 1;
    stack.push([start, 0]);
    while (stack.length) {
      const top = stack[stack.length - 1]!;
      const child = next[top[0]]![top[1]++];
      if (child === undefined) {
        position[top[0]] = --place;
        stack.pop();
      } else if (!visited[child]) {
        visited[child] = 1;
        stack.push([child, 0]);
      }
    }
  };
  for (const first of ["first", "free", "last"]) {
    for (let item = 0; item < count; item++) {
      if (problem.items[item]!.layer === first && (first === "first" || !hasPredecessor[item])) visit(item);
    }
  }
  for (let item = 0; item < count; item++) visit(item);
  return position;
}
