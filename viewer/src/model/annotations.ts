// What is known about nodes beyond the model itself: findings of the checker, times of a run, errors of quantized layers, changes between two models. Each is
// summed up for scopes, so that closed boxes show what is inside.

import type { Change, Finding, ModelDocument, Profile, Quantization } from "../page_data.ts";
import type { DocumentView, GraphView } from "./graph_view.ts";

export interface RunFacts {
  seconds: number;
  flops: number;
  bytes: number;
  native: number; // seconds in the native engine
}

/** The errors of a quantized layer, or the sum over those of a box. */
export interface ErrorFacts {
  share: number;
  alone: number | null; // decibels of the outputs if it alone were quantized, of a node
  own: number | null; // decibels of its result
  bits: number;
  layers: number;
}

const RANK = { error: 3, warning: 2, note: 1 };

export class Annotations {
  private readonly findings = new Map<string, Finding[]>(); // by "graph:node" and "graph:s scope"
  private readonly runs = new Map<string, RunFacts>();
  private readonly changes = new Map<string, Change>();
  private readonly errors = new Map<string, ErrorFacts>();
  private readonly reasons = new Map<string, string>(); // of layers that stay as they are
  readonly totalSeconds: number = 0;
  readonly slowest: number = 0;
  readonly largestShare: number = 0;

  constructor(document: DocumentView, nodeChanges: Map<string, Change> | null) {
    const data = document.data;
    for (const finding of data.findings) this.addFinding(document, finding);
    if (data.profile) [this.totalSeconds, this.slowest] = this.addProfile(document, data.profile);
    if (data.quantization) this.largestShare = this.addErrors(document, data.quantization);
    for (const [place, change] of nodeChanges ?? []) this.addChange(document, place, change);
  }

  findingsOf(graph: number, node: number): Finding[] { return this.findings.get(`${graph}:${node}`) ?? []; }
  findingsIn(graph: number, scope: number): Finding[] { return this.findings.get(`${graph}:s${scope}`) ?? []; }
  runOf(graph: number, node: number): RunFacts | undefined { return this.runs.get(`${graph}:${node}`); }
  runIn(graph: number, scope: number): RunFacts | undefined { return this.runs.get(`${graph}:s${scope}`); }
  changeOf(graph: number, node: number): Change | undefined { return this.changes.get(`${graph}:${node}`); }
  changeIn(graph: number, scope: number): Change | undefined { return this.changes.get(`${graph}:s${scope}`); }

  errorOf(graph: number, node: number): ErrorFacts | undefined { return this.errors.get(`${graph}:${node}`); }
  errorIn(graph: number, scope: number): ErrorFacts | undefined { return this.errors.get(`${graph}:s${scope}`); }
  /** Why a layer was not quantized. */
  reasonOf(graph: number, node: number): string | undefined { return this.reasons.get(`${graph}:${node}`); }

  private addFinding(document: DocumentView, finding: Finding): void {
    const { graph: index, value } = finding.place;
    if (index < 0 || !document.data.graphs[index]) return;
    const graph = document.graph(index);
    const node = finding.place.node >= 0 ? finding.place.node : value >= 0 ? graph.producer(value) : -1;
    if (node < 0) return;
    // A finding in a nested graph is shown at the node that holds the graph, too.
    for (const key of enclosing(document, graph, node)) this.findings.set(key, [...(this.findings.get(key) ?? []), finding]);
  }

  private addProfile(document: DocumentView, { nodes }: Profile): [total: number, slowest: number] {
    let [total, slowest] = [0, 0];
    nodes.node.forEach((node, i) => {
      const graph = document.graph(nodes.graph[i]!);
      const seconds = nodes.seconds[i]!;
      // Nodes of functions have the time of their calls once more.
      if (rootOf(document, graph.index) === 0) total += seconds;
      slowest = Math.max(slowest, seconds);
      const native = nodes.engine[i] === "native" ? seconds : 0;
      for (const key of enclosing(document, graph, node)) {
        const sum = this.runs.get(key) ?? { seconds: 0, flops: 0, bytes: 0, native: 0 };
        this.runs.set(key, { seconds: sum.seconds + seconds, flops: sum.flops + nodes.flops[i]!, bytes: sum.bytes + nodes.bytes[i]!, native: sum.native + native });
      }
    });
    return [total, slowest];
  }

  private addErrors(document: DocumentView, { nodes, kept }: Quantization): number {
    nodes.node.forEach((node, i) => {
      const [own, ...around] = enclosing(document, document.graph(nodes.graph[i]!), node);
      this.errors.set(own!, { share: nodes.share[i]!, alone: nodes.alone[i]!, own: nodes.own[i]!, bits: nodes.bits[i]!, layers: 1 });
      for (const key of around) {
        const sum = this.errors.get(key) ?? { share: 0, alone: null, own: null, bits: 0, layers: 0 };
        this.errors.set(key, { ...sum, share: sum.share + nodes.share[i]!, layers: sum.layers + 1 });
      }
    });
    kept.node.forEach((node, i) => { this.reasons.set(`${kept.graph[i]!}:${node}`, kept.why[i]!); });
    return Math.max(0, ...nodes.share);
  }

  private addChange(document: DocumentView, place: string, change: Change): void {
    const [index, node] = place.split(":").map(Number) as [number, number];
    if (change === "equal") return;
    const [own, ...around] = enclosing(document, document.graph(index), node);
    this.changes.set(own!, change);
    for (const key of around) {
      const before = this.changes.get(key);
      if (key.includes("s") || before === undefined) this.changes.set(key, before === undefined || before === change ? change : "changed");
    }
  }
}

/** Keys of a node, of its scopes, and of the node and the scopes that hold its graph. */
function enclosing(document: DocumentView, graph: GraphView, node: number): string[] {
  const keys = [`${graph.index}:${node}`, ...graph.scopePath(node).reverse().map((scope) => `${graph.index}:s${scope}`)];
  const owner = graph.data.owner;
  return owner && document.data.graphs[owner.graph] ? [...keys, ...enclosing(document, document.graph(owner.graph), owner.node)] : keys;
}

/** The outermost graph around a graph. */
export function rootOf(document: DocumentView, index: number): number {
  const owner = document.data.graphs[index]?.owner;
  return owner ? rootOf(document, owner.graph) : index;
}

/** What the shares of a report are shares of. */
export function shareTitle({ measure }: Quantization): string {
  return measure === "final" ? "share of the final error" : "share of the errors of layers";
}

export function worst(findings: Finding[]): Finding["severity"] | null {
  return findings.reduce<Finding["severity"] | null>((most, f) => (most === null || RANK[f.severity] > RANK[most] ? f.severity : most), null);
}

/** Findings that no box shows: those of the model, of graphs and of values without a node. */
export function generalFindings(document: ModelDocument): Finding[] {
  return document.findings.filter(({ place }) => place.node < 0);
}
