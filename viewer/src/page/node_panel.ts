// Details of a node and of a scope.

import type { GraphView } from "../model/graph_view.ts";
import { neighbours, reach, wayToBorder } from "../model/paths.ts";
import type { Direction } from "../model/paths.ts";
import { nodeText } from "../model/node_text.ts";
import { formatDecibels, formatShare } from "../drawing/heat.ts";
import { shareTitle } from "../model/annotations.ts";
import { formatBytes, formatSeconds } from "./decorations.ts";
import { button, copyText, download, element } from "./dom.ts";
import { renderMarkdown } from "./markdown.ts";
import { findingsSection, heading, nodeLink, section, table, valueLink } from "./parts.ts";
import type { Stage } from "./stage.ts";
import { describeTensor } from "./tensor_panel.ts";
import type { Selection, Viewer } from "./viewer.ts";

export function describeNode(viewer: Viewer, stage: Stage, selection: Selection): (Node | string)[] {
  const graph = viewer.document.graph(selection.graph);
  const { id: node, instance } = selection;
  const notes = graph.nodeNotes(node);
  const parts: (HTMLElement | null)[] = [
    heading(graph.operator(node) || "(no operator)", [graph.domain(node), graph.nodeName(node)].filter(Boolean).join(" · ")),
    actions(viewer, stage, selection, graph),
    changeLine(viewer, selection),
    findingsSection(viewer, viewer.face.annotations.findingsOf(selection.graph, node)),
    runSection(viewer, selection),
    errorSection(viewer, selection),
    valuesSection(viewer, graph, instance, "Inputs", graph.inputs(node), graph.inputNames(node)),
    valuesSection(viewer, graph, instance, "Captured values", viewer.document.capturesOf(graph, node), []),
    valuesSection(viewer, graph, instance, "Outputs", graph.outputs(node), []),
    attributesSection(viewer, graph, node),
    notes.devices?.length ? section("Devices", ...notes.devices.map((line) => element("p", {}, line))) : null,
    notes.metadata?.length ? section("Metadata", table(notes.metadata)) : null,
    notes.documentation ? section("Documentation", renderMarkdown(notes.documentation)) : null,
    linksSection(viewer, graph, node, "Producers", "producers"),
    linksSection(viewer, graph, node, "Consumers", "consumers"),
  ];
  return parts.filter((part) => part !== null);
}

function actions(viewer: Viewer, stage: Stage, selection: Selection, graph: GraphView): HTMLElement {
  const { id: node } = selection;
  const key = viewer.boxKey(selection);
  const canOpen = graph.body(node) >= 0 || graph.graphsOf(node).length > 0;
  const mark = (nodes: Iterable<number>): void => { viewer.mark(selection, nodes); };
  return element("div", { class: "actions" },
    canOpen ? button(viewer.open.has(key) ? "Close" : "Open", "Open or close the box (Enter)", () => void stage.toggle(key)) : null,
    graph.body(node) >= 0 ? button("Body", "Show the function by itself", () => void viewer.showGraph(graph.body(node))) : null,
    button("Upstream", "Mark everything that this node depends on (U)", () => { mark(reach(viewer.document, graph, node, "producers")); }),
    button("Downstream", "Mark everything that depends on this node (I)", () => { mark(reach(viewer.document, graph, node, "consumers")); }),
    button("Path", "Mark a way from an input through this node to an output (P)", () => { markPath(viewer, selection); }),
    button("Copy text", "Copy as ONNX text (C)", () => { copyText(nodeText(graph, node)); }),
    button("Copy link", "Copy the address of this node", () => { copyText(location.href); }),
    viewer.page.server ? extractButton(viewer, selection) : null);
}

/** Downloads a part of the model; where that is impossible, what the server says takes the place of the label. */
function extractButton(viewer: Viewer, selection: Selection): HTMLElement {
  const result = button("Extract", "Download a model of what is marked, or of this node", () => {
    void download(viewer.partAddress(selection), "part.onnx").then((error) => { result.textContent = error || "Extract"; });
  });
  return result;
}

export function markPath(viewer: Viewer, selection: Selection): void {
  const graph = viewer.document.graph(selection.graph);
  const before = wayToBorder(viewer.document, graph, selection.id, "producers") ?? [];
  const after = wayToBorder(viewer.document, graph, selection.id, "consumers") ?? [];
  viewer.mark(selection, [...before, ...after]);
}

function changeLine(viewer: Viewer, selection: Selection): HTMLElement | null {
  const { difference } = viewer.page;
  if (!difference) return null;
  const change = viewer.face.annotations.changeOf(selection.graph, selection.id);
  if (!change) return element("p", { class: "change equal" }, "not changed");
  const lines = difference.changes.filter((c) => [c.before, c.after].some((place) => place && viewer.isAt(place, selection)));
  const notes = lines.map((line) => element("li", {}, line.text, line.error >= 0 ? ` (error ${line.error.toPrecision(3)})` : ""));
  return element("div", {}, element("p", { class: `change ${change}` }, change), element("ul", {}, ...notes));
}

