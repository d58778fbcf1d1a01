// Places for the types of values: beside the beginnings or the ends of their edges, where neither a box nor a line is.

import { edgeLabel } from "../scene/card.ts";
import type { PlacedFrame } from "../scene/scene.ts";
import { measure } from "./text.ts";

export const LABEL_SIZE = 9.5;
const HALF_HEIGHT = 6;
const WIDTH_LIMIT = 150;

export interface Label {
  text: string;
  x: number;
  y: number; // of the middle
  width: number;
}

interface Area {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Labels by net, left of a limit. */
export function placeLabels(frame: PlacedFrame, limit: number): Map<number, Label> {
  const labels = new Map<number, Label>();
  const taken = new AreaIndex();
  for (const box of frame.boxes) {
    if (box.width) taken.add({ left: box.x, top: box.y, right: box.x + box.width, bottom: box.y + box.height });
  }
  for (const route of frame.routes.flat()) addRoute(taken, route);
  frame.nets.forEach((net, n) => {
    const { kind } = frame.boxes[net.source]!.item;
    const route = frame.routes[n]?.find((points) => points.length);
    const text = net.values.length > 1 ? `${net.values.length} values` : edgeLabel(frame.frame.graph.type(net.value));
    // Boxes of inputs and outputs have their types.
    const isNamed = net.targets.every((target) => frame.boxes[target]!.item.kind === "output");
    if (!route || !text || kind === "entry" || kind === "input" || net.isBack || isNamed) return;
    const width = measure(text, LABEL_SIZE);
    if (width > WIDTH_LIMIT) return;
    for (const [x, y] of placesOf(route, width)) {
      const area = { left: x - 2, top: y - HALF_HEIGHT, right: x + width + 2, bottom: y + HALF_HEIGHT };
      if (area.left < 0 || area.right > limit || taken.meets(area)) continue;
      taken.add(area);
      labels.set(n, { text, x, y, width });
      return;
    }
  });
  return labels;
}

/** Places of a label, the best first: right and left of the beginning of its line, then of the end. */
function placesOf(route: number[], width: number): [x: number, y: number][] {
  const [x0, y0, x1, y1] = [route[0]!, route[1]! + 8, route[route.length - 2]!, route[route.length - 1]! - 14];
  return [[x0 + 5, y0], [x0 - width - 5, y0], [x1 + 6, y1], [x1 - width - 6, y1]];
}

/** Boxes around the pieces of a route; curves are cut so that the boxes are narrow. */
function addRoute(taken: AreaIndex, route: number[]): void {
  for (let i = 2; i < route.length; i += 2) {
    const [x0, y0, x1, y1] = [route[i - 2]!, route[i - 1]!, route[i]!, route[i + 1]!];
    const steps = Math.abs(x1 - x0) < 1 ? 1 : 8;
    let [px, py] = [x0, y0];
    for (let step = 1; step <= steps; step++) {
      const t = step / steps;
      const [x, y] = [x0 + (x1 - x0) * t * t * (3 - 2 * t), y0 + (y1 - y0) * t];
      taken.add({ left: Math.min(px, x), top: Math.min(py, y), right: Math.max(px, x), bottom: Math.max(py, y) });
      [px, py] = [x, y];
    }
  }
}

/** Areas by the bands of height that they meet. */
class AreaIndex {
  private readonly bands = new Map<number, Area[]>();

  private *bandsOf(area: Area): Generator<number> {
    for (let band = Math.floor(area.top / 40); band <= Math.floor(area.bottom / 40); band++) yield band;
  }

  add(area: Area): void {
    for (const band of this.bandsOf(area)) {
      const areas = this.bands.get(band);
      if (areas) areas.push(area);
      else this.bands.set(band, [area]);
    }
  }

  meets(area: Area): boolean {
    for (const band of this.bandsOf(area)) {
      for (const other of this.bands.get(band) ?? []) {
        if (other.left < area.right && other.right > area.left && other.top < area.bottom && other.bottom > area.top) return true;
      }
    }
    return false;
  }
}
