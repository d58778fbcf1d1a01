// The picture as a tree: boxes with their places, and in open boxes the frames of what they hold. Frames are laid out from the
// innermost to the outermost; a layout is used again as long as the sizes of its boxes are the same.

import type { Layout, LayoutEnd, LayoutProblem } from "../layout/problem.ts";
import type { DocumentView, GraphView } from "../model/graph_view.ts";
import type { Card, Parameters } from "./card.ts";
import { makeCard, TITLE_HEIGHT } from "./card.ts";
import { bundleNets } from "./crowded_edges.ts";
import type { Bundle } from "./crowded_edges.ts";
import type { Frame, FrameItem } from "./frame.ts";
import { buildFrame } from "./frame.ts";

export interface Box {
  key: string; // stable while boxes open and close: "0/s3", "0/n12/g4/n0"
  item: FrameItem;
  graph: GraphView;
  card: Card;
  x: number; // in the frame
  y: number;
  width: number;
  height: number;
  contents: PlacedFrame[]; // of an open box
  canOpen: boolean;
}

export interface PlacedFrame {
  title: string;
  x: number; // of the frame in its box
  y: number;
  width: number;
  height: number;
  frame: Frame;
  instance: string; // prefix of the keys of its boxes
  boxes: Box[];
  nets: Bundle[]; // the nets of the frame as they are drawn
  routes: number[][][]; // by net and target
  continued: boolean[][]; // whether a route goes on inside of its target, by net and target
}

/** Asks for a layout and receives it: the caller runs it at once, or in another thread. */
export type LayoutSteps<T> = Generator<LayoutProblem, T, Layout>;

export const FRAME_PADDING = 18;
const FRAME_GAP = 24;
const CACHE_LIMIT = 400;

/** Where a frame is shown. */
interface Site {
  graph: GraphView;
  scope: number;
  instance: string;
  title: string;
  embedded: boolean; // inside of a box
  parameters: Parameters;
}

interface CachedLayout {
  signature: string;
  layout: Layout;
  centres: number[]; // of items
}

export class SceneBuilder {
  private readonly frames = new Map<string, Frame>();
  private readonly layouts = new Map<string, CachedLayout>();

  constructor(readonly document: DocumentView, readonly open: ReadonlySet<string>) {}

  *build(graph: number): LayoutSteps<PlacedFrame> {
    return yield* this.place({ graph: this.document.graph(graph), scope: 0, instance: String(graph), title: "", embedded: false, parameters: new Map() });
  }

  frame(graph: GraphView, scope: number): Frame {
    const key = `${graph.index}:${scope}`;
    let frame = this.frames.get(key);
    if (!frame) this.frames.set(key, (frame = buildFrame(this.document, graph, scope)));
    return frame;
  }

  private *place(site: Site): LayoutSteps<PlacedFrame> {
    const { graph, scope, instance, title } = site;
    const frame = this.frame(graph, scope);
    const named = namedLines(frame);
    const boxes: Box[] = [];
    for (const [i, item] of frame.items.entries()) boxes.push(yield* this.makeBox(frame, item, named.get(i) ?? [], site));
    const nets = bundleNets(frame.nets, (item) => boxes[item]!.contents.length > 0);
    const isBody = site.embedded && graph.data.kind === "function" && scope === 0;
    const problem = makeProblem(nets, boxes, isBody);
    const layout = yield* this.layOut(`${instance}:${scope}`, problem);
    boxes.forEach((box, i) => {
      box.x = layout.x[i]!;
      box.y = layout.y[i]!;
    });
    const continued = problem.nets.map((net) => net.targets.map((target) => target.offset !== null));
    return { title, x: 0, y: 0, width: layout.width, height: layout.height, frame, instance, boxes, nets, routes: layout.routes, continued };
  }

  private *makeBox(frame: Frame, item: FrameItem, named: string[], site: Site): LayoutSteps<Box> {
    const { graph, instance, embedded } = site;
    // A captured value is a port where its graph is inside a node; elsewhere it is an input.
    const shown: FrameItem = item.kind === "entry" && frame.scope === 0 && !embedded ? { kind: "input", id: item.id } : item;
    const card = makeCard(frame, shown, named, site.parameters);
    const key = `${instance}/${shown.kind[0]!}${shown.id}`;
    const box: Box = { key, item: shown, graph, card, x: 0, y: 0, width: card.width, height: card.height, contents: [], canOpen: this.canOpen(graph, shown) };
    if (box.canOpen && this.open.has(key)) yield* this.fill(box, site);
    return box;
  }

  private canOpen(graph: GraphView, item: FrameItem): boolean {
    if (item.kind === "scope") return true;
    return item.kind === "node" && (graph.body(item.id) >= 0 || graph.graphsOf(item.id).length > 0);
  }

  /** Puts the frames of an open box side by side below its title. */
  private *fill(box: Box, site: Site): LayoutSteps<void> {
    const { graph, item } = box;
    if (item.kind === "scope") box.contents.push(yield* this.place({ ...site, scope: item.id, title: "", embedded: true }));
    else if (depthOf(box.key) < 60) {
      const body = graph.body(item.id);
      const inner = body >= 0 ? [{ attribute: "", graph: body }] : graph.graphsOf(item.id);
      const parameters = body >= 0 ? this.parametersOf(box, site) : site.parameters;
      for (const { attribute, graph: index } of inner) {
        const frame = { graph: this.document.graph(index), scope: 0, instance: `${box.key}/g${index}`, title: attribute, embedded: true, parameters };
        box.contents.push(yield* this.place(frame));
      }
    }
    arrange(box);
  }

