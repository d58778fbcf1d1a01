// Pictures on a canvas. The context has the scale and the position of the view already.

import type { Fill, Painter, Route, TextStyle } from "./painter.ts";
import { traceRoute } from "./painter.ts";
import { FONT } from "./text.ts";

export class CanvasPainter implements Painter {
  private font = "";

  constructor(private readonly context: CanvasRenderingContext2D) {
    context.textBaseline = "middle";
  }

  box(x: number, y: number, width: number, height: number, style: Fill): void {
    const { context } = this;
    context.beginPath();
    if (style.radius) context.roundRect(x, y, width, height, style.radius);
    else context.rect(x, y, width, height);
    if (style.fill) {
      context.fillStyle = style.fill;
      context.fill();
    }
    if (style.stroke) {
      context.strokeStyle = style.stroke;
      context.lineWidth = style.width ?? 1;
      context.setLineDash(style.dash ? [5, 4] : []);
      context.stroke();
    }
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const { context } = this;
    const font = `${style.bold ? "bold " : ""}${style.size}px ${FONT}`;
    if (font !== this.font) context.font = this.font = font;
    context.fillStyle = style.color;
    context.textAlign = style.align === "middle" ? "center" : "left";
    context.fillText(text, x, y, style.width + 1);
  }

  curves(routes: readonly Route[], x: number, y: number, color: string, width: number, dash = false): void {
    const { context } = this;
    context.beginPath();
    for (const route of routes) traceRoute(context, route, x, y);
    context.strokeStyle = color;
    context.lineWidth = width;
    context.setLineDash(dash ? [5, 4] : []);
    context.stroke();
  }

  arrows(points: readonly number[], color: string, size: number): void {
    const { context } = this;
    context.beginPath();
    for (let i = 0; i < points.length; i += 2) {
      const [x, y] = [points[i]!, points[i + 1]!];
      context.moveTo(x, y);
      context.lineTo(x - size * 0.55, y - size);
      context.lineTo(x + size * 0.55, y - size);
      context.closePath();
    }
    context.fillStyle = color;
    context.fill();
  }

  group(_label: string, draw: () => void): void {
    draw();
  }
}
