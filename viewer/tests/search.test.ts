import { describe, expect, it } from "vitest";
import { DocumentView } from "../src/model/graph_view.ts";
import { reach, wayToBorder } from "../src/model/paths.ts";
import { countNodes, nodeText } from "../src/model/node_text.ts";
import { NodeSearch, parseQuery } from "../src/model/search.ts";
import { makeDocument } from "./model_builder.ts";

const VIEW = new DocumentView(
  makeDocument({
    inputs: ["x"], outputs: ["y"], weights: ["kernel"],
    types: { x: "float32[1, 3, 8, 8]", a: "float32[1, 13, 8, 8]", b: "float16[1, 3, 8]", y: "float16[N, 3]" },
    nodes: [
      { text: "a = Conv(x, kernel)", name: "first", attributes: [{ name: "kernel_shape", type: "ints", text: "[3, 3]" }, { name: "group", type: "int", text: "1", isDefault: true }] },
      { text: "b = Cast(a)", name: "conversion" },
      { text: "c = Conv(b)", name: "second", attributes: [{ name: "kernel_shape", type: "ints", text: "[1, 3]" }] },
      { text: "y = ConvTranspose(c)", name: "up" },
      { text: "unused = Neg(a)" },
    ],
  }),
);
const GRAPH = VIEW.graph(0);
const find = (query: string): number[] => new NodeSearch(GRAPH).find(query, 10).nodes;

describe("search", () => {
  it("reads words and terms", () => {
    expect(parseQuery('Conv kernel=3 type:float16 "two words"')).toEqual([
      { key: "", text: "conv" }, { key: "=kernel", text: "3" }, { key: "type", text: "float16" }, { key: "", text: "two words" },
    ]);
  });

  it.each([
    ["Conv kernel=3", [0]],
    ["Conv kernel=1x3", [2]],
    ["op:conv", [0, 2]],
    ["conv", [0, 2, 1, 3]], // those that are called so first
    ["type:float16", [1, 2, 3]],
    ["shape:1x3", [0, 1, 2]],
    ["shape:1,3,8,8", [0]],
    ["shape:[N,3]", [3]],
    ["name:sec", [2]],
    ["kernel", [0]],
    ["group=1", [0]],
    ["nothing", []],
    ["", []],
  ])("finds %s", (query, nodes) => {
    expect(find(query)).toEqual(nodes);
  });

  it("counts more than it lists", () => {
    expect(new NodeSearch(GRAPH).find("conv", 1)).toEqual({ nodes: [0], total: 4 });
  });
});

describe("paths", () => {
  it("reach producers and consumers", () => {
    expect([...reach(VIEW, GRAPH, 2, "producers")].sort()).toEqual([0, 1]);
    expect([...reach(VIEW, GRAPH, 0, "consumers")].sort()).toEqual([1, 2, 3, 4]);
  });

  it("lead from inputs to outputs", () => {
    expect(wayToBorder(VIEW, GRAPH, 2, "producers")).toEqual([2, 1, 0]);
    expect(wayToBorder(VIEW, GRAPH, 0, "consumers")).toEqual([0, 1, 2, 3]);
    expect(wayToBorder(VIEW, GRAPH, 4, "consumers")).toBeNull();
  });
});

describe("ONNX text", () => {
  it("has what the model states", () => {
    expect(nodeText(GRAPH, 0)).toBe("[first] a = Conv <kernel_shape = [3, 3]> (x, kernel)");
  });
});

describe("numbers of nodes", () => {
  it("are in groups of three digits", () => {
    expect([0, 1, 999, 1000, 99996, 1234567].map(countNodes)).toEqual(["0 nodes", "1 node", "999 nodes", "1,000 nodes", "99,996 nodes", "1,234,567 nodes"]);
  });
});
