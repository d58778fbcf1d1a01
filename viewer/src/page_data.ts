// The data of a page: what Python writes and the viewer reads. `index` arrays hold positions in `strings` unless said otherwise;
// position 0 is the empty string. Columns of one record kind have equal lengths. -1 stands for "none".

export interface PageData {
  format: 1;
  title: string;
  documents: ModelDocument[]; // one; two for a difference (before, after)
  difference: Difference | null;
  server: boolean; // a local server answers requests for tensors and extraction (`api/…`)
}

export interface ModelDocument {
  source: string; // file name, or "" for a model in memory
  kind: "model" | "operator set" | "tensor" | "broken";
  strings: string[];
  properties: [label: string, value: string][]; // IR version, producer, domain, model version, sizes, counts
  imports: [domain: string, version: string][];
  metadata: [key: string, value: string][];
  documentation: string; // Markdown, not sanitised
  graphs: Graph[]; // [0] is the main graph; nested graphs, function bodies and training graphs follow
  functions: FunctionRecord[];
  operatorSchemas: OperatorRecord[]; // operators of an operator-set document
  tensors: TensorRecord[];
  training: TrainingRecord[];
  configurations: [name: string, devices: string][]; // device configurations
  findings: Finding[];
  profile: Profile | null;
  quantization: Quantization | null;
}

export type GraphKind = "main" | "nested" | "function" | "initialization" | "algorithm";

export interface Graph {
  kind: GraphKind;
  name: string;
  documentation: string;
  metadata: [string, string][];
  owner: { graph: number; node: number; attribute: string } | null; // of a nested graph
  inputs: number[]; // values
  outputs: number[]; // values
  nodes: NodeColumns;
  values: ValueColumns;
  scopes: ScopeColumns; // scope 0 is the whole graph
}

export interface NodeColumns {
  operator: number[]; // index
  domain: number[]; // index
  overload: number[]; // index
  name: number[]; // index
  scope: number[]; // scope that holds the node
  body: number[]; // function that the node calls, or -1
  inputs: number[]; // values of all nodes, one after the other; -1 for an input that is left out
  inputEnds: number[]; // end of each node's inputs
  outputs: number[]; // values; -1 for an output that is left out
  outputEnds: number[];
  inputNames: { [node: number]: string[] }; // formal names where the schema is known
  attributes: { [node: number]: Attribute[] };
  notes: { [node: number]: NodeNotes }; // documentation, metadata, device configurations
}

export interface Attribute {
  name: string;
  type: string; // "int", "floats", "tensor", "graph", "type_proto", "reference" ...
  text: string; // short, complete for scalars; cut with "…" for long lists
  tensors?: number[]; // of TensorRecord
  graphs?: number[];
  isDefault?: boolean; // the schema's default, not written in the model
}

export interface NodeNotes {
  documentation?: string;
  metadata?: [string, string][];
  devices?: string[]; // device configurations and sharding, one line each
}

export interface ValueColumns {
  name: number[]; // index
  type: number[]; // index: "float32[N, 3, 224, 224]", "" where unknown
  source: number[]; // 0 unknown, 1 declared by the model, 2 inferred
  tensor: number[]; // initializer, or -1
  captured: number[]; // value of the enclosing graph that this value stands for, or -1
  producer: number[]; // node, or -1
  literal: { [value: number]: string }; // small constants, drawn inside the node
  notes: { [value: number]: { documentation?: string; metadata?: [string, string][]; quantization?: string } };
}

export type ScopeKind = "graph" | "name" | "namespace" | "repetition" | "part";

export interface ScopeColumns {
  parent: number[]; // scope; -1 for scope 0
  kind: ScopeKind[];
  label: number[]; // index
  count: number[]; // repetition: number of equal blocks, which are its child scopes; else 1
  nodes: number[]; // number of nodes below, nested scopes included
}

export interface FunctionRecord {
  graph: number;
  domain: string;
  name: string;
  overload: string;
  attributes: [name: string, defaultText: string][]; // defaultText "" where required
  documentation: string;
}

export interface OperatorRecord {
  domain: string;
  name: string;
  sinceVersion: number;
  status: string;
  documentation: string;
  function: number; // of functions, or -1
}

export interface TensorRecord {
  name: string;
  type: string; // "float32"
  shape: number[];
  bytes: number;
  location: string; // external file with offset, "" inside the model
  sparse: boolean;
  preview: string; // first elements
  statistics: {
    minimum: number; maximum: number; mean: number; deviation: number;
    zeros: number; notFinite: number; histogram: number[];
  } | null; // null where not computed (large models: asked of the server)
  picture: { width: number; height: number; pixels: string } | null; // base64 of 8-bit grey values
  data: string | null; // base64 of a .npy file; only with `--weights`
}

export interface TrainingRecord {
  initialization: number; // graph, or -1
  algorithm: number;
  initializationBindings: [target: string, source: string][];
  updateBindings: [target: string, source: string][];
}

export interface Place {
  graph: number; // -1 for the model itself
  node: number; // or -1
  value: number; // or -1
  attribute: string;
}

export interface Finding {
  severity: "error" | "warning" | "note";
  code: string;
  message: string;
  clause: string;
  cure: string;
  place: Place;
}

export interface Profile {
  unit: "seconds";
  peakFlops: number; // of one core, 0 where unknown
  nodes: { graph: number[]; node: number[]; seconds: number[]; flops: number[]; bytes: number[]; engine: ("native" | "reference")[]; region: number[] };
  regions: { name: string; graph: number; nodes: number[] }[]; // nodes of a graph that the compiler fused
  memory: { step: string; bytes: number; values: string[] }[]; // live bytes over the run; values that make the peak
}

export interface Quantization {
  scheme: string;
  measure: "final" | "layers"; // whether shares are those of the final error, or of the sum of the layers' own errors
  outputs: [name: string, decibels: number | null][]; // null: without error
  // a row for each node of a quantized layer; decibels are null where not measured, bits 0 where all layers have as many
  nodes: { graph: number[]; node: number[]; layer: string[]; share: number[]; alone: (number | null)[]; own: (number | null)[]; bits: number[] };
  kept: { graph: number[]; node: number[]; why: string[] }; // layers that stay as they are
}

export type Change = "equal" | "changed" | "added" | "removed";

export interface Difference {
  summary: string[];
  // for each pair of graphs: the node of the other document that matches, or -1
  graphs: { before: number; after: number; nodes: [before: number, after: number][]; }[];
  changes: {
    kind: "node" | "value" | "tensor" | "attribute" | "property";
    change: Change;
    before: Place | null;
    after: Place | null;
    text: string; // "kernel_shape: [3, 3] -> [5, 5]"
    error: number; // largest relative error of a weight or of a value that was run; -1 where not measured
  }[];
  firstDivergence: number; // of changes, or -1
}
