// Two models as one: the second, with the nodes that only the first has where their values belong.

import type { Change, Difference, Graph, ModelDocument, Place } from "../page_data.ts";

export interface Merged {
  document: ModelDocument;
  changes: Map<string, Change>; // by "graph:node"
  translate: (before: Place | null, after: Place | null) => Place | null;
}

export function mergeDocuments(before: ModelDocument, after: ModelDocument, difference: Difference): Merged {
  const document: ModelDocument = { ...after, strings: [...after.strings], tensors: [...after.tensors, ...before.tensors], graphs: [...after.graphs] };
  const changes = new Map<string, Change>();
  const removed = new Map<string, string>(); // nodes of the first model to nodes of the merged one
  for (const pair of difference.graphs) {
    if (pair.after < 0 || pair.before < 0) continue;
    const merger = new GraphMerger(before, document, after.tensors.length, before.graphs[pair.before]!, after.graphs[pair.after]!, pair.nodes);
    document.graphs[pair.after] = merger.merge();
    for (const [old, node] of merger.added) {
      changes.set(`${pair.after}:${node}`, "removed");
      removed.set(`${pair.before}:${old}`, `${pair.after}:${node}`);
    }
    markAdded(after.graphs[pair.after]!, pair, changes);
  }
  for (const entry of difference.changes) {
    const place = entry.after;
    if (entry.change !== "changed" || !place || place.node < 0) continue;
    changes.set(`${place.graph}:${place.node}`, "changed");
  }
  const translate = (old: Place | null, now: Place | null): Place | null => {
    if (now && now.node >= 0) return now;
    const target = old && removed.get(`${old.graph}:${old.node}`);
    if (!target) return now;
    const [graph, node] = target.split(":").map(Number) as [number, number];
    return { ...old, graph, node };
  };
  return { document, changes, translate };
}

/** Statuses of the nodes of one side, which is shown by itself. */
export function sideChanges(difference: Difference, side: "before" | "after", document: ModelDocument): Map<string, Change> {
  const changes = new Map<string, Change>();
  for (const pair of difference.graphs) {
    const graph = document.graphs[pair[side]];
    if (!graph) continue;
    const matched = new Set(pair.nodes.filter(([a, b]) => a >= 0 && b >= 0).map(([a, b]) => (side === "before" ? a : b)));
    for (let node = 0; node < graph.nodes.operator.length; node++) {
      if (!matched.has(node)) changes.set(`${pair[side]}:${node}`, side === "before" ? "removed" : "added");
    }
  }
  for (const entry of difference.changes) {
    const place = entry[side];
    if (entry.change === "changed" && place && place.node >= 0) changes.set(`${place.graph}:${place.node}`, "changed");
  }
  return changes;
}

function markAdded(graph: Graph, pair: Difference["graphs"][number], changes: Map<string, Change>): void {
  const matched = new Set(pair.nodes.filter(([before]) => before >= 0).map(([, after]) => after));
  for (let node = 0; node < graph.nodes.operator.length; node++) if (!matched.has(node)) changes.set(`${pair.after}:${node}`, "added");
}

class GraphMerger {
  readonly added: [before: number, merged: number][] = [];
  private readonly graph: Graph;
  private readonly values = new Map<number, number>(); // of the first model to the merged one
  private readonly names = new Map<string, number>();
  private readonly match = new Map<number, number>();

  constructor(private readonly before: ModelDocument, private readonly document: ModelDocument, private readonly tensors: number, private readonly old: Graph, after: Graph, nodes: [number, number][]) {
    this.graph = cloneColumns(after);
    for (const [a, b] of nodes) if (a >= 0 && b >= 0) this.match.set(a, b);
    after.values.name.forEach((name, value) => this.names.set(document.strings[name]!, value));
  }

