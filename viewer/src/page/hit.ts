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

/** Every box, an open one before what it holds. */
export function* allBoxes(frame: PlacedFrame, x = 0, y = 0, parent: PlacedBox | null = null): Generator<PlacedBox> {
  for (const box of frame.boxes) {
    if (box.card.kind === "port") continue;
    const placed = { box, frame, x: x + box.x, y: y + box.y, parent };
    yield placed;
    for (const content of box.contents) yield* allBoxes(content, placed.x + content.x, placed.y + content.y, placed);
  }
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
