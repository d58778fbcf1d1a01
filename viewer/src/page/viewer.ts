// The state of the page: which graph is shown, which boxes are open, what is selected. Parts of the page listen to it.

import { Annotations } from "../model/annotations.ts";
import type { DocumentView, GraphView } from "../model/graph_view.ts";
import type { Change, PageData, Place } from "../page_data.ts";
import type { Box, PlacedFrame } from "../scene/scene.ts";
import { awaitSteps, SceneBuilder } from "../scene/scene.ts";
import { LayoutRunner } from "./layout_runner.ts";

export interface Selection {
  kind: "node" | "scope" | "value";
  graph: number;
  instance: string;
  id: number;
  box?: string; // key of the box of an input or output, if the value was selected there
}

/** A document as a choice of the page: one for a model, three for a difference. */
export interface Face {
  label: string;
  document: DocumentView;
  annotations: Annotations;
  changes: Map<string, Change> | null; // by "graph:node"
  side: number; // position in PageData.documents
  translate: ((before: Place | null, after: Place | null) => Place | null) | null; // of places of both sides to a merged picture
}

export type ViewerEvent = "graph" | "scene" | "selection" | "marks" | "look";

export class Viewer {
  face: Face;
  graph = 0;
  open = new Set<string>();
  scene: PlacedFrame | null = null;
  selection: Selection | null = null;
  lit = new Set<string>(); // "instance:value"
  litNodes = new Set<string>(); // "instance/n5"
  marked: { graph: number; nodes: Set<number> } | null = null; // nodes of a path or a reach
  mode: "structure" | "time" | "engine" | "error" = "structure";
  private builder: SceneBuilder;
  readonly runner = new LayoutRunner();
  private readonly listeners: [ViewerEvent, () => void][] = [];
  private updates = 0;

  constructor(readonly page: PageData, readonly faces: Face[]) {
    this.face = faces[0]!;
    this.builder = new SceneBuilder(this.face.document, this.open);
    const { profile, quantization } = this.face.document.data;
    if (profile ?? quantization) this.mode = quantization ? "error" : "time";
  }

  get document(): DocumentView { return this.face.document; }
  get view(): GraphView { return this.document.graph(this.graph); }

  listen(event: ViewerEvent, action: () => void): void {
    this.listeners.push([event, action]);
  }

  emit(event: ViewerEvent): void {
    for (const [name, action] of this.listeners) if (name === event) action();
  }

  /** Lays the scene out anew; of updates that overlap, only the last is shown. */
  async update(): Promise<void> {
    if (!this.document.data.graphs.length) return;
    const turn = ++this.updates;
    const scene = await awaitSteps(this.builder.build(this.graph), (problem) => this.runner.run(problem));
    if (turn !== this.updates) return;
    this.scene = scene;
    this.emit("scene");
  }

  async showFace(face: Face): Promise<void> {
    this.face = face;
    await this.showGraph(0);
  }

  async showGraph(graph: number, open: Iterable<string> = []): Promise<void> {
    this.graph = graph;
    this.open = new Set(open);
    this.scene = null;
    this.builder = new SceneBuilder(this.document, this.open);
    this.select(null);
    this.emit("graph");
    await this.update();
  }

  async toggle(key: string): Promise<void> {
    if (!this.open.delete(key)) this.open.add(key);
    await this.update();
  }

  select(selection: Selection | null): void {
    this.selection = selection;
    this.lit.clear();
    this.litNodes.clear();
    this.marked = null;
    if (selection?.kind === "value") this.light(selection.graph, selection.instance, selection.id);
    if (selection?.kind === "node") {
      const graph = this.document.graph(selection.graph);
      for (const value of [...graph.inputs(selection.id), ...graph.outputs(selection.id)]) this.light(selection.graph, selection.instance, value);
    }
    this.emit("selection");
  }

  /** Marks nodes of the selection's graph, the scopes that hold them, and the values between them. */
  mark(selection: Selection, nodes: Iterable<number>): void {
    const graph = this.document.graph(selection.graph);
    const marked = new Set([selection.id, ...nodes]);
    this.marked = { graph: selection.graph, nodes: marked };
    this.lit.clear();
    this.litNodes.clear();
    for (const node of marked) {
      this.litNodes.add(`${selection.instance}/n${node}`);
      for (const scope of graph.scopePath(node)) this.litNodes.add(`${selection.instance}/s${scope}`);
      for (const value of graph.outputs(node)) {
        if (value >= 0 && graph.consumers(value).some((consumer) => marked.has(consumer))) this.light(selection.graph, selection.instance, value);
      }
    }
    this.emit("marks");
  }

  /** The address of a model of the marked nodes, or of the selected node. */
  partAddress(selection: Selection): string {
    const graph = this.document.graph(selection.graph);
    const nodes = this.marked?.nodes ?? new Set([selection.id]);
    const { inputs, outputs } = borderOf(graph, nodes);
    const query = [`document=${this.face.side}`, `graph=${selection.graph}`, ...inputs.map((name) => `inputs=${encodeURIComponent(name)}`), ...outputs.map((name) => `outputs=${encodeURIComponent(name)}`)];
    return `api/extract?${query.join("&")}`;
  }