  merge(): Graph {
    this.mapMatched();
    for (let node = 0; node < this.old.nodes.operator.length; node++) if (!this.match.has(node)) this.addNode(node);
    const { scopes, nodes } = this.graph;
    for (const [, node] of this.added) {
      for (let scope = nodes.scope[node]!; scope >= 0; scope = scopes.parent[scope]!) scopes.nodes[scope]!++;
    }
    return this.graph;
  }

  /** Outputs of matched nodes are the same values, whatever they are called. */
  private mapMatched(): void {
    for (const [a, b] of this.match) {
      const [from, to] = [slice(this.old.nodes.outputs, this.old.nodes.outputEnds, a), slice(this.graph.nodes.outputs, this.graph.nodes.outputEnds, b)];
      from.forEach((value, i) => {
        if (value >= 0 && (to[i] ?? -1) >= 0) this.values.set(value, to[i]!);
      });
    }
  }

  private addNode(node: number): void {
    const { nodes, values } = this.graph;
    const index = nodes.operator.length;
    this.added.push([node, index]);
    const inputs = slice(this.old.nodes.inputs, this.old.nodes.inputEnds, node).map((value) => this.valueOf(value, false));
    const outputs = slice(this.old.nodes.outputs, this.old.nodes.outputEnds, node).map((value) => this.valueOf(value, true));
    for (const column of ["operator", "domain", "overload", "name"] as const) nodes[column].push(this.text(this.old.nodes[column][node]!));
    nodes.body.push(-1);
    nodes.scope.push(this.scopeNear(inputs));
    nodes.inputs.push(...inputs);
    nodes.inputEnds.push(nodes.inputs.length);
    nodes.outputs.push(...outputs);
    nodes.outputEnds.push(nodes.outputs.length);
    for (const value of outputs) if (value >= 0) values.producer[value] = index;
    const attributes = this.old.nodes.attributes[node];
    if (attributes) nodes.attributes[index] = attributes.map(({ name, type, text }) => ({ name, type, text }));
    const names = this.old.nodes.inputNames[node];
    if (names) nodes.inputNames[index] = names;
  }

  /** A node that is gone is shown where its inputs come from. */
  private scopeNear(inputs: number[]): number {
    for (const value of inputs) {
      const producer = value >= 0 ? this.graph.values.producer[value]! : -1;
      if (producer >= 0) return this.graph.nodes.scope[producer]!;
    }
    return 0;
  }

  private valueOf(value: number, isNew: boolean): number {
    if (value < 0) return -1;
    const known = this.values.get(value);
    if (known !== undefined) return known;
    const name = this.before.strings[this.old.values.name[value]!]!;
    const same = isNew || this.old.values.producer[value]! >= 0 ? undefined : this.names.get(name);
    const result = same ?? this.addValue(value);
    this.values.set(value, result);
    return result;
  }

  private addValue(value: number): number {
    const { values } = this.graph;
    const index = values.name.length;
    const tensor = this.old.values.tensor[value]!;
    values.name.push(this.text(this.old.values.name[value]!));
    values.type.push(this.text(this.old.values.type[value]!));
    values.source.push(this.old.values.source[value]!);
    values.tensor.push(tensor < 0 ? -1 : tensor + this.tensors);
    values.captured.push(-1);
    values.producer.push(-1);
    const literal = this.old.values.literal[value];
    if (literal !== undefined) values.literal[index] = literal;
    return index;
  }

  private text(index: number): number {
    const text = this.before.strings[index]!;
    return text ? this.document.strings.push(text) - 1 : 0;
  }
}

function slice(items: number[], ends: number[], owner: number): number[] {
  return items.slice(owner ? ends[owner - 1]! : 0, ends[owner]);
}

/** A copy whose columns can grow. */
function cloneColumns(graph: Graph): Graph {
  const copy = <T extends object>(columns: T): T =>
    Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, Array.isArray(column) ? [...(column as unknown[])] : { ...(column as object) }])) as T;
  return { ...graph, nodes: copy(graph.nodes), values: copy(graph.values), scopes: copy(graph.scopes) };
}
