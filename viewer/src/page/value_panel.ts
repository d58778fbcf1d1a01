// Details of a value.

import { element } from "./dom.ts";
import { renderMarkdown } from "./markdown.ts";
import { heading, nodeLink, section, table } from "./parts.ts";
import { describeTensor } from "./tensor_panel.ts";
import type { Selection, Viewer } from "./viewer.ts";

const SOURCES = ["", "declared by the model", "inferred"];

export function describeValue(viewer: Viewer, selection: Selection): (Node | string)[] {
  const graph = viewer.document.graph(selection.graph);
  const value = selection.id;
  const origin = graph.resolve(value);
  const notes = origin.graph.data.values.notes[origin.value] ?? {};
  const facts: [string, Node | string][] = [["type", graph.type(value) || "unknown"]];
  const source = SOURCES[graph.data.values.source[value] ?? 0];
  if (source) facts.push(["source of the type", source]);
  if (graph.captured(value) >= 0) facts.push(["captured", "from the graph around"]);
  const literal = origin.graph.literal(origin.value);
  if (literal !== undefined) facts.push(["elements", element("code", {}, literal)]);
  if (notes.quantization) facts.push(["quantisation", notes.quantization]);
  const producer = origin.graph.producer(origin.value);
  if (producer >= 0) facts.push(["producer", nodeLink(viewer, origin.graph.index, producer)]);
  const consumers = [...new Set(graph.consumers(value))];
  const tensor = origin.graph.tensor(origin.value);
  const kind = graph.data.inputs.includes(value) ? "input of the graph" : graph.isOutput(value) ? "output of the graph" : tensor >= 0 ? "weight" : "value";
  return [
    heading(graph.valueName(value) || "(no name)", kind),
    table(facts),
    ...(tensor >= 0 ? [describeTensor(viewer, tensor)] : []),
    ...(notes.metadata?.length ? [section("Metadata", table(notes.metadata))] : []),
    ...(notes.documentation ? [section("Documentation", renderMarkdown(notes.documentation))] : []),
    ...(consumers.length ? [section(`Consumers (${consumers.length})`, element("ul", { class: "links" }, ...consumers.slice(0, 60).map((node) => element("li", {}, nodeLink(viewer, graph.index, node)))))] : []),
  ];
}
