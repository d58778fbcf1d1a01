// Keys of the page. Arrows follow edges from the selected box; the rest is listed in the help.

import { copyText } from "./dom.ts";
import { boxWithKey } from "./hit.ts";
import type { PlacedBox } from "./hit.ts";
import { markPath } from "./node_panel.ts";
import { stepChange } from "./changes_panel.ts";
import { reach } from "../model/paths.ts";
import { nodeText } from "../model/node_text.ts";
import type { SearchBox } from "./search_box.ts";
import type { Stage } from "./stage.ts";
import type { Viewer } from "./viewer.ts";

export const HELP: [keys: string, effect: string][] = [
  ["/", "search"], ["arrows", "along edges; left and right within a row"], ["Enter", "open or close the selected box"], ["Escape", "select nothing, close help"],
  ["+  −", "zoom"], ["W A S D", "move the picture"], ["F", "fit the picture"], ["0", "whole picture"], ["P", "path from input to output"],
  ["U  I", "mark all producers, all consumers"], ["C", "copy the node as ONNX text"], ["[  ]", "previous and next change"], ["O", "outline"], ["T", "dark and light"], ["?", "this help"],
];

export interface KeyTargets {
  viewer: Viewer;
  stage: Stage;
  search: SearchBox;
  toggleHelp: () => void;
  toggleTheme: () => void;
  focusOutline: () => void;
}

export function listenToKeys(targets: KeyTargets): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.tagName === "INPUT" || target.tagName === "SELECT") return;
    if (target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " ")) return;
    if (act(event.key, targets)) event.preventDefault();
  });
}

function act(key: string, { viewer, stage, search, toggleHelp, toggleTheme, focusOutline }: KeyTargets): boolean {
  const [middleX, middleY] = [stage.canvas.clientWidth / 2, stage.canvas.clientHeight / 2];
  const zoom = (factor: number): void => { stage.transform.zoomAt(middleX, middleY, factor); stage.redraw(); };
  const move = (dx: number, dy: number): void => { stage.transform.move(dx, dy); stage.redraw(); };
  const selected = viewer.selection;
  const actions: Record<string, () => void> = {
    "/": () => { search.input.focus(); search.input.select(); },
    "+": () => { zoom(1.25); }, "=": () => { zoom(1.25); }, "-": () => { zoom(0.8); },
    w: () => { move(0, 80); }, s: () => { move(0, -80); }, a: () => { move(80, 0); }, d: () => { move(-80, 0); },
    f: () => { stage.fit(); }, "0": () => { stage.fit(true); },
    o: focusOutline, t: toggleTheme, "?": toggleHelp,
    "[": () => { stepChange(viewer, -1); }, "]": () => { stepChange(viewer, 1); },
    Escape: () => { viewer.select(null); },
    Enter: () => { if (selected) void openSelected(viewer, stage); },
  };
  if (selected?.kind === "node") {
    const graph = viewer.document.graph(selected.graph);
    actions["p"] = () => { markPath(viewer, selected); };
    actions["u"] = () => { viewer.mark(selected, reach(viewer.document, graph, selected.id, "producers")); };
    actions["i"] = () => { viewer.mark(selected, reach(viewer.document, graph, selected.id, "consumers")); };
    actions["c"] = () => { copyText(nodeText(graph, selected.id)); };
  }
  if (key.startsWith("Arrow")) {
    follow(key, viewer);
    return true;
  }
  const action = actions[key.length === 1 ? key.toLowerCase() : key];
  action?.();
  return action !== undefined;
}

async function openSelected(viewer: Viewer, stage: Stage): Promise<void> {
  const key = viewer.boxKey(viewer.selection!);
  const hit = viewer.scene && boxWithKey(viewer.scene, key);
  if (hit?.box.canOpen) await stage.toggle(key);
}

/** Selects the box at the other end of an edge, or the next one in the row. */
function follow(key: string, viewer: Viewer): void {
  const { scene, selection } = viewer;
  if (!scene) return;
  const hit = selection && boxWithKey(scene, viewer.boxKey(selection));
  const next = hit ? neighbour(key, hit) : { box: scene.boxes.find((box) => box.card.kind !== "port"), frame: scene };
  if (!next?.box) return;
  viewer.selectBox(next.box, next.frame.instance);
  viewer.emit("look");
}

function neighbour(key: string, { box, frame, parent }: PlacedBox): { box: PlacedBox["box"] | undefined; frame: PlacedBox["frame"] } | null {
  const place = frame.boxes.indexOf(box);
  const ends = new Set<number>();
  for (const net of frame.frame.nets) {
    if (key === "ArrowDown" && net.source === place) net.targets.forEach((target) => ends.add(target));
    if (key === "ArrowUp" && net.targets.includes(place)) ends.add(net.source);
  }
  const centre = (other: PlacedBox["box"]): number => other.x + other.width / 2;
  if (key === "ArrowUp" || key === "ArrowDown") {
    // Into an open box, and out of it where no edge leads on.
    const inner = box.contents[0];
    if (key === "ArrowDown" && inner) return { box: inner.boxes.find((other) => other.card.kind !== "port"), frame: inner };
    const boxes = [...ends].map((i) => frame.boxes[i]!).filter((other) => other.card.kind !== "port");
    if (!boxes.length) return parent ? { box: parent.box, frame: parent.frame } : null;
    return { box: boxes.reduce((best, other) => (Math.abs(centre(other) - centre(box)) < Math.abs(centre(best) - centre(box)) ? other : best)), frame };
  }
  const sign = key === "ArrowRight" ? 1 : -1;
  const row = frame.boxes.filter((other) => other.card.kind !== "port" && other.y < box.y + box.height && other.y + other.height > box.y && (centre(other) - centre(box)) * sign > 0);
  return row.length ? { box: row.reduce((best, other) => ((centre(other) - centre(best)) * sign < 0 ? other : best)), frame } : null;
}
