// Heat: how much of a quantity a box has, from the colour of cold boxes to that of the hottest one, with a legend.

import type { ErrorFacts } from "../model/annotations.ts";
import type { Painter } from "./painter.ts";
import { measure } from "./text.ts";
import type { Theme } from "./theme.ts";
import type { Decoration } from "./walker.ts";

const COLD = [98, 108, 121];
const STEPS = 32; // of the legend
const SIZE = 12; // of its texts
export const LEGEND = { width: 160, height: 12 };

/** The square root tells small shares apart. */
export function heat(share: number, theme: Theme): string {
  const t = Math.sqrt(share);
  return `rgb(${COLD.map((c, i) => Math.round(c + (theme.heat[i]! - c) * t)).join(",")})`;
}

/** A quantized layer, or a box with some; largest: the largest share of a node. */
export function decorateError(facts: ErrorFacts, largest: number, theme: Theme): Decoration {
  const share = formatShare(facts.share);
  const text = facts.alone === null ? share : `${share} · ${formatDecibels(facts.alone)}`;
  return { tint: heat(Math.min(1, facts.share / (largest || 1)), theme), badges: [{ text, short: share, color: theme.text }] };
}

export function formatShare(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

export function formatDecibels(decibels: number): string {
  return `${decibels.toFixed(1)} dB`;
}

/** The colours from no share to the largest one. */
export function drawHeat(painter: Painter, x: number, y: number, theme: Theme): void {
  const width = LEGEND.width / STEPS;
  for (let i = 0; i < STEPS; i++) painter.box(x + i * width, y, width + 0.5, LEGEND.height, { fill: heat(i / (STEPS - 1), theme) });
}

/** The colours with what they mean, in a row; returns its width. */
export function drawLegend(painter: Painter, x: number, y: number, title: string, largest: number, theme: Theme): number {
  let right = x;
  const write = (text: string): void => {
    const width = measure(text, SIZE);
    painter.text(text, right, y + LEGEND.height / 2, { size: SIZE, color: theme.text, width });
    right += width + 8;
  };
  write(`${title}: 0 %`);
  drawHeat(painter, right, y, theme);
  right += LEGEND.width + 8;
  write(formatShare(largest));
  return right - x;
}
