// Both models of a difference beside each other. Selecting a node on one side shows the node that matches it on the other.

import { element } from "./dom.ts";
import { Stage } from "./stage.ts";
import { Viewer } from "./viewer.ts";

/** Adds the picture of the first model beside the page's own, which shows the second; or removes it. */
export function sideBySide(viewer: Viewer, stage: Stage): void {
  const existing = document.querySelector(".picture.before");
  if (existing) {
    existing.remove();
    void viewer.showFace(viewer.faces[0]!);
    return;
  }
  const before = new Viewer(viewer.page, viewer.faces.slice(1));
  const left = new Stage(before);
  left.setDark(document.documentElement.classList.contains("dark"));
  const picture = element("main", { class: "picture before" }, left.canvas, left.minimap.canvas);
  stage.canvas.parentElement!.before(picture);
  follow(before, viewer, "before");
  follow(viewer, before, "after");
  void viewer.showFace(viewer.faces[2]!);
  void before.showGraph(0);
}

let following = false;

function follow(from: Viewer, to: Viewer, side: "before" | "after"): void {
  from.listen("selection", () => {
    const { selection } = from;
    if (following || !selection || selection.kind !== "node" || to.face.side === from.face.side) return;
    const other = side === "before" ? "after" : "before";
    const pair = from.page.difference!.graphs.find((graphs) => graphs[side] === selection.graph);
    const match = pair?.nodes.find((nodes) => nodes[side === "before" ? 0 : 1] === selection.id)?.[side === "before" ? 1 : 0] ?? -1;
    if (!pair || match < 0 || pair[other] < 0) return;
    following = true;
    void to.reveal(pair[other], match).finally(() => { following = false; });
  });
}
