// Details of the model, where nothing is selected.

import { CanvasPainter } from "../drawing/canvas_painter.ts";
import { drawHeat, formatDecibels, formatShare, LEGEND } from "../drawing/heat.ts";
import { LIGHT } from "../drawing/theme.ts";
import { generalFindings, rootOf, shareTitle } from "../model/annotations.ts";
import type { Profile, Quantization, TrainingRecord } from "../page_data.ts";
import { formatBytes, formatSeconds } from "./decorations.ts";
import { button, element } from "./dom.ts";
import { renderMarkdown } from "./markdown.ts";
import { findingsSection, heading, nodeLink, section, table } from "./parts.ts";
import type { Viewer } from "./viewer.ts";

export function describeModel(viewer: Viewer): HTMLElement[] {
  const { data } = viewer.document;
  const graph = data.graphs[viewer.graph];
  const parts: (HTMLElement | null)[] = [
    heading(data.source || viewer.page.title, data.kind === "model" ? "" : data.kind),
    data.kind === "broken" ? element("p", { class: "finding error" }, "This file is broken; what could be read is shown.") : null,
    data.properties.length ? table(data.properties) : null,
    findingsSection(viewer, [...generalFindings(data), ...data.findings.filter(({ place }) => place.node >= 0)]),
    data.profile ? profileSection(viewer, data.profile) : null,
    data.quantization ? quantizationSection(viewer, data.quantization) : null,
    graph?.documentation ? section("Documentation of the graph", renderMarkdown(graph.documentation)) : null,
    data.documentation ? section("Documentation", renderMarkdown(data.documentation)) : null,
    data.imports.length ? section("Operator sets", table(data.imports.map(([domain, version]) => [domain || "ai.onnx", version]))) : null,
    data.metadata.length ? section("Metadata", table(data.metadata)) : null,
    graph?.metadata.length ? section("Metadata of the graph", table(graph.metadata)) : null,
    data.configurations.length ? section("Device configurations", table(data.configurations)) : null,
    functionsSection(viewer),
    operatorsSection(viewer),
    ...data.training.map((record, i) => trainingSection(viewer, record, i)),
  ];
  return parts.filter((part) => part !== null);
}

function functionsSection(viewer: Viewer): HTMLElement | null {
  const { functions } = viewer.document.data;
  if (!functions.length) return null;
  const rows = functions.map((f) => {
    const name = [f.domain, f.name].filter(Boolean).join(".") + (f.overload ? `:${f.overload}` : "");
    const attributes = f.attributes.map(([key, value]) => (value ? `${key} = ${value}` : key)).join(", ");
    return element("li", {}, button(name, "Show the body", () => void viewer.showGraph(f.graph), "link"), attributes ? ` <${attributes}>` : "", f.documentation ? renderMarkdown(f.documentation) : null);
  });
  return section(`Functions (${functions.length})`, element("ul", { class: "links" }, ...rows));
}

function operatorsSection(viewer: Viewer): HTMLElement | null {
  const { operatorSchemas, functions } = viewer.document.data;
  if (!operatorSchemas.length) return null;
  const rows = operatorSchemas.map((o) => {
    const name = `${o.name} since ${o.sinceVersion}${o.status ? ` (${o.status})` : ""}`;
    const body = functions[o.function];
    const label = body ? button(name, "Show the body", () => void viewer.showGraph(body.graph), "link") : element("b", {}, name);
    return element("li", {}, label, o.documentation ? renderMarkdown(o.documentation) : null);
  });
  return section(`Operators (${operatorSchemas.length})`, element("ul", { class: "links" }, ...rows));
}

function trainingSection(viewer: Viewer, record: TrainingRecord, index: number): HTMLElement {
  const show = (graph: number, text: string): HTMLElement | null => (graph >= 0 ? button(text, "Show this graph", () => void viewer.showGraph(graph)) : null);
  return section(`Training ${index + 1}`,
    element("div", { class: "actions" }, show(record.initialization, "Initialization"), show(record.algorithm, "Algorithm")),
    record.initializationBindings.length ? section("Initialised", table(record.initializationBindings.map(([target, source]) => [target, `← ${source}`]))) : null,
    record.updateBindings.length ? section("Updated after each step", table(record.updateBindings.map(([target, source]) => [target, `← ${source}`]))) : null);
}

function profileSection(viewer: Viewer, profile: Profile): HTMLElement {
  const own = profile.nodes.node.map((_, i) => i).filter((i) => rootOf(viewer.document, profile.nodes.graph[i]!) === 0);
  const order = own.sort((a, b) => profile.nodes.seconds[b]! - profile.nodes.seconds[a]!);
  const rows = order.slice(0, 10).map((i): [string, Node] => [formatSeconds(profile.nodes.seconds[i]!), nodeLink(viewer, profile.nodes.graph[i]!, profile.nodes.node[i]!)]);
  return section("Run", element("p", {}, `${formatSeconds(viewer.face.annotations.totalSeconds)} in all; the slowest nodes:`), table(rows), ...memoryChart(profile));
}

/** The errors of outputs, what the colours mean, and the layers with the largest shares. */
function quantizationSection(viewer: Viewer, quantization: Quantization): HTMLElement {
  const { nodes, kept } = quantization;
  const order = nodes.node.map((_, i) => i).sort((a, b) => nodes.share[b]! - nodes.share[a]!);
  const rows = order.slice(0, 10).map((i): [string, Node] => [formatShare(nodes.share[i]!), nodeLink(viewer, nodes.graph[i]!, nodes.node[i]!)]);
  const outputs = quantization.outputs.map(([name, decibels]): [string, string] => [name, decibels === null ? "no error" : formatDecibels(decibels)]);
  const largest = formatShare(viewer.face.annotations.largestShare);
  const legend = element("canvas", { class: "legend", label: `Colours: ${shareTitle(quantization)}, from 0 % to ${largest}` });
  [legend.width, legend.height] = [LEGEND.width, LEGEND.height];
  drawHeat(new CanvasPainter(legend.getContext("2d")!), 0, 0, LIGHT);
  return section("Quantization",
    element("p", {}, `${quantization.scheme}: ${nodes.node.length} layers here${kept.node.length ? `, ${kept.node.length} as they are` : ""}`),
    table(outputs),
    element("h4", {}, `Colours: ${shareTitle(quantization)}`), element("p", {}, "0 % ", legend, ` ${largest}`),
    table(rows));
}

/** Live bytes step by step; the peak is named, with the values that make it. */
function memoryChart({ memory }: Profile): HTMLElement[] {
  if (!memory.length) return [];
  const peak = memory.reduce((most, step) => (step.bytes > most.bytes ? step : most));
  const canvas = element("canvas", { class: "histogram", label: `Memory over ${memory.length} steps, at most ${formatBytes(peak.bytes)}` });
  [canvas.width, canvas.height] = [280, 90];
  const context = canvas.getContext("2d")!;
  memory.forEach((step, i) => {
    const height = (step.bytes / Math.max(1, peak.bytes)) * 88;
    context.fillStyle = step === peak ? "#d9480f" : "#4a7fc1";
    context.fillRect((i * 280) / memory.length, 90 - height, Math.max(1, 280 / memory.length), height);
  });
  return [
    element("h4", {}, "Memory over the run"), canvas,
    element("p", {}, `Peak ${formatBytes(peak.bytes)} at ${peak.step}`),
    element("ul", { class: "links" }, ...peak.values.slice(0, 8).map((value) => element("li", {}, value))),
  ];
}
