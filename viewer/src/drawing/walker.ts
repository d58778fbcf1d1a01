// Draws a scene: the same walk for the canvas and for SVG. What is outside of the view or smaller than a pixel is left out.

import { LINE_HEIGHT, LINE_SIZE, TITLE_HEIGHT, TITLE_SIZE } from "../scene/card.ts";
import type { CardLine } from "../scene/card.ts";
import { FRAME_PADDING } from "../scene/scene.ts";
import type { Box, PlacedFrame } from "../scene/scene.ts";
import type { Label } from "./labels.ts";
import { LABEL_SIZE, placeLabels } from "./labels.ts";
import type { Painter, Route } from "./painter.ts";
import { measure, shorten } from "./text.ts";
import type { Theme } from "./theme.ts";

/** What a mode says about a box, drawn on top of its usual look. */
export interface Decoration {
  tint?: string; // instead of the colour of the family
  outline?: string;
  badges?: Badge[]; // from right to left
  dim?: boolean;
}

export interface Badge {
  text: string;
  short: string; // where the text would hide what is beside the box
  color: string;
}

export interface Appearance {
  theme: Theme;
  zoom: number;
  origin: [x: number, y: number]; // of the scene
  view: { left: number; top: number; right: number; bottom: number } | null; // null: everything
  decorate: (box: Box) => Decoration | null;
  isLit: (graph: number, instance: string, value: number) => boolean; // edges of this value are highlighted
}

export function drawScene(painter: Painter, scene: PlacedFrame, look: Appearance): void {
  drawFrame(painter, scene, look.origin[0], look.origin[1], 0, look);
}

function drawFrame(painter: Painter, frame: PlacedFrame, x: number, y: number, depth: number, look: Appearance): void {
  drawEdges(painter, frame, x, y, depth, look);
  for (const box of frame.boxes) {
    const [left, top] = [x + box.x, y + box.y];
    if (isVisible(look, left - 60, top - 20, left + box.width + 14, top + box.height + 8)) drawBox(painter, box, left, top, depth, look);
  }
}

function isVisible({ view }: Appearance, left: number, top: number, right: number, bottom: number): boolean {
  return !view || (left <= view.right && right >= view.left && top <= view.bottom && bottom >= view.top);
}

const BADGE_OVERLAP = 12; // of a badge beyond its box
const BADGE_GAP = 3; // between two badges

const BUNDLE_WIDTH = 2.2; // of the line of several values, in widths of that of one

const boundsOf = new WeakMap<PlacedFrame, Float64Array>();

/** Left, top, right and bottom of the routes of each net. */
function netBounds(frame: PlacedFrame): Float64Array {
  let bounds = boundsOf.get(frame);
  if (bounds) return bounds;
  bounds = new Float64Array(frame.routes.length * 4);
  frame.routes.forEach((routes, net) => {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const route of routes) {
      for (let i = 0; i < route.length; i += 2) {
        left = Math.min(left, route[i]!);
        right = Math.max(right, route[i]!);
        top = Math.min(top, route[i + 1]!);
        bottom = Math.max(bottom, route[i + 1]!);
      }
    }
    bounds.set([left, top, right, bottom], net * 4);
  });
  boundsOf.set(frame, bounds);
  return bounds;
}

function drawEdges(painter: Painter, frame: PlacedFrame, x: number, y: number, depth: number, look: Appearance): void {
  const bounds = netBounds(frame);
  const plain: Route[] = [];
  const bundled: Route[] = [];
  const lit: Route[] = [];
  const shown: number[] = [];
  const tips: Tips = { plain: [], lit: [] };
  for (let net = 0; net < frame.routes.length; net++) {
    const b = net * 4;
    if (!isVisible(look, x + bounds[b]! - 30, y + bounds[b + 1]! - 30, x + bounds[b + 2]! + 60, y + bounds[b + 3]! + 30)) continue;
    shown.push(net);
    const { values } = frame.nets[net]!;
    const isLit = values.some((value) => look.isLit(frame.frame.graph.index, frame.instance, value));
    frame.routes[net]!.forEach((route, target) => {
      if (!route.length) return;
      (isLit ? lit : values.length > 1 ? bundled : plain).push(route);
      if (hasTip(frame, net, target)) (isLit ? tips.lit : tips.plain).push(x + route[route.length - 2]!, y + route[route.length - 1]!);
    });
  }
  const width = look.zoom < 0.25 ? Math.min(4, 0.5 / look.zoom) : 1.2;
  painter.curves(plain, x, y, look.theme.line, width);
  painter.curves(bundled, x, y, look.theme.line, width * BUNDLE_WIDTH);
  painter.curves(lit, x, y, look.theme.highlight, width * 2);
  if (look.zoom < 0.3) return;
  painter.arrows(tips.plain, look.theme.line, 6);
  painter.arrows(tips.lit, look.theme.highlight, 7);
  if (look.zoom > 0.55) drawLabels(painter, labelsFor(frame, depth === 0), shown, x, y, look);
}

