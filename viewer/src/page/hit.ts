// Which box is where: by position, and by key.

import type { Box, PlacedFrame } from "../scene/scene.ts";

export interface PlacedBox {
  box: Box;
  frame: PlacedFrame;
  x: number; // in the scene
  y: number;
  parent: PlacedBox | null;
}

/** The innermost box at a point of the scene. */
export function boxAt(scene: PlacedFrame, px: number, py: number): PlacedBox | null {
  return search(scene, 0, 0, null, (x, y, box) => px >= x && px <= x + box.width && py >= y && py <= y + box.height, true);
}

export function boxWithKey(scene: PlacedFrame, key: string): PlacedBox | null {
  return search(scene, 0, 0, null, (_x, _y, box) => box.key === key, false);
}

/** Every box, an open one before what it holds; `order` sorts those of a frame. */
export function* allBoxes(frame: PlacedFrame, order = (boxes: Box[]): Box[] => boxes, x = 0, y = 0, parent: PlacedBox | null = null): Generator<PlacedBox> {
  for (const box of order(frame.boxes)) {
    if (box.card.kind === "port") continue;
    const placed = { box, frame, x: x + box.x, y: y + box.y, parent };
    yield placed;
    for (const content of box.contents) yield* allBoxes(content, order, placed.x + content.x, placed.y + content.y, placed);
  }
}

/** Boxes in the order of the graph: inputs, nodes and scopes by their first nodes, outputs. */
export function inGraphOrder(boxes: Box[]): Box[] {
  const places = new Map(boxes.map((box) => [box, placeInGraph(box)]));
  return [...boxes].sort((a, b) => places.get(a)! - places.get(b)!);
}

function placeInGraph({ item, graph }: Box): number {
  if (item.kind === "node") return item.id;
  if (item.kind === "scope") return graph.firstNode(item.id);
  return item.kind === "output" || item.kind === "exit" ? graph.nodeCount : -1;
}

function search(frame: PlacedFrame, x: number, y: number, parent: PlacedBox | null, test: (x: number, y: number, box: Box) => boolean, nested: boolean): PlacedBox | null {
  for (const box of frame.boxes) {
    if (box.card.kind === "port") continue;
    const matches = test(x + box.x, y + box.y, box);
    if (nested && !matches) continue;
    const placed = { box, frame, x: x + box.x, y: y + box.y, parent };
    if (matches && !nested) return placed;
    for (const content of box.contents) {
      const inner = search(content, placed.x + content.x, placed.y + content.y, placed, test, nested);
      if (inner) return inner;
    }
    if (matches) return placed;
  }
  return null;
}
