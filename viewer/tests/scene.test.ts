import { describe, expect, it } from "vitest";
import { labelsFor } from "../src/drawing/walker.ts";
import { layOut } from "../src/layout/layered.ts";
import { DocumentView } from "../src/model/graph_view.ts";
import { buildFrame } from "../src/scene/frame.ts";
import type { Frame } from "../src/scene/frame.ts";
import type { PlacedFrame } from "../src/scene/scene.ts";
import { runSteps, SceneBuilder } from "../src/scene/scene.ts";
import { allBoxes, boxAt, boxWithKey, inGraphOrder } from "../src/page/hit.ts";
import { makeDocument, seededRandom } from "./model_builder.ts";
import type { GraphText, NodeText } from "./model_builder.ts";

function frameOf(text: GraphText, scope = 0): Frame {
  const view = new DocumentView(makeDocument(text));
  return buildFrame(view, view.graph(0), scope);
}

function describeNets(frame: Frame): string[] {
  const label = (item: number): string => {
    const { kind, id } = frame.items[item]!;
    return kind === "node" ? frame.graph.operator(id) : kind === "scope" ? frame.graph.scopeLabel(id) : `${kind} ${frame.graph.valueName(id)}`;
  };
  return frame.nets.map((net) => `${label(net.source)} -> ${net.targets.map(label).join(", ")}`).sort();
}

function sceneOf(view: DocumentView, open: string[], graph = 0): PlacedFrame {
  return runSteps(new SceneBuilder(view, new Set(open)).build(graph), layOut);
}

const SCOPED: GraphText = {
  inputs: ["x", "mask"], outputs: ["y"], weights: ["w"],
  scopes: [[0, "name", "block"], [1, "name", "inner"]],
  nodes: [{ text: "a = Relu(x)" }, { text: "b = Mul(a, w)", scope: 1 }, { text: "c = Add(b, mask)", scope: 2 }, { text: "y = Neg(c)" }],
};

describe("frames", () => {
  it("have nodes, folded scopes, inputs and outputs", () => {
    expect(describeNets(frameOf(SCOPED))).toEqual(["Neg -> output y", "Relu -> block", "block -> Neg", "input mask -> block", "input x -> Relu"]);
  });

  it("of scopes have entries and exits", () => {
    expect(describeNets(frameOf(SCOPED, 1))).toEqual(["Mul -> inner", "entry a -> Mul", "entry mask -> inner", "inner -> exit c"]);
  });

  it("show weights and constants as lines, not as boxes", () => {
    const frame = frameOf({ inputs: ["x"], outputs: ["y"], weights: ["w"], nodes: ["c = Constant()", "t = Add(x, w)", "y = Mul(t, c)"], literals: { c: "2" } });
    expect(describeNets(frame)).toEqual(["Add -> Mul", "Mul -> output y", "input x -> Add"]);
  });

  it("show a constant that is an output as a box", () => {
    expect(describeNets(frameOf({ inputs: [], outputs: ["c"], nodes: ["c = Constant()"] }))).toEqual(["Constant -> output c"]);
  });

  it("show an input that is an output", () => {
    expect(describeNets(frameOf({ inputs: ["x"], outputs: ["x"], nodes: [] }))).toEqual(["input x -> output x"]);
  });

  it("show values that nothing defines", () => {
    expect(describeNets(frameOf({ inputs: [], outputs: ["y"], nodes: ["y = Relu(nowhere)"] }))).toEqual(["Relu -> output y", "input nowhere -> Relu"]);
  });

  it("name values that many boxes use", () => {
    const nodes = Array.from({ length: 8 }, (_, i) => `y${i} = Relu(mask)`);
    const frame = frameOf({ inputs: ["mask"], outputs: [], nodes });
    expect(frame.nets).toEqual([]);
    expect(frame.named.map((net) => net.targets.length)).toEqual([8]);
  });

  it("name long edges that are many, and draw the short ones of their values", () => {
    const chain = Array.from({ length: 24 }, (_, i) => (i < 12 ? `v${i + 1} = Relu(v${i})` : `v${i + 1} = Add(v${i}, v${24 - i})`));
    const frame = frameOf({ inputs: ["v0"], outputs: ["v24"], nodes: chain });
    expect(frame.named.length).toBeGreaterThanOrEqual(7);
    expect(frame.named.every((net) => net.targets.length === 1)).toBe(true);
    expect(frame.nets.filter((net) => frame.items[net.source]!.kind === "node" && net.targets.length).length).toBe(24);
  });

  it("draw few long edges", () => {
    const chain = Array.from({ length: 20 }, (_, i) => (i < 19 ? `v${i + 1} = Relu(v${i})` : "v20 = Add(v19, v1)"));
    expect(frameOf({ inputs: ["v0"], outputs: ["v20"], nodes: chain }).named).toEqual([]);
  });

  it("of cyclic models are drawn", () => {
    const view = new DocumentView(makeDocument({ inputs: [], outputs: ["a"], nodes: ["a = Relu(b)", "b = Relu(a)"] }));
    expect(sceneOf(view, []).boxes).toHaveLength(3);
  });
});

