// Typed access to the columns of one graph.

import type { Attribute, Graph, ModelDocument, NodeNotes, ScopeKind } from "../page_data.ts";

/** Lists of all owners, one after the other: the list of `owner` is items[ends[owner - 1]] to items[ends[owner]]. */
class Lists {
  constructor(private readonly items: ArrayLike<number>, private readonly ends: ArrayLike<number>) {}

  of(owner: number): number[] {
    const result: number[] = [];
    for (let i = owner ? this.ends[owner - 1]! : 0; i < this.ends[owner]!; i++) result.push(this.items[i]!);
    return result;
  }

  /** Owners by item: the inverse, for items 0 to `count` - 1. */
  invert(count: number): Lists {
    const ends = new Int32Array(count);
    for (let i = 0; i < this.items.length; i++) if (this.items[i]! >= 0) ends[this.items[i]!]!++;
    for (let i = 1; i < count; i++) ends[i]! += ends[i - 1]!;
    const owners = new Int32Array(count ? ends[count - 1]! : 0);
    const place = ends.slice();
    for (let owner = this.ends.length - 1; owner >= 0; owner--) {
      for (let i = this.ends[owner]! - 1; i >= (owner ? this.ends[owner - 1]! : 0); i--) {
        const item = this.items[i]!;
        if (item >= 0) owners[--place[item]!] = owner;
      }
    }
    return new Lists(owners, ends);
  }

  /** Owners by item, where every owner has one item. */
  static group(items: number[], count: number): Lists {
    return new Lists(items, items.map((_, i) => i + 1)).invert(count);
  }
}

export class GraphView {
  readonly document: ModelDocument;
  readonly data: Graph;
  readonly nodeCount: number;
  readonly valueCount: number;
  private readonly inputLists: Lists;
  private readonly outputLists: Lists;
  private readonly consumerLists: Lists;
  private readonly scopeNodes: Lists;
  private readonly scopeChildren: Lists;
  private firstNodes: Int32Array | null = null; // by scope
  private readonly outputSet: Set<number>;
  /** Values that a training step replaces, with the outputs that they are replaced by. */
  readonly states: Map<number, number>;

  constructor(readonly owner: DocumentView, readonly index: number) {
    this.document = owner.data;
    this.data = owner.data.graphs[index]!;
    const { nodes, values, scopes } = this.data;
    this.nodeCount = nodes.operator.length;
    this.valueCount = values.name.length;
    this.inputLists = new Lists(nodes.inputs, nodes.inputEnds);
    this.outputLists = new Lists(nodes.outputs, nodes.outputEnds);
    this.consumerLists = this.inputLists.invert(this.valueCount);
    this.scopeNodes = Lists.group(nodes.scope, scopes.parent.length);
    this.scopeChildren = Lists.group(scopes.parent, scopes.parent.length);
    this.outputSet = new Set(this.data.outputs);
    this.states = this.findStates();
  }

  private findStates(): Map<number, number> {
    const bindings = this.document.training.filter(({ algorithm }) => algorithm === this.index).flatMap((record) => record.updateBindings);
    const states = new Map<number, number>();
    if (!bindings.length) return states;
    const values = new Map(this.data.values.name.map((name, value) => [this.text(name), value]));
    for (const [target, source] of bindings) {
      const [state, output] = [values.get(target), values.get(source)];
      if (state !== undefined && output !== undefined) states.set(state, output);
    }
    return states;
  }

  text(index: number): string { return this.document.strings[index] ?? ""; }
  operator(node: number): string { return this.text(this.data.nodes.operator[node]!); }
  domain(node: number): string { return this.text(this.data.nodes.domain[node]!); }
  nodeName(node: number): string { return this.text(this.data.nodes.name[node]!); }
  body(node: number): number { return this.data.nodes.body[node]!; }
  inputs(node: number): number[] { return this.inputLists.of(node); }
  outputs(node: number): number[] { return this.outputLists.of(node); }
  inputNames(node: number): string[] { return this.data.nodes.inputNames[node] ?? []; }
  attributes(node: number): Attribute[] { return this.data.nodes.attributes[node] ?? []; }
  nodeNotes(node: number): NodeNotes { return this.data.nodes.notes[node] ?? {}; }
  scopeOf(node: number): number { return this.data.nodes.scope[node]!; }

  valueName(value: number): string { return this.text(this.data.values.name[value]!); }
  type(value: number): string { return this.text(this.data.values.type[value]!); }
  tensor(value: number): number { return this.data.values.tensor[value]!; }
  producer(value: number): number { return this.data.values.producer[value]!; }
  captured(value: number): number { return this.data.values.captured[value]!; }
  literal(value: number): string | undefined { return this.data.values.literal[value]; }
  isOutput(value: number): boolean { return this.outputSet.has(value); }
  /** Nodes with the value among their inputs; a node that has it twice is there twice. */
  consumers(value: number): number[] { return this.consumerLists.of(value); }

