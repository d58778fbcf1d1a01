// Pieces that panels consist of.

import type { Finding } from "../page_data.ts";
import { button, element } from "./dom.ts";
import type { Viewer } from "./viewer.ts";

export function heading(text: string, detail = ""): HTMLElement {
  return element("header", {}, element("h2", {}, text), detail ? element("p", { class: "detail" }, detail) : null);
}

export function section(title: string, ...children: (Node | string | null)[]): HTMLElement {
  return element("section", {}, element("h3", {}, title), ...children);
}

export function table(rows: [string, Node | string][], className = ""): HTMLElement {
  const body = element("tbody", {}, ...rows.map(([key, value]) => element("tr", {}, element("th", {}, key), element("td", {}, value))));
  return element("table", { class: `facts ${className}` }, body);
}

export function findingsSection(viewer: Viewer, findings: Finding[]): HTMLElement | null {
  if (!findings.length) return null;
  const rows = findings.slice(0, 200).map((finding) => {
    const { graph, node, value } = finding.place;
    const show = node >= 0 ? () => void viewer.reveal(graph, node) : value >= 0 ? () => void viewer.revealValue(graph, value) : null;
    const code = graph >= 0 && show ? button(finding.code, "Show where", show, "link") : element("b", {}, finding.code);
    return element("li", { class: `finding ${finding.severity}` }, code, ` ${finding.severity}: ${finding.message}`,
      finding.cure ? element("p", { class: "cure" }, finding.cure) : null, finding.clause ? element("p", { class: "clause" }, finding.clause) : null);
  });
  return section(`Findings (${findings.length})`, element("ul", { class: "findings" }, ...rows));
}

/** A value of a graph as a button that selects it. */
export function valueLink(viewer: Viewer, graph: number, instance: string, value: number): HTMLElement {
  const view = viewer.document.graph(graph);
  if (value < 0) return element("span", { class: "absent" }, "left out");
  const name = button(view.valueName(value) || "(no name)", "Select this value", () => { viewer.select({ kind: "value", graph, instance, id: value }); }, "link");
  const origin = view.resolve(value);
  const literal = origin.graph.literal(origin.value);
  return element("span", {}, name, element("span", { class: "type" }, view.type(value)), literal === undefined ? null : element("code", {}, literal));
}

export function nodeLink(viewer: Viewer, graph: number, node: number): HTMLElement {
  const view = viewer.document.graph(graph);
  const name = view.nodeName(node);
  return button(`${view.operator(node)}${name ? ` · ${name}` : ""}`, "Show this node", () => void viewer.reveal(graph, node), "link");
}
