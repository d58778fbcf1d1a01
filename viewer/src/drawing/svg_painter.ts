// Pictures as SVG text: attributes only, no styles and no scripts, every string escaped.

import type { Fill, Painter, Route, TextStyle } from "./painter.ts";
import { traceRoute } from "./painter.ts";
import { FONT } from "./text.ts";

export function escapeMarkup(text: string): string {
  const plain = text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return Array.from(plain, (sign) => (isAllowed(sign.codePointAt(0)!) ? sign : "\ufffd")).join("");
}

/** Whether XML 1.0 may hold a character. */
function isAllowed(code: number): boolean {
  return code === 9 || code === 10 || code === 13 || (code >= 32 && !(code >= 0xd800 && code < 0xe000) && code !== 0xfffe && code !== 0xffff);
}

const round = (value: number): string => String(Math.round(value * 10) / 10);

export class SvgPainter implements Painter {
  private readonly parts: string[] = [];

  /** The whole text of a picture of the given size, in pixels. */
  finish(width: number, height: number, scale: number, background: string, title: string): string {
    const size = `width="${round(width * scale)}" height="${round(height * scale)}" viewBox="0 0 ${round(width)} ${round(height)}"`;
    const ground = background ? `<rect width="100%" height="100%" fill="${background}"/>` : "";
    const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" font-family="${escapeMarkup(FONT)}">`;
    return `${head}<title>${escapeMarkup(title)}</title>${ground}${this.parts.join("")}</svg>\n`;
  }

  box(x: number, y: number, width: number, height: number, style: Fill): void {
    const radius = style.radius ? ` rx="${style.radius}"` : "";
    const place = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
    this.parts.push(`<rect ${place}${radius} fill="${style.fill ?? "none"}"${stroke(style.stroke, style.width, style.dash)}/>`);
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const anchor = style.align === "middle" ? ' text-anchor="middle"' : "";
    const weight = style.bold ? ' font-weight="bold"' : "";
    const place = `x="${round(x)}" y="${round(y + style.size * 0.35)}" textLength="${round(style.width)}" lengthAdjust="spacingAndGlyphs"`;
    this.parts.push(`<text ${place} font-size="${style.size}"${weight}${anchor} fill="${style.color}">${escapeMarkup(text)}</text>`);
  }

  curves(routes: readonly Route[], x: number, y: number, color: string, width: number, dash = false): void {
    const path: string[] = [];
    const sink = {
      moveTo: (px: number, py: number): void => { path.push(`M${round(px)} ${round(py)}`); },
      lineTo: (px: number, py: number): void => { path.push(`L${round(px)} ${round(py)}`); },
      bezierCurveTo: (...points: number[]): void => { path.push(`C${points.map(round).join(" ")}`); },
    };
    for (const route of routes) traceRoute(sink, route, x, y);
    if (path.length) this.parts.push(`<path d="${path.join("")}" fill="none"${stroke(color, width, dash)}/>`);
  }

  arrows(points: readonly number[], color: string, size: number): void {
    const path: string[] = [];
    for (let i = 0; i < points.length; i += 2) {
      const [x, y] = [points[i]!, points[i + 1]!];
      path.push(`M${round(x)} ${round(y)}L${round(x - size * 0.55)} ${round(y - size)}L${round(x + size * 0.55)} ${round(y - size)}Z`);
    }
    if (path.length) this.parts.push(`<path d="${path.join("")}" fill="${color}"/>`);
  }

  group(label: string, draw: () => void): void {
    this.parts.push(`<g><title>${escapeMarkup(label)}</title>`);
    draw();
    this.parts.push("</g>");
  }
}

function stroke(color: string | undefined, width = 1, dash = false): string {
  if (!color) return "";
  return ` stroke="${color}" stroke-width="${width}"${dash ? ' stroke-dasharray="5 4"' : ""}`;
}