interface Tips {
  plain: number[];
  lit: number[];
}

/** Whether a route ends with an arrow: not where it goes on through the border of a box. */
function hasTip(frame: PlacedFrame, net: number, target: number): boolean {
  return !frame.continued[net]![target] && frame.boxes[frame.nets[net]!.targets[target]!]!.item.kind !== "exit";
}

const labelsOf = new WeakMap<PlacedFrame, Map<number, Label>>();

/** Types of values beside their edges, by net; in a frame inside of a box they stay inside. */
export function labelsFor(frame: PlacedFrame, isRoot: boolean): Map<number, Label> {
  let labels = labelsOf.get(frame);
  if (!labels) labelsOf.set(frame, (labels = placeLabels(frame, isRoot ? Infinity : frame.width + FRAME_PADDING - 2)));
  return labels;
}

function drawLabels(painter: Painter, labels: Map<number, Label>, shown: number[], x: number, y: number, look: Appearance): void {
  for (const net of shown) {
    const label = labels.get(net);
    if (!label) continue;
    const { width } = label;
    if (!isVisible(look, x + label.x, y + label.y - 6, x + label.x + width, y + label.y + 6)) continue;
    painter.text(label.text, x + label.x, y + label.y, { size: LABEL_SIZE, color: look.theme.mutedText, width });
  }
}

function drawBox(painter: Painter, box: Box, x: number, y: number, depth: number, look: Appearance): void {
  if (box.card.kind === "port") return;
  const decoration = look.decorate(box);
  painter.group(box.card.title, () => {
    if (box.contents.length) drawOpenBox(painter, box, x, y, depth, look, decoration);
    else if (Math.max(box.width, box.height) * look.zoom < 2) return;
    else drawClosedBox(painter, box, x, y, look, decoration);
    if (decoration?.outline) {
      const width = Math.max(2.5, 2.5 / look.zoom);
      painter.box(x - 2.5, y - 2.5, box.width + 5, box.height + 5, { stroke: decoration.outline, width, radius: 8 });
    }
    if (decoration?.badges && look.zoom > 0.3) drawBadges(painter, box, x, y, decoration.badges, look);
  });
}

function drawOpenBox(painter: Painter, box: Box, x: number, y: number, depth: number, look: Appearance, decoration: Decoration | null): void {
  const { theme, zoom } = look;
  const fill = theme.scope[depth % theme.scope.length]!;
  painter.box(x, y, box.width, box.height, { fill, stroke: decoration?.tint ?? theme.scopeBorder, width: Math.max(1, 0.7 / zoom), radius: 8, dash: box.item.kind === "node" });
  drawCrossings(painter, box, x, y, look);
  if (zoom > 0.25) {
    const title = shorten(box.card.title, box.width - 40, TITLE_SIZE, true);
    painter.box(x + 5, y + 3, 28 + measure(title, TITLE_SIZE, true), TITLE_HEIGHT - 5, { fill });
    painter.text(title, x + 28, y + TITLE_HEIGHT / 2 + 1, { size: TITLE_SIZE, bold: true, color: theme.scopeTitle, width: measure(title, TITLE_SIZE, true) });
    drawSign(painter, x + 10, y + TITLE_HEIGHT / 2 - 4, true, theme.scopeTitle);
  }
  for (const content of box.contents) {
    if (content.title && zoom > 0.3) {
      const width = measure(content.title, LINE_SIZE, true);
      painter.box(x + content.x - 3, y + content.y - 21, width + 6, 14, { fill });
      painter.text(content.title, x + content.x, y + content.y - 14, { size: LINE_SIZE, bold: true, color: theme.mutedText, width });
    }
    drawFrame(painter, content, x + content.x, y + content.y, depth + 1, look);
  }
}

/** Lines between the border of an open box and the ports of its frames. */
function drawCrossings(painter: Painter, box: Box, x: number, y: number, look: Appearance): void {
  const plain: Route[] = [];
  const lit: Route[] = [];
  const entered = new Map<number, number>(); // where captured values enter, which several frames may use
  for (const content of box.contents) {
    for (const port of content.boxes) {
      const route = crossing(box, content, port, entered);
      if (route) (look.isLit(port.graph.index, content.instance, port.item.id) ? lit : plain).push(route);
    }
  }
  const width = look.zoom < 0.25 ? Math.min(4, 0.5 / look.zoom) : 1.2;
  painter.curves(plain, x, y, look.theme.line, width);
  painter.curves(lit, x, y, look.theme.highlight, width * 2);
}

