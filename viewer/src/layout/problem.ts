// What a layered layout receives and answers. Lengths are in pixels of an unscaled picture.

export interface LayoutItem {
  width: number;
  height: number;
  layer: "first" | "last" | "free"; // ports of a frame belong to its first or last layer
}

/** An end of an edge; `offset` from the left border of the item, null where the layout may choose. */
export interface LayoutEnd {
  item: number;
  offset: number | null;
}

/** A value: its edges share their way until they part. */
export interface LayoutNet {
  source: LayoutEnd;
  targets: LayoutEnd[];
  isBack?: boolean; // goes back to what the others begin with, whatever its direction
}

export interface LayoutProblem {
  items: LayoutItem[];
  nets: LayoutNet[];
  earlier?: number[]; // centres of the items in an earlier layout, whose order is kept where that costs few crossings
}

/** `routes[net][target]` is x0, y0, x1, y1, ...: points that curves with vertical ends connect. */
export interface Layout {
  width: number;
  height: number;
  x: number[]; // left borders
  y: number[]; // upper borders
  routes: number[][][];
}

export const COLUMN_GAP = 22;
export const LINE_GAP = 12; // beside a line that passes a layer
export const LAYER_GAP = 30;
export const LAYER_GAP_LIMIT = 90;