function runSection(viewer: Viewer, selection: Selection): HTMLElement | null {
  const run = viewer.face.annotations.runOf(selection.graph, selection.id) ?? null;
  if (!run) return null;
  const profile = viewer.document.data.profile!;
  const i = profile.nodes.node.findIndex((node, row) => node === selection.id && profile.nodes.graph[row] === selection.graph);
  const region = profile.regions[profile.nodes.region[i] ?? -1];
  const rate = run.flops / run.seconds;
  return section("Run", table([
    ["time", `${formatSeconds(run.seconds)} (${((100 * run.seconds) / viewer.face.annotations.totalSeconds).toFixed(1)} %)`],
    ["engine", profile.nodes.engine[i] ?? (run.native >= run.seconds ? "native" : run.native ? "native and reference" : "reference")],
    ["operations", `${(run.flops / 1e6).toFixed(2)} M (${(rate / 1e9).toFixed(2)} GFLOP/s${profile.peakFlops ? `, ${((100 * rate) / profile.peakFlops).toFixed(0)} % of a core's peak` : ""})`],
    ["bytes", formatBytes(run.bytes)],
    ...(region ? [["region", `${region.name} (${region.nodes.length} nodes)`] as [string, string]] : []),
  ]));
}

function errorSection(viewer: Viewer, selection: Selection): HTMLElement | null {
  const { annotations } = viewer.face;
  const facts = annotations.errorOf(selection.graph, selection.id);
  const reason = annotations.reasonOf(selection.graph, selection.id);
  if (!facts) return reason === undefined ? null : section("Quantization", element("p", {}, `as it is: ${reason}`));
  const rows: [string, string][] = [[shareTitle(viewer.document.data.quantization!), formatShare(facts.share)]];
  if (facts.alone !== null) rows.push(["outputs, with it alone", formatDecibels(facts.alone)]);
  if (facts.own !== null) rows.push(["its result", formatDecibels(facts.own)]);
  if (facts.bits) rows.push(["bits", String(facts.bits)]);
  return section("Quantization", table(rows));
}

function valuesSection(viewer: Viewer, graph: GraphView, instance: string, title: string, values: number[], names: string[]): HTMLElement | null {
  if (!values.length) return null;
  return section(title, table(values.map((value, i) => [names[i] ?? String(i), valueLink(viewer, graph.index, instance, value)])));
}

function attributesSection(viewer: Viewer, graph: GraphView, node: number): HTMLElement | null {
  const attributes = graph.attributes(node);
  if (!attributes.length) return null;
  const rows = attributes.map((a): [string, Node] => {
    const graphs = (a.graphs ?? []).map((index) => button(graphName(graph, index), "Show this graph by itself", () => void viewer.showGraph(index), "link"));
    const tensors = (a.tensors ?? []).map((tensor) => describeTensor(viewer, tensor));
    return [a.name, element("span", { class: a.isDefault ? "default" : "", title: a.isDefault ? `${a.type}, the default` : a.type }, a.graphs?.length ? "" : a.text, ...graphs, ...tensors)];
  });
  return section("Attributes", table(rows, "attributes"));
}

function graphName(graph: GraphView, index: number): string {
  const inner = graph.document.graphs[index];
  return `${inner?.name ?? "graph"} (${inner?.nodes.operator.length ?? 0} nodes)`;
}

function linksSection(viewer: Viewer, graph: GraphView, node: number, title: string, direction: Direction): HTMLElement | null {
  const nodes = neighbours(viewer.document, graph, node, direction);
  if (!nodes.length) return null;
  const rest = nodes.length - 40;
  return section(title, element("ul", { class: "links" }, ...nodes.slice(0, 40).map((other) => element("li", {}, nodeLink(viewer, graph.index, other))), rest > 0 ? element("li", {}, `${rest} more`) : null));
}

export function describeScope(viewer: Viewer, stage: Stage, selection: Selection): (Node | string)[] {
  const graph = viewer.document.graph(selection.graph);
  const scope = selection.id;
  const counts = new Map<string, number>();
  for (const node of nodesBelow(graph, scope)) counts.set(graph.operator(node), (counts.get(graph.operator(node)) ?? 0) + 1);
  const rows = [...counts].sort((a, b) => b[1] - a[1]).map(([operator, count]): [string, string] => [operator, String(count)]);
  const key = viewer.boxKey(selection);
  const run = viewer.face.annotations.runIn(selection.graph, scope);
  const error = viewer.face.annotations.errorIn(selection.graph, scope);
  const findings = findingsSection(viewer, viewer.face.annotations.findingsIn(selection.graph, scope));
  return [
    heading(graph.scopeLabel(scope), `${graph.scopeKind(scope)}, ${graph.nodesBelow(scope)} nodes${graph.repetitions(scope) > 1 ? `, ${graph.repetitions(scope)} equal blocks` : ""}`),
    element("div", { class: "actions" }, button(viewer.open.has(key) ? "Close" : "Open", "Open or close the box (Enter)", () => void stage.toggle(key))),
    ...(run ? [section("Run", table([["time", `${formatSeconds(run.seconds)} (${((100 * run.seconds) / viewer.face.annotations.totalSeconds).toFixed(1)} %)`], ["operations", `${(run.flops / 1e6).toFixed(2)} M`]]))] : []),
    ...(error ? [section("Quantization", table([["layers", String(error.layers)], [shareTitle(viewer.document.data.quantization!), formatShare(error.share)]]))] : []),
    ...(findings ? [findings] : []),
    section("Operators", table(rows)),
  ];
}

function nodesBelow(graph: GraphView, scope: number): number[] {
  return [...graph.nodesOf(scope), ...graph.childScopes(scope).flatMap((child) => nodesBelow(graph, child))];
}
