// What one frame shows: the nodes and folded scopes of a scope, its inputs and outputs, and the values that flow between them.

import type { DocumentView, GraphView } from "../model/graph_view.ts";
import { separateLong } from "./crowded_edges.ts";

export type ItemKind = "node" | "scope" | "input" | "output" | "entry" | "exit";

/** `id` is a node, a scope, or the value of an input, output, entry or exit. */
export interface FrameItem {
  kind: ItemKind;
  id: number;
}

export interface FrameNet {
  value: number;
  source: number; // items
  targets: number[];
  isBack?: boolean; // from what a training step computes to the state that it replaces
}

export interface Frame {
  graph: GraphView;
  scope: number;
  items: FrameItem[];
  nets: FrameNet[];
  named: FrameNet[]; // shown by name at both ends, since they would cross the frame
}

const NAMED_TARGETS = 6; // a value that goes to as many items is shown by name

export function buildFrame(document: DocumentView, graph: GraphView, scope: number): Frame {
  return new FrameBuilder(document, graph, scope).build();
}

class FrameBuilder {
  private readonly items: FrameItem[] = [];
  private readonly scopeItem: Int32Array; // item that holds all of a scope, -1 outside, -2 the scope of the frame itself
  private readonly nodeItem = new Map<number, number>();
  private readonly sources = new Map<number, number>(); // by value
  private readonly nets = new Map<number, Set<number>>(); // targets by value

  constructor(private readonly document: DocumentView, private readonly graph: GraphView, private readonly scope: number) {
    this.scopeItem = new Int32Array(graph.data.scopes.parent.length).fill(-1);
  }

  build(): Frame {
    this.addItems();
    const nodes = this.nodesBelow();
    for (const node of nodes) {
      for (const value of this.graph.outputs(node)) if (value >= 0) this.sources.set(value, this.itemOf(node));
    }
    for (const node of nodes) {
      for (const value of this.graph.inputs(node)) this.addUse(value, node);
      for (const value of this.document.capturesOf(this.graph, node)) this.addUse(value, node);
    }
    this.addLeaving(nodes);
    return this.finish();
  }

  private addItems(): void {
    const { graph, scope } = this;
    if (scope === 0) {
      for (const value of graph.data.inputs) {
        if (value < 0 || graph.isInline(value)) continue;
        this.sources.set(value, this.add({ kind: "input", id: value }));
      }
      for (const state of graph.states.keys()) {
        if (!this.sources.has(state)) this.sources.set(state, this.add({ kind: "input", id: state }));
      }
    }
    this.scopeItem[scope] = -2;
    for (const child of graph.childScopes(scope)) this.mark(child, this.add({ kind: "scope", id: child }));
    for (const node of graph.nodesOf(scope)) {
      if (!graph.isInlineNode(node)) this.nodeItem.set(node, this.add({ kind: "node", id: node }));
    }
  }

  private add(item: FrameItem): number {
    return this.items.push(item) - 1;
  }

  private mark(scope: number, item: number): void {
    const stack = [scope];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      this.scopeItem[next] = item;
      stack.push(...this.graph.childScopes(next));
    }
  }

  /** Nodes of the scope and of the scopes in it, in the order of the graph. */
  private nodesBelow(): number[] {
    const result: number[] = [];
    const scopes = [this.scope];
    for (let scope = scopes.pop(); scope !== undefined; scope = scopes.pop()) {
      for (const node of this.graph.nodesOf(scope)) if (this.itemOf(node) >= 0) result.push(node);
      for (const child of this.graph.childScopes(scope)) scopes.push(child);
    }
    return result.sort((a, b) => a - b);
  }

  /** Item that shows a node, or -1. */
  private itemOf(node: number): number {
    const item = this.scopeItem[this.graph.scopeOf(node)]!;
    return item === -2 ? (this.nodeItem.get(node) ?? -1) : item;
  }

  private addUse(value: number, node: number): void {
    if (value < 0 || this.graph.isInline(value)) return;
    const target = this.itemOf(node);
    const source = this.sourceOf(value);
    if (source !== target) this.targetsOf(value).add(target);
  }

  /** Item where a value comes from; values from outside get an entry. */
  private sourceOf(value: number): number {
    let source = this.sources.get(value);
    if (source === undefined) {
      const isEntry = this.scope !== 0 || this.graph.captured(value) >= 0;
      source = this.add({ kind: isEntry ? "entry" : "input", id: value });
      this.sources.set(value, source);
    }
    return source;
  }

  private targetsOf(value: number): Set<number> {
    let targets = this.nets.get(value);
    if (!targets) this.nets.set(value, (targets = new Set()));
    return targets;
  }

  private addLeaving(nodes: number[]): void {
    const { graph } = this;
    if (this.scope === 0) {
      for (const value of graph.data.outputs) {
        if (value < 0) continue;
        const output = this.add({ kind: "output", id: value });
        if (this.sources.has(value) || !graph.isInline(value)) this.sourceOf(value);
        if (this.sources.has(value)) this.targetsOf(value).add(output);
      }
      return;
    }
    for (const node of nodes) {
      for (const value of graph.outputs(node)) {
        if (value >= 0 && this.leaves(value)) this.targetsOf(value).add(this.add({ kind: "exit", id: value }));
      }
    }
  }

  private leaves(value: number): boolean {
    const outside = (node: number): boolean => this.scopeItem[this.graph.scopeOf(node)] === -1;
    return this.graph.isOutput(value) || this.graph.consumers(value).some(outside) || this.document.capturers(this.graph, value).some(outside);
  }

  private finish(): Frame {
    const all = [...this.nets].map(([value, targets]) => ({ value, source: this.sources.get(value)!, targets: [...targets] }));
    const isNamed = (net: FrameNet): boolean => net.targets.length >= NAMED_TARGETS;
    const { near, far } = separateLong(all.filter((net) => net.targets.length && !isNamed(net)), this.items.length);
    return { graph: this.graph, scope: this.scope, items: this.items, nets: [...near, ...this.updates()], named: [...all.filter(isNamed), ...far] };
  }

  /** Edges back from the outputs of a training step to the state that they become. */
  private updates(): FrameNet[] {
    if (this.scope !== 0) return [];
    return [...this.graph.states].flatMap(([state, value]) => {
      const source = this.items.findIndex((item) => item.kind === "output" && item.id === value);
      const target = this.sources.get(state);
      return source < 0 || target === undefined ? [] : [{ value, source, targets: [target], isBack: true }];
    });
  }
}
