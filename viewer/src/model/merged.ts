// Two models as one: the second, with the nodes that only the first has where their values belong.

import type { Change, Difference, Graph, ModelDocument, Place } from "../page_data.ts";

const UNCONNECTED = 5; // removed nodes that are folded into one box

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
    this.placeByConsumers();
    this.foldUnconnected();
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

  /** A node that is gone is shown where its inputs come from, if any is computed. */
  private scopeNear(inputs: number[]): number {
    for (const value of inputs) {
      const producer = value >= 0 ? this.graph.values.producer[value]! : -1;
      if (producer >= 0) return this.graph.nodes.scope[producer]!;
    }
    return -1;
  }

  /** Others are shown where their outputs went. */
  private placeByConsumers(): void {
    const { nodes } = this.graph;
    const merged = new Map([...this.match, ...this.added]);
    const consumers = new Map<number, number>(); // the first one of each value
    for (let node = this.old.nodes.operator.length - 1; node >= 0; node--) {
      for (const value of slice(this.old.nodes.inputs, this.old.nodes.inputEnds, node)) consumers.set(value, merged.get(node)!);
    }
    for (const [node, index] of [...this.added].reverse()) {
      if (nodes.scope[index]! >= 0) continue;
      const readers = slice(this.old.nodes.outputs, this.old.nodes.outputEnds, node).map((value) => consumers.get(value));
      nodes.scope[index] = Math.max(0, ...readers.map((reader) => (reader === undefined ? 0 : nodes.scope[reader]!)));
    }
  }

  /** Where many nodes of a scope are gone that nothing connects to the rest, such as folded constants, they are one box. */
  private foldUnconnected(): void {
    const { nodes, scopes } = this.graph;
    const byScope = new Map<number, number[]>();
    for (const node of this.unconnected()) {
      const scope = nodes.scope[node]!;
      byScope.set(scope, [...(byScope.get(scope) ?? []), node]);
    }
    for (const [parent, gone] of byScope) {
      if (gone.length < UNCONNECTED) continue;
      const scope = scopes.parent.push(parent) - 1;
      scopes.kind.push("part");
      scopes.label.push(this.document.strings.push("removed") - 1);
      scopes.count.push(1);
      scopes.nodes.push(0);
      for (const node of gone) nodes.scope[node] = scope;
    }
  }

  /** Added nodes that neither read a value of the second model other than a weight, nor are connected to one that does. */
  private unconnected(): number[] {
    const { nodes, values } = this.graph;
    const first = nodes.operator.length - this.added.length;
    const group = Array.from(nodes.operator, (_, node) => node); // another node of the same group; a root is its own
    const rootOf = (node: number): number => {
      while (group[node] !== node) node = group[node] = group[group[node]!]!;
      return node;
    };
    const connected = new Set<number>();
    const reading: number[] = [];
    for (const [, node] of this.added) {
      for (const value of slice(nodes.inputs, nodes.inputEnds, node)) {
        const producer = value < 0 ? -1 : values.producer[value]!;
        if (producer >= first) group[rootOf(node)] = rootOf(producer);
        else if (producer >= 0 || (value >= 0 && values.tensor[value]! < 0)) reading.push(node);
      }
    }
    for (const node of reading) connected.add(rootOf(node));
    return this.added.map(([, node]) => node).filter((node) => !connected.has(rootOf(node)));
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