  /** How the server calls a tensor of the shown document: those of a merged one belong to either model. */
  tensorQuery(tensor: number): string {
    const own = this.page.documents[this.face.side]!.tensors.length;
    return tensor < own ? `document=${this.face.side}&tensor=${tensor}` : `document=0&tensor=${tensor - own}`;
  }

  /** Whether a place of a difference is the selected node. */
  isAt(place: Place, selection: Selection): boolean {
    return place.graph === selection.graph && place.node === selection.id;
  }

  light(graph: number, instance: string, value: number): void {
    if (value >= 0) this.lit.add(this.canonical(graph, instance, value));
  }

  isLit(graph: number, instance: string, value: number): boolean {
    return this.lit.size > 0 && this.lit.has(this.canonical(graph, instance, value));
  }

  /** A value by the graph that defines it, wherever it is captured. */
  private canonical(index: number, instance: string, value: number): string {
    const graph = this.document.graph(index);
    const captured = graph.captured(value);
    if (captured < 0 || !graph.data.owner || !instance.includes("/")) return `${instance}:${value}`;
    return this.canonical(graph.data.owner.graph, instance.split("/").slice(0, -2).join("/"), captured);
  }

  /** The key of the box of what is selected; values have boxes where they are inputs or outputs. */
  boxKey({ kind, graph: index, instance, id, box }: Selection): string {
    if (kind !== "value") return `${instance}/${kind[0]!}${id}`;
    const graph = this.document.graph(index);
    const isInput = graph.data.inputs.includes(id) || graph.captured(id) >= 0;
    return box ?? `${instance}/${isInput ? "i" : graph.isOutput(id) ? "o" : "v"}${id}`;
  }

  /** Selects what a box shows. */
  selectBox({ key, item: { kind, id }, graph }: Box, instance: string): void {
    if (kind === "node" || kind === "scope") this.select({ kind, graph: graph.index, instance, id });
    else this.select({ kind: "value", graph: graph.index, instance, id, box: key });
  }

  /** The root graph and instance where a graph is shown: inside the nodes that hold it, or by itself. */
  private placeOf(graph: GraphView): { root: number; instance: string; open: string[] } {
    const owner = graph.data.owner;
    if (!owner || graph.index === this.graph || !this.document.data.graphs[owner.graph]) return { root: graph.index, instance: String(graph.index), open: [] };
    const outer = this.document.graph(owner.graph);
    const place = this.placeOf(outer);
    const node = `${place.instance}/n${owner.node}`;
    return { root: place.root, instance: `${node}/g${graph.index}`, open: [...place.open, ...this.scopeKeys(outer, place.instance, owner.node), node] };
  }

  private scopeKeys(graph: GraphView, instance: string, node: number): string[] {
    return graph.scopePath(node).slice(1).map((scope) => `${instance}/s${scope}`);
  }

  /** Opens what is around a node, and selects it. */
  async reveal(index: number, node: number): Promise<void> {
    const graph = this.document.graph(index);
    const { root, instance, open } = this.placeOf(graph);
    const keys = [...open, ...this.scopeKeys(graph, instance, node)];
    if (root !== this.graph) await this.showGraph(root, keys);
    else if (keys.some((key) => !this.open.has(key))) {
      for (const key of keys) this.open.add(key);
      await this.update();
    }
    this.select({ kind: "node", graph: index, instance, id: node });
    this.emit("look");
  }

  /** Selects a value: with the node that computes it, or where its graph is shown. */
  async revealValue(index: number, value: number): Promise<void> {
    const graph = this.document.graph(index);
    const { root, instance, open } = this.placeOf(graph);
    if (graph.producer(value) >= 0) await this.reveal(index, graph.producer(value));
    else if (root !== this.graph) await this.showGraph(root, open);
    this.select({ kind: "value", graph: index, instance, id: value });
    this.emit("look");
  }
}

/** Names of the values that enter and leave a set of nodes. */
export function borderOf(graph: GraphView, nodes: Set<number>): { inputs: string[]; outputs: string[] } {
  const inputs = new Set<string>();
  const outputs = new Set<string>();
  for (const node of nodes) {
    for (const value of graph.inputs(node)) {
      if (value >= 0 && !nodes.has(graph.producer(value)) && !graph.isInline(value)) inputs.add(graph.valueName(value));
    }
    for (const value of graph.outputs(node)) {
      if (value >= 0 && (graph.isOutput(value) || !graph.consumers(value).length || graph.consumers(value).some((consumer) => !nodes.has(consumer)))) outputs.add(graph.valueName(value));
    }
  }
  return { inputs: [...inputs], outputs: [...outputs] };
}
