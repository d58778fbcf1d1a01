// What a box says when it is closed: a title and lines, and the size that they need.

import { familyOf } from "../model/operators.ts";
import type { Family } from "../model/operators.ts";
import type { GraphView } from "../model/graph_view.ts";
import { countNodes } from "../model/node_text.ts";
import { measure, shorten } from "../drawing/text.ts";
import type { Frame, FrameItem } from "./frame.ts";

export type CardKind = "node" | "function" | "scope" | "repetition" | "value" | "port";
export type LineKind = "attribute" | "weight" | "named" | "detail";

export interface CardLine {
  kind: LineKind;
  text: string;
}

export interface Card {
  kind: CardKind;
  family: Family;
  title: string;
  lines: CardLine[];
  width: number;
  height: number;
}

export const TITLE_SIZE = 12.5;
export const LINE_SIZE = 10.5;
export const TITLE_HEIGHT = 24;
export const LINE_HEIGHT = 15;
const PADDING = 10;
const WIDTH_LIMIT = 230;
const LINE_LIMIT = 5;

/** Values of a function's attributes where it is called. */
export type Parameters = ReadonlyMap<string, string>;

export function makeCard(frame: Frame, item: FrameItem, named: string[], parameters: Parameters): Card {
  const { graph } = frame;
  switch (item.kind) {
    case "node": return nodeCard(graph, item.id, named, parameters);
    case "scope": return scopeCard(graph, item.id, named);
    case "input":
    case "output": return valueCard(graph, item.id, named);
    default: return { kind: "port", family: "other", title: "", lines: [], width: 0, height: 0 };
  }
}

function nodeCard(graph: GraphView, node: number, named: string[], parameters: Parameters): Card {
  const lines: CardLine[] = [];
  lines.push(...digestAttributes(graph, node, parameters).map((text): CardLine => ({ kind: "attribute", text })));
  lines.push(...inlineInputs(graph, node));
  lines.push(...named.map((text): CardLine => ({ kind: "named", text })));
  const body = graph.body(node) >= 0;
  const operator = graph.operator(node) || "?";
  return sized({ kind: body ? "function" : "node", family: familyOf(operator), title: operator, lines });
}

function scopeCard(graph: GraphView, scope: number, named: string[]): Card {
  const count = graph.repetitions(scope);
  const repeated = graph.scopeKind(scope) === "repetition";
  const lines: CardLine[] = [{ kind: "detail", text: countNodes(graph.nodesBelow(scope)) }];
  lines.push(...named.map((text): CardLine => ({ kind: "named", text })));
  const title = repeated && count > 1 ? `${graph.scopeLabel(scope)} × ${count}` : graph.scopeLabel(scope);
  return sized({ kind: repeated ? "repetition" : "scope", family: "other", title, lines });
}

function valueCard(graph: GraphView, value: number, named: string[]): Card {
  const type = graph.type(value);
  const lines: CardLine[] = type ? [{ kind: "detail", text: shortType(type) }] : [];
  lines.push(...named.map((text): CardLine => ({ kind: "named", text })));
  return sized({ kind: "value", family: "other", title: graph.valueName(value), lines });
}

/** "float32[1, 3, 224, 224]" as "float32 1×3×224×224"; other types as they are. */
export function shortType(type: string): string {
  const match = /^(\w+)\[([^\]]*)\]$/.exec(type);
  return match ? `${match[1]} ${shortShape(match[2]!)}`.trimEnd() : type;
}

function shortShape(dims: string): string {
  return dims.split(/,\s*/).join("×");
}

/** The shape alone where an element type would be noise: float32 is what most values are. */
export function edgeLabel(type: string): string {
  const match = /^(\w+)\[([^\]]*)\]$/.exec(type);
  if (!match) return type;
  const shape = match[2] ? shortShape(match[2]) : "scalar";
  return match[1] === "float32" ? shape : `${match[1]} ${shape}`;
}

const TYPES = ["", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16"];

/** Attributes that say most about a node, without those that have their default, on two lines. */
function digestAttributes(graph: GraphView, node: number, parameters: Parameters): string[] {
  const lines: string[] = [];
  const shown = graph.attributes(node).filter((a) => !a.isDefault && !a.graphs?.length && !a.tensors?.length && a.text.length < 40);
  for (const { name, text, type } of shown) {
    const part = attributeText(name, type === "reference" ? (parameters.get(text.replace(/^@/, "")) ?? text) : text);
    const last = lines[lines.length - 1];
    if (last !== undefined && measure(`${last}, ${part}`, LINE_SIZE) < WIDTH_LIMIT - 2 * PADDING) lines[lines.length - 1] = `${last}, ${part}`;
    else if (lines.length < 2) lines.push(part);
  }
  return lines;
}

function attributeText(name: string, text: string): string {
  if (name === "to" || name === "dtype") return `${name} ${TYPES[Number(text)] ?? text}`;
  if (/^(kernel_shape|strides|dilations)$/.test(name)) return `${name.replace("_shape", "")} ${text.replace(/[[\]]/g, "").split(/,\s*/).join("×")}`;
  return `${name} ${text.replace(/^"(.*)"$/, "$1")}`;
}

function inlineInputs(graph: GraphView, node: number): CardLine[] {
  const lines: CardLine[] = [];
  const names = graph.inputNames(node);
  graph.inputs(node).forEach((value, i) => {
    if (value < 0 || !graph.isInline(value)) return;
    const origin = graph.resolve(value);
    const literal = constantText(origin.graph, origin.value);
    lines.push({ kind: "weight", text: `${names[i] ?? `input ${i}`} ${literal}` });
  });
  return lines;
}

/** The limits of int64, which exporters write for "to the end". */
function nameLimits(text: string): string {
  return text.replace(/-922337203685477580[78]/g, "min").replace(/9223372036854775807/g, "max");
}

function constantText(graph: GraphView, value: number): string {
  const literal = graph.literal(value);
  if (literal !== undefined) return nameLimits(literal);
  const type = graph.type(value);
  if (type) return `(${edgeLabel(type)})`;
  const tensor = graph.document.tensors[graph.tensor(value)];
  if (tensor) return `(${tensor.shape.join("×")})`;
  const producer = graph.producer(value);
  return producer >= 0 ? (graph.attributes(producer)[0]?.text ?? "") : "";
}

function sized(card: Omit<Card, "width" | "height">): Card {
  let lines = card.lines;
  if (lines.length > LINE_LIMIT) {
    const rest = lines.length - LINE_LIMIT + 1;
    lines = [...lines.slice(0, LINE_LIMIT - 1), { kind: "detail", text: `${rest} more` }];
  }
  const room = WIDTH_LIMIT - 2 * PADDING;
  const extra = card.kind === "node" || card.kind === "value" ? 0 : 16; // the sign that a box opens
  const title = shorten(card.title, room - extra, TITLE_SIZE, true);
  lines = lines.map((line) => ({ ...line, text: shorten(line.text, room, LINE_SIZE) }));
  const widest = lines.reduce((most, line) => Math.max(most, measure(line.text, LINE_SIZE)), measure(title, TITLE_SIZE, true) + extra);
  const width = Math.max(56, Math.ceil(widest) + 2 * PADDING);
  const height = TITLE_HEIGHT + (lines.length ? lines.length * LINE_HEIGHT + 6 : 0);
  return { ...card, title, lines, width, height };
}