  /** The value itself, or what it stands for in an enclosing graph. */
  resolve(value: number): { graph: GraphView; value: number } {
    const captured = this.captured(value);
    if (captured < 0 || !this.data.owner) return { graph: this, value };
    return this.owner.graph(this.data.owner.graph).resolve(captured);
  }

  /** Whether a node is shown as a line of the nodes that use it. */
  isInlineNode(node: number): boolean {
    if (this.operator(node) !== "Constant") return false;
    return this.outputs(node).every((value) => value >= 0 && !this.isOutput(value) && this.isUsed(value));
  }

  private isUsed(value: number): boolean {
    return this.consumers(value).length > 0 || this.owner.capturers(this, value).length > 0;
  }

  /** Whether the value is shown as a line of the nodes that use it: weights, and constants. */
  isInline(value: number): boolean {
    if (this.states.has(value)) return false;
    const { graph, value: origin } = this.resolve(value);
    if (graph.tensor(origin) >= 0 || graph.literal(origin) !== undefined) return true;
    const producer = graph.producer(origin);
    return producer >= 0 && graph.isInlineNode(producer);
  }

  scopeKind(scope: number): ScopeKind { return this.data.scopes.kind[scope]!; }
  scopeLabel(scope: number): string { return this.text(this.data.scopes.label[scope]!); }
  scopeParent(scope: number): number { return this.data.scopes.parent[scope]!; }
  nodesOf(scope: number): number[] { return this.scopeNodes.of(scope); }
  childScopes(scope: number): number[] { return this.scopeChildren.of(scope); }
  nodesBelow(scope: number): number { return this.data.scopes.nodes[scope]!; }
  repetitions(scope: number): number { return this.data.scopes.count[scope]!; }

  /** The first node of a scope and of the scopes in it. */
  firstNode(scope: number): number {
    if (!this.firstNodes) {
      const { parent } = this.data.scopes;
      const firsts = (this.firstNodes = new Int32Array(parent.length).fill(-1));
      for (let node = 0; node < this.nodeCount; node++) {
        for (let outer = this.scopeOf(node); outer >= 0 && firsts[outer]! < 0; outer = parent[outer]!) firsts[outer] = node;
      }
    }
    return this.firstNodes[scope]!;
  }

  /** Scopes from the graph's to that of the node. */
  scopePath(node: number): number[] {
    const path: number[] = [];
    for (let scope = this.scopeOf(node); scope >= 0; scope = this.scopeParent(scope)) path.unshift(scope);
    return path;
  }

  /** Graphs among the attributes of a node. */
  graphsOf(node: number): { attribute: string; graph: number }[] {
    return this.attributes(node).flatMap((a) => (a.graphs ?? []).map((graph) => ({ attribute: a.name, graph })));
  }
}

/** A document with one view of each graph, made when it is first asked for. */
export class DocumentView {
  private readonly views: GraphView[] = [];
  private readonly captures = new Map<string, number[]>();
  private readonly capturing: Map<number, number[]>[] = []; // by graph: nodes by value

  constructor(readonly data: ModelDocument) {}

  graph(index: number): GraphView {
    return (this.views[index] ??= new GraphView(this, index));
  }

  /** Values of a node's graph that graphs of its attributes use. */
  capturesOf(graph: GraphView, node: number): number[] {
    if (!(node in graph.data.nodes.attributes)) return [];
    const key = `${graph.index}:${node}`;
    let values = this.captures.get(key);
    if (!values) {
      const inner = graph.graphsOf(node).flatMap(({ graph: index }) => this.data.graphs[index]?.values.captured ?? []);
      values = [...new Set(inner.filter((value) => value >= 0))];
      this.captures.set(key, values);
    }
    return values;
  }

  /** Nodes whose attributes have graphs that use a value. */
  capturers(graph: GraphView, value: number): number[] {
    let nodes = this.capturing[graph.index];
    if (!nodes) {
      nodes = this.capturing[graph.index] = new Map<number, number[]>();
      for (const inner of this.data.graphs) {
        if (inner.owner?.graph !== graph.index) continue;
        for (const captured of inner.values.captured) {
          if (captured >= 0) nodes.set(captured, [...(nodes.get(captured) ?? []), inner.owner.node]);
        }
      }
    }
    return nodes.get(value) ?? [];
  }
}