  /** Attributes of a call, and the defaults of those that it leaves out. */
  private parametersOf({ graph, item }: Box, site: Site): Parameters {
    const record = this.document.data.functions.find((f) => f.graph === graph.body(item.id));
    const parameters = new Map(record?.attributes.filter(([, text]) => text));
    for (const { name, text, type } of graph.attributes(item.id)) {
      parameters.set(name, type === "reference" ? (site.parameters.get(text.replace(/^@/, "")) ?? text) : text);
    }
    return parameters;
  }

  private *layOut(key: string, problem: LayoutProblem): LayoutSteps<Layout> {
    const signature = signatureOf(problem);
    const cached = this.layouts.get(key);
    if (cached?.signature === signature) return cached.layout;
    // What is opened or closed moves the boxes around it, but does not exchange them.
    if (cached?.centres.length === problem.items.length) problem.earlier = cached.centres;
    const layout = yield problem;
    this.layouts.delete(key);
    this.layouts.set(key, { signature, layout, centres: problem.items.map((item, i) => layout.x[i]! + item.width / 2) });
    if (this.layouts.size > CACHE_LIMIT) this.layouts.delete(this.layouts.keys().next().value!);
    return layout;
  }
}

function depthOf(key: string): number {
  return key.split("/").length;
}

function signatureOf(problem: LayoutProblem): string {
  const parts: (number | null | string)[] = [];
  for (const item of problem.items) parts.push(item.width, item.height, item.layer);
  for (const net of problem.nets) {
    parts.push(net.isBack ? "b" : "n", net.source.item, net.source.offset);
    for (const target of net.targets) parts.push(target.item, target.offset);
  }
  return parts.join(",");
}

/** Lines of the boxes at the ends of values that are shown by name. */
function namedLines(frame: Frame): Map<number, string[]> {
  const lines = new Map<number, string[]>();
  const add = (item: number, text: string): void => { lines.set(item, [...(lines.get(item) ?? []), text]); };
  for (const net of frame.named) {
    const name = frame.graph.valueName(net.value);
    const source = frame.items[net.source]!;
    const uses = `${net.targets.length} use${net.targets.length === 1 ? "" : "s"}`;
    add(net.source, source.kind === "input" ? `→ ${uses}` : `→ ${name} (${uses})`);
    for (const target of net.targets) add(target, `← ${name}`);
  }
  return lines;
}

function arrange(box: Box): void {
  let x = FRAME_PADDING;
  let height = 0;
  const titled = box.contents.some((content) => content.title);
  const top = TITLE_HEIGHT + FRAME_PADDING + (titled ? 16 : 0);
  for (const content of box.contents) {
    content.x = x;
    content.y = top;
    content.width = Math.max(content.width, 40);
    x += content.width + FRAME_GAP;
    height = Math.max(height, content.height);
  }
  const width = x - FRAME_GAP + FRAME_PADDING;
  const spare = Math.max(0, box.width + 20 - width);
  for (const content of box.contents) content.x += spare / 2;
  box.width = width + spare;
  box.height = top + height + FRAME_PADDING;
}

/** isBody: whether the frame is the body of a call, whose inputs and outputs continue to the border of the box. */
function makeProblem(nets: Bundle[], boxes: Box[], isBody: boolean): LayoutProblem {
  return {
    items: boxes.map((box) => {
      const { kind } = box.item;
      const layer = kind === "entry" || (isBody && kind === "input") ? "first" : kind === "exit" || (isBody && kind === "output") ? "last" : "free";
      return { width: box.width, height: box.height, layer };
    }),
    nets: nets.map((net) => ({
      source: { item: net.source, offset: portOffset(boxes[net.source]!, net.value, "out") },
      targets: net.targets.map((item): LayoutEnd => ({ item, offset: portOffset(boxes[item]!, net.value, "in") })),
      ...(net.isBack ? { isBack: true } : {}),
    })),
  };
}

/** Where a value goes through the border of an open box: above its entry or below its exit inside. */
function portOffset(box: Box, value: number, side: "in" | "out"): number | null {
  if (!box.contents.length) return null;
  for (const content of box.contents) {
    const port = content.boxes.find((inner) => continues(box, inner, value, side));
    if (port) return content.x + port.x + port.width / 2;
  }
  return null;
}

function continues(box: Box, inner: Box, value: number, side: "in" | "out"): boolean {
  const { kind, id } = inner.item;
  if (box.item.kind === "scope") return kind === (side === "in" ? "entry" : "exit") && id === value;
  if (kind === "entry") return side === "in" && inner.graph.captured(id) === value;
  if (box.graph.body(box.item.id) < 0) return false;
  // Of a call: the formal input or output in the position of the value.
  const place = (side === "in" ? box.graph.inputs(box.item.id) : box.graph.outputs(box.item.id)).indexOf(value);
  const formal = (side === "in" ? inner.graph.data.inputs : inner.graph.data.outputs)[place];
  return kind === (side === "in" ? "input" : "output") && formal === id;
}

/** Runs all steps here. */
export function runSteps<T>(steps: LayoutSteps<T>, layOut: (problem: LayoutProblem) => Layout): T {
  let step = steps.next();
  while (!step.done) step = steps.next(layOut(step.value));
  return step.value;
}

/** Runs all steps; those that `layOut` answers with a promise elsewhere. */
export async function awaitSteps<T>(steps: LayoutSteps<T>, layOut: (problem: LayoutProblem) => Layout | Promise<Layout>): Promise<T> {
  let step = steps.next();
  while (!step.done) {
    const layout = layOut(step.value);
    step = steps.next(layout instanceof Promise ? await layout : layout);
  }
  return step.value;
}
