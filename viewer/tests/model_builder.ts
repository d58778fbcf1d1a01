// Page data of small hand-made models.

import type { Graph, GraphKind, ModelDocument, PageData, ScopeKind } from "../src/page_data.ts";

export interface NodeText {
  text: string; // "y z = Add(x, w)"
  name?: string;
  scope?: number;
  body?: number;
  attributes?: Graph["nodes"]["attributes"][number];
}

export interface GraphText {
  kind?: GraphKind;
  name?: string;
  inputs: string[];
  outputs: string[];
  nodes: (string | NodeText)[];
  weights?: string[];
  types?: Record<string, string>;
  literals?: Record<string, string>;
  captured?: Record<string, number>; // by name: values of the enclosing graph
  scopes?: [parent: number, kind: ScopeKind, label: string, count?: number][]; // after the graph's own
  owner?: Graph["owner"];
}

export function makeDocument(...graphs: GraphText[]): ModelDocument {
  const document: ModelDocument = {
    source: "model.onnx", kind: "model", strings: [""], properties: [], imports: [], metadata: [], documentation: "", graphs: [], functions: [],
    operatorSchemas: [], tensors: [], training: [], configurations: [], findings: [], profile: null, quantization: null,
  };
  for (const text of graphs) document.graphs.push(makeGraph(document, text));
  return document;
}

export function makePage(...documents: ModelDocument[]): PageData {
  return { format: 1, title: "a model", documents, difference: null, server: false };
}

function makeGraph(document: ModelDocument, text: GraphText): Graph {
  const intern = (string: string): number => (string ? document.strings.push(string) - 1 : 0);
  const values = new Map<string, number>();
  const graph: Graph = {
    kind: text.kind ?? "main", name: text.name ?? "g", documentation: "", metadata: [], owner: text.owner ?? null, inputs: [], outputs: [],
    nodes: { operator: [], domain: [], overload: [], name: [], scope: [], body: [], inputs: [], inputEnds: [], outputs: [], outputEnds: [], inputNames: {}, attributes: {}, notes: {} },
    values: { name: [], type: [], source: [], tensor: [], captured: [], producer: [], literal: {}, notes: {} },
    scopes: { parent: [-1], kind: ["graph"], label: [intern(text.name ?? "g")], count: [1], nodes: [0] },
  };
  const value = (name: string): number => {
    if (!name || name === "_") return -1;
    let index = values.get(name);
    if (index !== undefined) return index;
    index = graph.values.name.push(intern(name)) - 1;
    values.set(name, index);
    graph.values.type.push(intern(text.types?.[name] ?? ""));
    graph.values.source.push(0);
    graph.values.tensor.push(-1);
    graph.values.captured.push(text.captured?.[name] ?? -1);
    graph.values.producer.push(-1);
    return index;
  };
  for (const name of text.weights ?? []) {
    graph.values.tensor[value(name)] = document.tensors.push({ name, type: "float32", shape: [4], bytes: 16, location: "", sparse: false, preview: "", statistics: null, picture: null, data: null }) - 1;
  }
  graph.inputs = text.inputs.map(value);
  for (const [parent, kind, label, count] of text.scopes ?? []) {
    graph.scopes.parent.push(parent);
    graph.scopes.kind.push(kind);
    graph.scopes.label.push(intern(label));
    graph.scopes.count.push(count ?? 1);
    graph.scopes.nodes.push(0);
  }
  text.nodes.forEach((entry, n) => {
    const node: NodeText = typeof entry === "string" ? { text: entry } : entry;
    const [, outputs, operator, inputs] = /^(.*?)\s*=\s*(\w+)\((.*)\)$/.exec(node.text)!;
    const { nodes } = graph;
    nodes.operator.push(intern(operator!));
    nodes.domain.push(0);
    nodes.overload.push(0);
    nodes.name.push(intern(node.name ?? ""));
    nodes.scope.push(node.scope ?? 0);
    nodes.body.push(node.body ?? -1);
    nodes.inputs.push(...(inputs ? inputs.split(/,\s*/).map(value) : []));
    nodes.inputEnds.push(nodes.inputs.length);
    for (const output of outputs!.split(/\s+/).map(value)) {
      nodes.outputs.push(output);
      if (output >= 0) graph.values.producer[output] = n;
    }
    nodes.outputEnds.push(nodes.outputs.length);
    if (node.attributes) nodes.attributes[n] = node.attributes;
    for (let scope = node.scope ?? 0; scope >= 0; scope = graph.scopes.parent[scope]!) graph.scopes.nodes[scope]!++;
  });
  for (const [name, literal] of Object.entries(text.literals ?? {})) graph.values.literal[value(name)] = literal;
  graph.outputs = text.outputs.map(value);
  return graph;
}

/** Numbers between 0 and 1 that are the same in every run. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
