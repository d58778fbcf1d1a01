// What a picture is drawn with; the canvas of the page and SVG text are the two ways to do it.

export interface Fill {
  fill?: string;
  stroke?: string;
  width?: number;
  dash?: boolean;
  radius?: number;
}

export interface TextStyle {
  size: number;
  color: string;
  bold?: boolean;
  align?: "left" | "middle";
  width: number; // the text was measured to need so much
}

/** A route is x0, y0, x1, y1, ...: see Layout. */
export type Route = readonly number[];

export interface Painter {
  box(x: number, y: number, width: number, height: number, style: Fill): void;
  text(text: string, x: number, y: number, style: TextStyle): void; // y of the middle of the line
  curves(routes: readonly Route[], x: number, y: number, color: string, width: number, dash?: boolean): void;
  arrows(points: readonly number[], color: string, size: number): void; // tips that point down
  group(label: string, draw: () => void): void; // what belongs to one box
}

interface PathSink {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void;
}

const TURN = 22; // how far a line that turns back leaves its layer

/** Lines where x stays, curves with vertical ends elsewhere. */
export function traceRoute(sink: PathSink, route: Route, dx: number, dy: number): void {
  let [px, py] = [route[0]! + dx, route[1]! + dy];
  let turns = 0;
  sink.moveTo(px, py);
  for (let i = 2; i < route.length; i += 2) {
    const [x, y] = [route[i]! + dx, route[i + 1]! + dy];
    if (Math.abs(x - px) < 0.1) sink.lineTo(x, y);
    else if (Math.abs(y - py) < 0.1) {
      const turn = turns++ ? -TURN : TURN;
      sink.bezierCurveTo(px, py + turn, x, y + turn, x, y);
    } else {
      const middle = (py + y) / 2;
      sink.bezierCurveTo(px, middle, x, middle, x, y);
    }
    [px, py] = [x, y];
  }
}
