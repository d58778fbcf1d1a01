// Nodes as text: in the textual syntax of ONNX, and how many.

import type { GraphView } from "./graph_view.ts";

export function nodeText(graph: GraphView, node: number): string {
  const name = (value: number): string => (value < 0 ? '""' : identifier(graph.valueName(value)));
  const outputs = graph.outputs(node).map(name).join(", ");
  const attributes = graph
    .attributes(node)
    .filter((a) => !a.isDefault)
    .map((a) => `${a.name} = ${a.text}`);
  const domain = graph.domain(node) ? `${graph.domain(node)}.` : "";
  const label = graph.nodeName(node) ? `[${identifier(graph.nodeName(node))}] ` : "";
  return `${label}${outputs} = ${domain}${graph.operator(node)}${attributes.length ? ` <${attributes.join(", ")}>` : ""} (${graph.inputs(node).map(name).join(", ")})`;
}

function identifier(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}

/** "1 node", "12,345 nodes". Without `toLocaleString`, whose first call in a page takes some 15 ms to read the data of locales. */
export function countNodes(count: number): string {
  return `${String(count).replace(/\B(?=(\d{3})+$)/g, ",")} node${count === 1 ? "" : "s"}`;
}
