// The bar above the picture: what is shown, the search, and the switches.

import type { Graph } from "../page_data.ts";
import { button, element } from "./dom.ts";
import type { SearchBox } from "./search_box.ts";
import type { Stage } from "./stage.ts";
import type { Viewer } from "./viewer.ts";

const LIMIT = 500; // graphs to choose from; others are reached through their nodes

export function makeToolbar(viewer: Viewer, stage: Stage, search: SearchBox, toggles: { theme: () => void; help: () => void; outline: () => void; compare: (() => void) | null }): HTMLElement {
  const parts: (HTMLElement | null)[] = [
    element("h1", { title: viewer.page.title }, viewer.page.title),
    viewer.faces.length > 1 ? faceChoice(viewer) : null,
    toggles.compare ? button("Side by side", "Both models beside each other", toggles.compare) : null,
    graphChoice(viewer),
    modeChoice(viewer, stage),
    search.root,
    button("−", "Zoom out (-)", () => { zoom(stage, 0.8); }),
    button("+", "Zoom in (+)", () => { zoom(stage, 1.25); }),
    button("Fit", "Fit the picture (F)", () => { stage.fit(true); }),
    button("Close all", "Close all boxes", () => { viewer.open.clear(); void viewer.update().then(() => { stage.fit(); }); }),
    button("Outline", "Show or hide the outline (O)", toggles.outline),
    button("◐", "Dark and light (T)", toggles.theme),
    button("?", "Keys", toggles.help),
  ];
  return element("header", { class: "toolbar", role: "toolbar" }, ...parts);
}

function zoom(stage: Stage, factor: number): void {
  stage.transform.zoomAt(stage.canvas.clientWidth / 2, stage.canvas.clientHeight / 2, factor);
  stage.redraw();
}

function choice(label: string, options: [value: string, text: string][], change: (value: string) => void): HTMLSelectElement {
  const select = element("select", { label, title: label, on: { change: () => { change(select.value); } } });
  for (const [value, text] of options) {
    const option = element("option", {}, text);
    option.value = value;
    select.append(option);
  }
  return select;
}

function faceChoice(viewer: Viewer): HTMLElement {
  const select = choice("Model", viewer.faces.map((face, i) => [String(i), face.label]), (value) => void viewer.showFace(viewer.faces[Number(value)]!));
  viewer.listen("graph", () => { select.value = String(viewer.faces.indexOf(viewer.face)); });
  return select;
}

function graphChoice(viewer: Viewer): HTMLElement {
  const select = choice("Graph", [], (value) => void viewer.showGraph(Number(value)));
  const fill = (): void => {
    const shown = viewer.document.data.graphs.map((graph, i) => ({ graph, i })).filter(({ graph, i }) => graph.kind !== "nested" || i === viewer.graph);
    select.replaceChildren(...shown.slice(0, LIMIT).map(({ graph, i }) => {
      const option = element("option", {}, graphTitle(graph));
      option.value = String(i);
      return option;
    }));
    select.value = String(viewer.graph);
    select.classList.toggle("hidden", shown.length < 2);
  };
  viewer.listen("graph", fill);
  fill();
  return select;
}

function graphTitle(graph: Graph): string {
  return graph.kind === "main" ? `main: ${graph.name}` : `${graph.kind}: ${graph.name}`;
}

function modeChoice(viewer: Viewer, stage: Stage): HTMLElement | null {
  const { profile, quantization } = viewer.document.data;
  const modes: [string, string][] = [["structure", "operators"]];
  if (profile) modes.push(["time", "time"], ["engine", "engine"]);
  if (quantization) modes.push(["error", "error of quantization"]);
  if (modes.length < 2) return null;
  const select = choice("Colours", modes, (value) => {
    viewer.mode = value as typeof viewer.mode;
    stage.redraw();
  });
  select.value = viewer.mode;
  return select;
}
