// Search of nodes: words, and terms with a key. Words match operators, names and values; `type:` and `shape:` match any value of
// the node; `name:`, `op:` and `domain:` match those; `attribute=text` matches attributes. All terms of a query must match.

import type { DocumentView, GraphView } from "./graph_view.ts";

export interface Term {
  key: string; // "" for a word, "=name" for an attribute
  text: string; // in lower case
}

export function parseQuery(query: string): Term[] {
  return (query.match(/"[^"]*"|\S+/g) ?? []).map((part) => {
    const plain = part.replace(/^"(.*)"$/, "$1").toLowerCase();
    const keyed = /^(type|shape|name|op|domain):(.+)$/.exec(plain);
    if (keyed) return { key: keyed[1]!, text: keyed[2]! };
    const attribute = /^([a-z_]\w*)=(.*)$/.exec(plain);
    if (attribute) return { key: `=${attribute[1]!}`, text: attribute[2]! };
    return { key: "", text: plain };
  });
}

export class NodeSearch {
  private readonly lower: string[];
  private readonly masks = new Map<string, Uint8Array>();

  constructor(private readonly graph: GraphView) {
    this.lower = lowerStrings(graph.document.strings);
  }

  /** Nodes that match: those whose operator or name is a word of the query first. */
  find(query: string, limit: number): { nodes: number[]; total: number } {
    const terms = parseQuery(query);
    if (!terms.length) return { nodes: [], total: 0 };
    const exact: number[] = [];
    const others: number[] = [];
    let total = 0;
    for (let node = 0; node < this.graph.nodeCount; node++) {
      if (!terms.every((term) => this.matches(node, term))) continue;
      total++;
      if (this.isExact(node, terms)) {
        if (exact.length < limit) exact.push(node);
      } else if (others.length < limit) others.push(node);
    }
    return { nodes: [...exact, ...others].slice(0, limit), total };
  }

  private isExact(node: number, terms: Term[]): boolean {
    const { operator, name } = this.graph.data.nodes;
    return terms.some(({ text }) => this.lower[operator[node]!] === text || this.lower[name[node]!] === text);
  }

  private matches(node: number, { key, text }: Term): boolean {
    const { nodes, values } = this.graph.data;
    const mask = this.mask(key === "shape" ? normaliseShape(text) : text, key === "shape");
    switch (key) {
      case "op": return this.lower[nodes.operator[node]!] === text;
      case "name": return mask[nodes.name[node]!] === 1;
      case "domain": return mask[nodes.domain[node]!] === 1;
      case "type":
      case "shape": return this.someValue(node, (value) => mask[values.type[value]!] === 1);
      case "": return mask[nodes.operator[node]!] === 1 || mask[nodes.name[node]!] === 1 || this.someValue(node, (value) => mask[values.name[value]!] === 1);
      default: return this.hasAttribute(node, key.slice(1), text);
    }
  }

  /** Strings that contain a text; shapes are compared with "x" between sizes, and match as a whole or as a beginning or end. */
  private mask(text: string, shapes: boolean): Uint8Array {
    const key = `${shapes ? "s" : "t"}${text}`;
    let mask = this.masks.get(key);
    if (!mask) {
      mask = new Uint8Array(this.lower.length);
      for (let i = 0; i < mask.length; i++) mask[i] = (shapes ? shapeMatches(this.lower[i]!, text) : this.lower[i]!.includes(text)) ? 1 : 0;
      if (this.masks.size > 20) this.masks.clear();
      this.masks.set(key, mask);
    }
    return mask;
  }

  private someValue(node: number, test: (value: number) => boolean): boolean {
    const { inputs, inputEnds, outputs, outputEnds } = this.graph.data.nodes;
    for (let i = node ? inputEnds[node - 1]! : 0; i < inputEnds[node]!; i++) if (inputs[i]! >= 0 && test(inputs[i]!)) return true;
    for (let i = node ? outputEnds[node - 1]! : 0; i < outputEnds[node]!; i++) if (outputs[i]! >= 0 && test(outputs[i]!)) return true;
    return false;
  }

  private hasAttribute(node: number, name: string, text: string): boolean {
    return this.graph.attributes(node).some((a) => {
      if (!a.name.toLowerCase().startsWith(name)) return false;
      const own = a.text.toLowerCase();
      const items = own.replace(/^\[|\]$/g, "").split(/,\s*/);
      return own === text || own.replace(/^"|"$/g, "") === text || items.join("x") === text || (items.every((item) => item === text) && text !== "");
    });
  }
}

/** Does ahead what the first search in a document would do. */
export function prepareSearch(document: DocumentView): void {
  lowerStrings(document.data.strings);
}

const loweredStrings = new WeakMap<string[], string[]>();

function lowerStrings(strings: string[]): string[] {
  let lower = loweredStrings.get(strings);
  if (!lower) loweredStrings.set(strings, (lower = strings.map((text) => text.toLowerCase())));
  return lower;
}

function normaliseShape(text: string): string {
  return text.replace(/[[\]\s]/g, "").replace(/[,×]/g, "x");
}

function shapeMatches(type: string, wanted: string): boolean {
  const open = type.indexOf("[");
  if (open < 0 || !type.endsWith("]")) return false;
  return `x${normaliseShape(type.slice(open))}x`.includes(`x${wanted}x`);
}