const LOOP = [
  { inputs: ["x"], outputs: ["y"], nodes: [{ text: "y = If(x)", attributes: [{ name: "then_branch", type: "graph", text: "", graphs: [1] }, { name: "else_branch", type: "graph", text: "", graphs: [2] }] }], literals: {} },
  { kind: "nested" as const, name: "then", inputs: [], outputs: ["t"], nodes: ["t = Relu(x)"], captured: { x: 0 }, owner: { graph: 0, node: 0, attribute: "then_branch" } },
  { kind: "nested" as const, name: "else", inputs: [], outputs: ["e"], nodes: ["e = Neg(x)"], captured: { x: 0 }, owner: { graph: 0, node: 0, attribute: "else_branch" } },
];

const PARALLEL: GraphText = {
  inputs: ["x"], outputs: ["y"], scopes: [[0, "name", "first"], [0, "name", "second"]],
  nodes: [
    { text: "a b c d = Split(x)", scope: 1 }, { text: "e = Concat(a, b, c)", scope: 2 }, { text: "f = Relu(d)" }, { text: "g = Neg(c)" }, { text: "y = Sum(e, f, g)" },
  ],
};

describe("scenes", () => {
  it("join at least three values between the same boxes", () => {
    const scene = sceneOf(new DocumentView(makeDocument(PARALLEL)), []);
    const bundles = scene.nets.filter((net) => net.values.length > 1);
    expect(bundles.map((net) => net.values.map((value) => scene.frame.graph.valueName(value)))).toEqual([["a", "b", "c"]]);
    expect(bundles.map((net) => net.targets.length)).toEqual([1]);
    expect(scene.nets.filter((net) => scene.frame.graph.valueName(net.value) === "c" && net.values.length === 1).map((net) => net.targets.length)).toEqual([1]);
    expect(labelsFor(scene, true).get(scene.nets.indexOf(bundles[0]!))?.text).toBe("3 values");
  });

  it("part them where a box is open", () => {
    const scene = sceneOf(new DocumentView(makeDocument(PARALLEL)), ["0/s2"]);
    expect(scene.nets.every((net) => net.values.length === 1)).toBe(true);
  });

  it("keep keys when boxes open, and hold what they opened", () => {
    const view = new DocumentView(makeDocument(SCOPED));
    const closed = [...allBoxes(sceneOf(view, []))].map(({ box }) => box.key);
    const opened = [...allBoxes(sceneOf(view, ["0/s1", "0/s2"]))].map(({ box }) => box.key);
    expect(closed).toEqual(["0/i0", "0/i1", "0/s1", "0/n0", "0/n3", "0/o0"].map((key) => expect.stringMatching(key.replace(/\d+$/, "\\d+")) as string));
    for (const key of closed) expect(opened).toContain(key);
    expect(opened).toContain("0/n1");
    expect(opened).toContain("0/n2");
  });

  it("keep the order of boxes when one of them opens", () => {
    const random = seededRandom(7);
    const nodes: NodeText[] = Array.from({ length: 90 }, (_, i) => ({ text: `v${i} = Op${i}(${[1, 2].map(() => `v${Math.floor(random() * i) - 1}`).map((v) => (v.includes("-") ? "x" : v)).join(", ")})`, scope: 1 + Math.floor(i / 5) }));
    const scopes = Array.from({ length: 18 }, (_, i): [number, "name", string] => [0, "name", `s${i}`]);
    const view = new DocumentView(makeDocument({ inputs: ["x"], outputs: ["v89"], scopes, nodes }));
    const open = new Set<string>();
    const builder = new SceneBuilder(view, open);
    const before = runSteps(builder.build(0), layOut);
    for (const opened of before.boxes.filter((box) => box.canOpen)) {
      open.add(opened.key);
      const after = new Map(runSteps(builder.build(0), layOut).boxes.map((box) => [box.key, box]));
      for (const a of before.boxes) {
        for (const b of before.boxes) {
          const isLeft = Math.abs(a.y - b.y) < 1 && a.x < b.x;
          if (isLeft) expect(after.get(a.key)!.x, `${a.key} left of ${b.key} with ${opened.key} open`).toBeLessThan(after.get(b.key)!.x);
        }
      }
      open.delete(opened.key);
    }
  });

  it("continue edges through the border of an open box", () => {
    const scene = sceneOf(new DocumentView(makeDocument(SCOPED)), ["0/s1"]);
    const box = boxWithKey(scene, "0/s1")!;
    const inner = box.box.contents[0]!;
    scene.nets.forEach((net, n) => {
      const target = net.targets.findIndex((item) => scene.boxes[item] === box.box);
      if (target < 0) return;
      const port = inner.boxes.find(({ item }) => item.kind === "entry" && item.id === net.value)!;
      const route = scene.routes[n]![target]!;
      expect(route[route.length - 2]).toBeCloseTo(box.x + inner.x + port.x);
    });
  });

  it("show branches side by side with the values that they capture", () => {
    const scene = sceneOf(new DocumentView(makeDocument(...LOOP)), ["0/n0"]);
    const box = boxWithKey(scene, "0/n0")!.box;
    expect(box.contents.map((content) => content.title)).toEqual(["then_branch", "else_branch"]);
    expect(box.contents.map((content) => describeNets(content.frame))).toEqual([["Relu -> output t", "entry x -> Relu"], ["Neg -> output e", "entry x -> Neg"]]);
    expect(box.contents[0]!.x + box.contents[0]!.width).toBeLessThanOrEqual(box.contents[1]!.x);
  });

  it("show captured values as inputs of a graph that is shown by itself", () => {
    const scene = sceneOf(new DocumentView(makeDocument(...LOOP)), [], 1);
    expect(scene.boxes.map((box) => box.item.kind)).toEqual(["node", "input", "output"]);
  });

  it("open the body of a function in its call", () => {
    const document = makeDocument({ inputs: ["x"], outputs: ["y"], nodes: [{ text: "y = F(x)", body: 1 }] }, { kind: "function", inputs: ["a"], outputs: ["b"], nodes: ["b = Tanh(a)"] });
    const scene = sceneOf(new DocumentView(document), ["0/n0"]);
    expect(boxWithKey(scene, "0/n0/g1/n0")?.box.card.title).toBe("Tanh");
  });

  it("fill the attributes of a call in", () => {
    const document = makeDocument(
      { inputs: ["x"], outputs: ["y"], nodes: [{ text: "y = F(x)", body: 1, attributes: [{ name: "slope", type: "float", text: "0.25" }] }] },
      { kind: "function", inputs: ["a"], outputs: ["b"], nodes: [{ text: "b = LeakyRelu(a)", attributes: [{ name: "alpha", type: "reference", text: "slope" }, { name: "beta", type: "reference", text: "other" }] }] },
    );
    document.functions.push({ graph: 1, domain: "", name: "F", overload: "", attributes: [["slope", ""], ["other", "7"]], documentation: "" });
    const box = boxWithKey(sceneOf(new DocumentView(document), ["0/n0"]), "0/n0/g1/n0")!.box;
    expect(box.card.lines.map((line) => line.text)).toEqual(["alpha 0.25, beta 7"]);
  });

  it("lead from the outputs of a training step back to its state", () => {
    const document = makeDocument({ inputs: ["x"], outputs: ["y"], nodes: ["y = Relu(x)"] }, { kind: "algorithm", inputs: ["g"], outputs: ["w_next"], weights: ["w"], nodes: ["w_next = Sub(w, g)"] });
    document.training = [{ initialization: -1, algorithm: 1, initializationBindings: [], updateBindings: [["w", "w_next"]] }];
    const scene = sceneOf(new DocumentView(document), [], 1);
    expect(describeNets(scene.frame)).toEqual(["Sub -> output w_next", "input g -> Sub", "input w -> Sub", "output w_next -> input w"]);
  });

  it("draw the state above what replaces it", () => {
    const document = makeDocument({ inputs: ["x"], outputs: ["y"], nodes: ["y = Relu(x)"] }, { kind: "algorithm", inputs: ["g"], outputs: ["w_next"], weights: ["w"], nodes: ["t = Neg(g)", "w_next = Sub(w, t)"] });
    document.training = [{ initialization: -1, algorithm: 1, initializationBindings: [], updateBindings: [["w", "w_next"]] }];
    const scene = sceneOf(new DocumentView(document), [], 1);
    const top = (title: string): number => scene.boxes.find((box) => box.card.title === title)!.y;
    expect(top("w")).toBeLessThan(top("Sub"));
    expect(top("w_next")).toBeGreaterThan(top("Sub"));
    const back = scene.routes[scene.nets.findIndex((net) => net.isBack)]![0]!;
    expect(back[1]).toBeGreaterThan(back[back.length - 1]!);
  });

  it("have the outputs of a function below its nodes, so that no line to the border crosses a box", () => {
    const document = makeDocument({ inputs: ["x"], outputs: ["p", "q"], nodes: [{ text: "p q = F(x)", body: 1 }] }, { kind: "function", inputs: ["a"], outputs: ["b", "d"], nodes: ["b = Tanh(a)", "c = Neg(b)", "d = Exp(c)"] });
    const [inner] = boxWithKey(sceneOf(new DocumentView(document), ["0/n0"]), "0/n0")!.box.contents;
    const bottoms = inner!.boxes.filter((box) => box.item.kind === "node").map((box) => box.y + box.height);
    for (const output of inner!.boxes.filter((box) => box.item.kind === "output")) expect(output.y).toBeGreaterThan(Math.max(...bottoms));
  });

  it("stop at functions that call themselves", () => {
    const document = makeDocument({ inputs: ["x"], outputs: ["y"], nodes: [{ text: "y = F(x)", body: 0 }] });
    const open = Array.from({ length: 80 }, (_, depth) => `0${"/n0/g0".repeat(depth)}/n0`);
    expect(boxWithKey(sceneOf(new DocumentView(document), open), "0/n0")).not.toBeNull();
  });

  it("are listed in the order of the graph, scopes by their first nodes", () => {
    const text: GraphText = { inputs: ["x"], outputs: ["y"], scopes: [[0, "name", "late"]], nodes: ["a = Relu(x)", "b = Exp(a)", { text: "c = Neg(b)", scope: 1 }, "y = Abs(c)"] };
    const scene = sceneOf(new DocumentView(makeDocument(text)), ["0/s1"]);
    expect(Array.from(allBoxes(scene, inGraphOrder), ({ box }) => box.card.title)).toEqual(["x", "Relu", "Exp", "late", "Neg", "Abs", "y"]);
  });

  it("find the innermost box at a point", () => {
    const scene = sceneOf(new DocumentView(makeDocument(SCOPED)), ["0/s1"]);
    const inner = boxWithKey(scene, "0/n1")!;
    expect(boxAt(scene, inner.x + 2, inner.y + 2)?.box.key).toBe("0/n1");
    expect(boxAt(scene, -50, -50)).toBeNull();
  });
});
