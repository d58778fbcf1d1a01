// Colours of pictures, light and dark. Texts have a contrast of 4.5 or more against what they are drawn on.

import type { Family } from "../model/operators.ts";

export interface Theme {
  background: string;
  surface: string; // of closed boxes
  text: string;
  mutedText: string;
  titleText: string; // on the colour of a family
  line: string; // edges
  border: string;
  scope: string[]; // fills of open frames by depth
  scopeTitle: string;
  scopeBorder: string;
  value: string;
  valueText: string;
  mutedBox: string; // boxes that a difference leaves unchanged
  selection: string;
  highlight: string;
  families: Record<Family, string>;
  severities: Record<"error" | "warning" | "note", string>;
  changes: Record<"equal" | "changed" | "added" | "removed", string>;
  heat: [number, number, number]; // colour of the slowest box
}

export const LIGHT: Theme = {
  background: "#ffffff", surface: "#ffffff", text: "#24292f", mutedText: "#5d6673", titleText: "#ffffff", line: "#98a2b0", border: "#c6ccd5",
  scope: ["#f5f7fa", "#eceff4", "#f5f7fa", "#eceff4"], scopeTitle: "#2f3a49", scopeBorder: "#b4bdca", value: "#e9edf2", valueText: "#24292f",
  mutedBox: "#6b7583", selection: "#d9480f", highlight: "#1768c9",
  families: {
    product: "#2f5fae", activation: "#8f3a2e", normalisation: "#2c6e4f", pooling: "#3d6b1f", movement: "#5b6673", arithmetic: "#66557d", reduction: "#7a4f8f",
    control: "#8a5a00", quantisation: "#00707a", recurrent: "#1f6f94", learning: "#a0336e", other: "#3e4a59",
  },
  severities: { error: "#c92a2a", warning: "#b35c00", note: "#1768c9" },
  changes: { equal: "#c6ccd5", changed: "#b35c00", added: "#217a36", removed: "#c92a2a" },
  heat: [217, 48, 15],
};

export const DARK: Theme = {
  background: "#15191f", surface: "#1f252d", text: "#e3e8ee", mutedText: "#a2adba", titleText: "#ffffff", line: "#66717f", border: "#3a4452",
  scope: ["#1b2027", "#222932", "#1b2027", "#222932"], scopeTitle: "#d5dde6", scopeBorder: "#4a5665", value: "#2a323c", valueText: "#e3e8ee",
  mutedBox: "#4a5461", selection: "#ff922b", highlight: "#6db3ff",
  families: {
    product: "#3a66b0", activation: "#a14b3e", normalisation: "#34785a", pooling: "#4a762c", movement: "#596573", arithmetic: "#6d5c86", reduction: "#7f5694",
    control: "#8f6410", quantisation: "#147680", recurrent: "#2a7699", learning: "#a03e74", other: "#47566a",
  },
  severities: { error: "#ff6b6b", warning: "#ffa94d", note: "#6db3ff" },
  changes: { equal: "#3a4452", changed: "#b35c00", added: "#217a36", removed: "#c92a2a" },
  heat: [217, 48, 15],
};
