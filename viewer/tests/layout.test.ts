import { describe, expect, it } from "vitest";
import { layOut } from "../src/layout/layered.ts";
import type { Layout, LayoutProblem } from "../src/layout/problem.ts";
import { seededRandom } from "./model_builder.ts";

function chain(...pairs: [number, number][]): LayoutProblem {
  const count = Math.max(...pairs.flat()) + 1;
  return {
    items: Array.from({ length: count }, () => ({ width: 60, height: 24, layer: "free" as const })),
    nets: pairs.map(([from, to]) => ({ source: { item: from, offset: null }, targets: [{ item: to, offset: null }] })),
  };
}

function randomProblem(seed: number, count: number, cyclic: boolean): LayoutProblem {
  const random = seededRandom(seed);
  const items = Array.from({ length: count }, () => ({ width: 40 + random() * 160, height: 24 + random() * 200, layer: "free" as const }));
  const nets = [];
  for (let item = 0; item < count; item++) {
    const targets = new Set<number>();
    for (let i = 0; i < random() * 3; i++) {
      const other = cyclic ? Math.floor(random() * count) : item + 1 + Math.floor(random() * Math.min(8, count - item - 1));
      if (other < count && other !== item) targets.add(other);
    }
    nets.push({ source: { item, offset: null }, targets: [...targets].map((target) => ({ item: target, offset: null })) });
  }
  return { items, nets };
}

function assertApart(problem: LayoutProblem, layout: Layout): void {
  const overlaps: string[] = [];
  problem.items.forEach((a, i) => {
    problem.items.forEach((b, j) => {
      if (j <= i) return;
      const apartX = layout.x[i]! + a.width <= layout.x[j]! + 0.01 || layout.x[j]! + b.width <= layout.x[i]! + 0.01;
      const apartY = layout.y[i]! + a.height <= layout.y[j]! + 0.01 || layout.y[j]! + b.height <= layout.y[i]! + 0.01;
      if (!apartX && !apartY) overlaps.push(`items ${i} and ${j}`);
    });
  });
  expect(overlaps).toEqual([]);
}

/** Points of a route as it is drawn: curves have vertical ends, so that x follows a smooth step of y. */
function* pointsOf(route: number[]): Generator<[number, number]> {
  for (let i = 2; i < route.length; i += 2) {
    for (let t = 0; t <= 1; t += 0.05) {
      const s = t * t * (3 - 2 * t);
      yield [route[i - 2]! + (route[i]! - route[i - 2]!) * s, route[i - 1]! + (route[i + 1]! - route[i - 1]!) * t];
    }
  }
}

function assertNoBoxCrossed(problem: LayoutProblem, layout: Layout): void {
  const crossings: string[] = [];
  layout.routes.forEach((routes, net) => {
    for (const route of routes) {
      for (const [px, py] of pointsOf(route)) {
        problem.items.forEach((item, i) => {
          const [x, y] = [px - layout.x[i]!, py - layout.y[i]!];
          if (x > 0.5 && x < item.width - 0.5 && y > 0.5 && y < item.height - 0.5) crossings.push(`net ${net} at item ${i}`);
        });
      }
    }
  });
  expect(crossings).toEqual([]);
}

describe("layered layout", () => {
  it("puts a chain into one column, downwards", () => {
    const layout = layOut(chain([0, 1], [1, 2]));
    expect(layout.x[0]).toBeCloseTo(layout.x[1]!);
    expect(layout.x[1]).toBeCloseTo(layout.x[2]!);
    expect(layout.y[0]! + 24).toBeLessThan(layout.y[1]!);
    expect(layout.y[1]! + 24).toBeLessThan(layout.y[2]!);
  });

  it("keeps a long edge beside the boxes that it passes", () => {
    const problem = chain([0, 1], [1, 2], [2, 3], [0, 3]);
    assertNoBoxCrossed(problem, layOut(problem));
  });

  it("puts sources directly above the first item that uses them", () => {
    const layout = layOut(chain([0, 1], [1, 2], [3, 2]));
    expect(layout.y[3]).toBeCloseTo(layout.y[1]!);
  });

  it("moves whole trees down to the item that uses them", () => {
    const layout = layOut(chain([0, 1], [1, 2], [2, 3], [4, 5], [5, 3]));
    expect(layout.y[5]).toBeCloseTo(layout.y[2]!);
    expect(layout.y[4]).toBeCloseTo(layout.y[1]!);
  });

  it("crosses no edges where none have to", () => {
    const layout = layOut(chain([0, 3], [1, 2]));
    expect((layout.x[0]! - layout.x[1]!) * (layout.x[3]! - layout.x[2]!)).toBeGreaterThan(0);
  });

  it("honours the offsets of ports", () => {
    const problem = chain([0, 1]);
    problem.items[1] = { width: 400, height: 100, layer: "free" };
    problem.nets[0]!.targets[0]!.offset = 390;
    const layout = layOut(problem);
    const route = layout.routes[0]![0]!;
    expect(route[route.length - 2]).toBeCloseTo(layout.x[1]! + 390);
    expect(layout.x[0]! + 30).toBeCloseTo(layout.x[1]! + 390); // straight
  });

  it("places ports of a frame at its upper and lower border", () => {
    const problem = chain([0, 1], [1, 2]);
    problem.items[0] = { width: 0, height: 0, layer: "first" };
    problem.items[2] = { width: 0, height: 0, layer: "last" };
    const layout = layOut(problem);
    expect(layout.y[0]).toBe(0);
    expect(layout.y[2]).toBeCloseTo(layout.height);
  });

  it("draws cycles, with edges that go back beside the boxes", () => {
    const problem = chain([0, 1], [1, 2], [2, 0]);
    const layout = layOut(problem);
    assertApart(problem, layout);
    assertNoBoxCrossed(problem, layout);
    expect(layout.routes[2]![0]!.length).toBeGreaterThan(4);
  });

  it("lays loose items in rows", () => {
    const problem: LayoutProblem = { items: Array.from({ length: 25 }, () => ({ width: 60, height: 24, layer: "free" as const })), nets: [] };
    const layout = layOut(problem);
    assertApart(problem, layout);
    expect(layout.width).toBeLessThan(25 * 60);
  });

  it.each([1, 2, 3, 4, 5, 6])("keeps boxes apart and edges outside of them in random graph %i", (seed) => {
    const problem = randomProblem(seed, 40, seed % 3 === 0);
    const layout = layOut(problem);
    assertApart(problem, layout);
    assertNoBoxCrossed(problem, layout);
    for (const value of [...layout.x, ...layout.y]) expect(Number.isFinite(value)).toBe(true);
  });

  it("answers the same for the same problem", () => {
    expect(layOut(randomProblem(7, 60, false))).toEqual(layOut(randomProblem(7, 60, false)));
  });
});
