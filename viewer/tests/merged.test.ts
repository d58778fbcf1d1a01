import { describe, expect, it } from "vitest";
import { Annotations } from "../src/model/annotations.ts";
import { DocumentView } from "../src/model/graph_view.ts";
import { mergeDocuments, sideChanges } from "../src/model/merged.ts";
import type { Face } from "../src/page/viewer.ts";
import { Viewer } from "../src/page/viewer.ts";
import type { Difference } from "../src/page_data.ts";
import { makeDocument, makePage } from "./model_builder.ts";

// Before: x -> Relu -> Dropout -> Add(w) -> y. After: x -> Relu -> Add(w) -> Neg -> y.
const BEFORE = makeDocument({ inputs: ["x"], outputs: ["y"], weights: ["w", "gone"], nodes: ["a = Relu(x)", "b = Dropout(a, gone)", "y = Add(b, w)"] });
const AFTER = makeDocument({ inputs: ["x"], outputs: ["y"], weights: ["w"], nodes: ["r = Relu(x)", "s = Add(r, w)", "y = Neg(s)"] });
const DIFFERENCE: Difference = {
  summary: [],
  graphs: [{ before: 0, after: 0, nodes: [[0, 0], [1, -1], [2, 1], [-1, 2]] }],
  changes: [{ kind: "node", change: "changed", before: { graph: 0, node: 2, value: -1, attribute: "" }, after: { graph: 0, node: 1, value: -1, attribute: "" }, text: "inputs", error: -1 }],
  firstDivergence: -1,
};

describe("merged models", () => {
  const { document, changes, translate } = mergeDocuments(BEFORE, AFTER, DIFFERENCE);
  const graph = new DocumentView(document).graph(0);

  it("have the nodes of both", () => {
    expect(Array.from({ length: graph.nodeCount }, (_, node) => graph.operator(node))).toEqual(["Relu", "Add", "Neg", "Dropout"]);
    expect(Object.fromEntries(changes)).toEqual({ "0:1": "changed", "0:2": "added", "0:3": "removed" });
    expect(graph.nodesBelow(0)).toBe(4);
  });

  it("connect removed nodes to the values that remain", () => {
    expect(graph.producer(graph.inputs(3)[0]!)).toBe(0); // Dropout reads the Relu of the second model
    expect(graph.producer(graph.outputs(3)[0]!)).toBe(3);
    expect(document.tensors[graph.tensor(graph.inputs(3)[1]!)]?.name).toBe("gone");
  });

  it("ask the server for a tensor of the model that has it", () => {
    const view = new DocumentView(document);
    const face: Face = { label: "both", document: view, annotations: new Annotations(view, changes), changes, side: 1, translate };
    const viewer = new Viewer({ ...makePage(BEFORE, AFTER), difference: DIFFERENCE, server: true }, [face]);
    const gone = graph.tensor(graph.inputs(3)[1]!);
    expect(viewer.tensorQuery(0)).toBe("document=1&tensor=0");
    expect(viewer.tensorQuery(gone)).toBe("document=0&tensor=1");
  });

  it("translate places of removed nodes", () => {
    expect(translate({ graph: 0, node: 1, value: -1, attribute: "" }, null)?.node).toBe(3);
    expect(translate({ graph: 0, node: 0, value: -1, attribute: "" }, { graph: 0, node: 0, value: -1, attribute: "" })?.node).toBe(0);
  });

  it("leave the data of both models as they are", () => {
    expect(AFTER.graphs[0]!.nodes.operator).toHaveLength(3);
    expect(AFTER.strings).not.toContain("Dropout");
  });

  it("have statuses of each side", () => {
    expect(Object.fromEntries(sideChanges(DIFFERENCE, "before", BEFORE))).toEqual({ "0:1": "removed", "0:2": "changed" });
    expect(Object.fromEntries(sideChanges(DIFFERENCE, "after", AFTER))).toEqual({ "0:1": "changed", "0:2": "added" });
  });
});

describe("removed nodes that nothing connects to the rest", () => {
  // Six constants are folded into the weight of one product each, which is in a scope.
  const products = (read: (i: number) => string): { text: string; scope: number }[] =>
    Array.from({ length: 6 }, (_, i) => ({ text: `y${i} = Mul(${i ? `y${i - 1}` : "x"}, ${read(i)})`, scope: 1 }));
  const weights = Array.from({ length: 6 }, (_, i) => `w${i}`);
  const common = { inputs: ["x"], outputs: ["y5"], weights, scopes: [[0, "name", "block"]] as [number, "name", string][] };
  const before = makeDocument({ ...common, nodes: [...weights.map((w, i) => `c${i} = Identity(${w})`), ...products((i) => `c${i}`)] });
  const after = makeDocument({ ...common, nodes: products((i) => `w${i}`) });
  const pairs = Array.from({ length: 12 }, (_, i): [number, number] => [i, i - 6]);
  const difference: Difference = { summary: [], graphs: [{ before: 0, after: 0, nodes: pairs.map(([a, b]) => [a, b < 0 ? -1 : b]) }], changes: [], firstDivergence: -1 };
  const graph = new DocumentView(mergeDocuments(before, after, difference).document).graph(0);

  it("are one box where their values went", () => {
    const gone = Array.from({ length: graph.nodeCount }, (_, node) => node).filter((node) => graph.operator(node) === "Identity");
    expect(gone).toHaveLength(6);
    expect(new Set(gone.map((node) => graph.scopePath(node).map((scope) => graph.scopeLabel(scope)).join("/")))).toEqual(new Set(["g/block/removed"]));
    expect(graph.nodesBelow(1)).toBe(12);
    expect(graph.nodesOf(0)).toEqual([]);
  });
});
