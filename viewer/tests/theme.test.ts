import { describe, expect, it } from "vitest";
import { DARK, LIGHT } from "../src/drawing/theme.ts";
import { heat } from "../src/drawing/heat.ts";

/** The contrast of two colours, by WCAG 2.2, "contrast ratio". */
function contrast(a: string, b: string): number {
  const luminance = (color: string): number => {
    const channels = color.startsWith("#") ? [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16)) : color.match(/\d+/g)!.map(Number);
    const [red, green, blue] = channels.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

describe.each([["light", LIGHT], ["dark", DARK]] as const)("texts can be read: %s", (_, theme) => {
  const changes = Object.entries(theme.changes).filter(([change]) => change !== "equal"); // equal boxes have the colour `mutedBox`
  const titles = [...Object.entries(theme.families), ...changes, ["muted box", theme.mutedBox] as const, ...[0, 0.1, 0.3, 1].map((share) => [`heat ${share}`, heat(share, theme)] as const)];
  it.each(titles)("titles on %s", (_name, color) => { expect(contrast(theme.titleText, color)).toBeGreaterThanOrEqual(4.5); });
  it("lines on surfaces, names on values and scopes, badges", () => {
    for (const ground of [theme.surface, theme.background]) for (const text of [theme.text, theme.mutedText]) expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(theme.valueText, theme.value)).toBeGreaterThanOrEqual(4.5);
    for (const ground of theme.scope) for (const text of [theme.scopeTitle, theme.mutedText]) expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5);
    for (const color of [...Object.values(theme.severities), theme.text]) expect(contrast(theme.background, color)).toBeGreaterThanOrEqual(4.5);
  });
});
