// Permalinks: the graph, the open boxes and the selection in the fragment of the address.

import type { Selection, Viewer } from "./viewer.ts";

export function describeLocation(viewer: Viewer): string {
  const parameters = new URLSearchParams();
  const face = viewer.faces.indexOf(viewer.face);
  if (face) parameters.set("face", String(face));
  if (viewer.graph) parameters.set("graph", String(viewer.graph));
  if (viewer.open.size && viewer.open.size < 40) parameters.set("open", [...viewer.open].join(" "));
  if (viewer.selection) parameters.set("at", `${viewer.selection.graph} ${viewer.boxKey(viewer.selection)}`);
  return parameters.toString();
}

/** Shows what a fragment says, as far as the model has it; whether it said anything. */
export async function restoreLocation(viewer: Viewer, fragment: string): Promise<boolean> {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
  const face = viewer.faces[Number(parameters.get("face") ?? 0)];
  if (face && face !== viewer.face) viewer.face = face;
  const graph = Number(parameters.get("graph") ?? 0);
  if (!viewer.document.data.graphs[graph]) return false;
  await viewer.showGraph(graph, (parameters.get("open") ?? "").split(" ").filter(Boolean));
  const selection = parseSelection(viewer, parameters.get("at") ?? "");
  if (selection?.kind === "node") await viewer.reveal(selection.graph, selection.id);
  else if (selection) {
    viewer.select(selection);
    viewer.emit("look");
  }
  return parameters.size > 0;
}

function parseSelection(viewer: Viewer, text: string): Selection | null {
  const match = /^(\d+) (.+)\/([nsvio])(\d+)$/.exec(text);
  if (!match) return null;
  const [graph, id] = [Number(match[1]), Number(match[4])];
  const view = viewer.document.data.graphs[graph] && viewer.document.graph(graph);
  const [instance, letter] = [match[2]!, match[3]!];
  const kind = letter === "n" ? "node" : letter === "s" ? "scope" : "value";
  const limit = !view ? 0 : kind === "node" ? view.nodeCount : kind === "scope" ? view.data.scopes.parent.length : view.valueCount;
  if (id >= limit) return null;
  return letter === "i" || letter === "o" ? { kind, graph, instance, id, box: `${instance}/${letter}${id}` } : { kind, graph, instance, id };
}

/** Keeps the address up to date. */
export function followLocation(viewer: Viewer): void {
  let timer = 0;
  const write = (): void => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      const fragment = describeLocation(viewer);
      if (`#${fragment}` === location.hash) return;
      try {
        history.replaceState(null, "", `#${fragment}`);
      } catch {
        // A page inside of a notebook has no address of its own.
      }
    }, 150);
  };
  for (const event of ["scene", "selection"] as const) viewer.listen(event, write);
  window.addEventListener("hashchange", () => void restoreLocation(viewer, location.hash));
}