function crossing(box: Box, content: PlacedFrame, port: Box, entered: Map<number, number>): Route | null {
  const { kind, id } = port.item;
  const [px, top] = [content.x + port.x + port.width / 2, content.y + port.y];
  if (kind === "entry") {
    const value = box.item.kind === "scope" ? id : port.graph.captured(id);
    const start = entered.get(value) ?? px;
    entered.set(value, start);
    return [start, 0, px, top];
  }
  if (kind === "exit") return [px, top, px, box.height];
  // Formal inputs and outputs of a call continue its inputs and outputs.
  if (box.item.kind !== "node" || box.graph.body(box.item.id) < 0) return null;
  const formal = kind === "input" ? port.graph.data.inputs.indexOf(id) : port.graph.data.outputs.indexOf(id);
  const actual = kind === "input" ? box.graph.inputs(box.item.id)[formal] : box.graph.outputs(box.item.id)[formal];
  if (actual === undefined || actual < 0 || (kind === "input" && box.graph.isInline(actual))) return null;
  return kind === "input" ? [px, 0, px, top] : [px, top + port.height, px, box.height];
}

function drawClosedBox(painter: Painter, box: Box, x: number, y: number, look: Appearance, decoration: Decoration | null): void {
  const { theme, zoom } = look;
  const { card } = box;
  const isPlain = card.kind === "node" || card.kind === "function";
  const color = decoration?.tint ?? (isPlain ? theme.families[card.family] : card.kind === "value" ? theme.value : theme.scope[1]!);
  const tinted = decoration?.tint !== undefined;
  const border = isPlain ? color : card.kind === "value" ? theme.border : theme.scopeBorder;
  const radius = card.kind === "value" ? 11 : 5;
  if (card.kind === "repetition") {
    painter.box(x + 5, y + 5, box.width, box.height, { fill: theme.scope[0]!, stroke: border, radius });
    painter.box(x + 2.5, y + 2.5, box.width, box.height, { fill: theme.scope[0]!, stroke: border, radius });
  }
  const hasBody = isPlain && card.lines.length > 0;
  painter.box(x, y, box.width, box.height, { fill: hasBody ? theme.surface : color, stroke: border, radius, width: zoom < 0.4 ? 1.5 : 1 });
  if (hasBody) {
    painter.box(x, y, box.width, TITLE_HEIGHT, { fill: color, radius });
    painter.box(x, y + TITLE_HEIGHT - radius, box.width, radius, { fill: color });
  }
  if (zoom < 0.25) return;
  const titleColor = isPlain || tinted ? theme.titleText : card.kind === "value" ? theme.valueText : theme.scopeTitle;
  drawTexts(painter, box, x, y, titleColor, isPlain || !tinted ? theme.text : theme.titleText, look);
}

function drawTexts(painter: Painter, box: Box, x: number, y: number, titleColor: string, lineColor: string, look: Appearance): void {
  const { card } = box;
  const middle = x + box.width / 2;
  const sign = box.canOpen ? 16 : 0;
  painter.text(card.title, middle + sign / 2, y + TITLE_HEIGHT / 2 + 0.5, { size: TITLE_SIZE, bold: true, color: titleColor, align: "middle", width: measure(card.title, TITLE_SIZE, true) });
  if (sign) drawSign(painter, x + 8, y + TITLE_HEIGHT / 2 - 4, false, titleColor);
  if (look.zoom < 0.45) return;
  card.lines.forEach((line, i) => {
    const centred = card.kind !== "node" && card.kind !== "function";
    const color = line.kind === "named" ? look.theme.highlight : isMuted(line) && lineColor === look.theme.text ? look.theme.mutedText : lineColor;
    const width = measure(line.text, LINE_SIZE);
    painter.text(line.text, centred ? middle : x + 10, y + TITLE_HEIGHT + 3 + LINE_HEIGHT * (i + 0.5), { size: LINE_SIZE, color, width, align: centred ? "middle" : "left" });
  });
}

function isMuted(line: CardLine): boolean {
  return line.kind === "attribute" || line.kind === "detail";
}

/** A plus where a box opens, a minus where it closes. */
function drawSign(painter: Painter, x: number, y: number, isOpen: boolean, color: string): void {
  painter.box(x, y, 9, 9, { stroke: color, radius: 2 });
  painter.box(x + 2, y + 4, 5, 1, { fill: color });
  if (!isOpen) painter.box(x + 4, y + 2, 1, 5, { fill: color });
}

/** Badges above the right end of a box, where they hide neither the title of the box nor that of the next one. */
function drawBadges(painter: Painter, box: Box, x: number, y: number, badges: Badge[], look: Appearance): void {
  const widthOf = (text: string): number => measure(text, LINE_SIZE, true) + 12;
  const room = box.width + 2 * BADGE_OVERLAP;
  const isLong = badges.reduce((sum, badge) => sum + widthOf(badge.text) + BADGE_GAP, 0) > room;
  let right = x + box.width + BADGE_OVERLAP;
  for (const badge of badges) {
    const text = isLong ? badge.short : badge.text;
    const width = widthOf(text);
    painter.box(right - width, y - 18, width, 16, { fill: badge.color, radius: 8 });
    painter.text(text, right - width / 2, y - 10, { size: LINE_SIZE, bold: true, color: look.theme.background, align: "middle", width: width - 12 });
    right -= width + BADGE_GAP;
  }
}
