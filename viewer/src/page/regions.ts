// Regions that the compiler fused, as outlines around their nodes.

import type { Painter } from "../drawing/painter.ts";
import type { Appearance } from "../drawing/walker.ts";
import type { Profile } from "../page_data.ts";
import { allBoxes } from "./hit.ts";
import type { Viewer } from "./viewer.ts";

const COLORS = ["#7048e8", "#0b7285", "#c2255c", "#2b8a3e", "#e8590c"];
const LIMIT = 3000; // boxes; with more of them, outlines would be all that is seen

const regionsOf = new WeakMap<Profile, Map<string, number>>();

/** Regions of several nodes, by "graph:node"; made once, not for each frame of the screen. */
function regionsByNode(profile: Profile): Map<string, number> {
  let regions = regionsOf.get(profile);
  if (regions) return regions;
  regions = new Map<string, number>();
  for (const [region, { graph, nodes }] of profile.regions.entries()) {
    if (nodes.length > 1) for (const node of nodes) regions.set(`${graph}:${node}`, region);
  }
  regionsOf.set(profile, regions);
  return regions;
}

export function drawRegions(painter: Painter, viewer: Viewer, look: Appearance): void {
  const profile = viewer.document.data.profile;
  if (!profile?.regions.length || viewer.mode === "structure" || !viewer.scene || look.zoom < 0.2) return;
  const regionOf = regionsByNode(profile);
  let count = 0;
  for (const { box, x, y } of allBoxes(viewer.scene)) {
    if (++count > LIMIT) return;
    const region = box.item.kind === "node" ? regionOf.get(`${box.graph.index}:${box.item.id}`) : undefined;
    if (region === undefined) continue;
    const view = look.view!;
    if (x > view.right || x + box.width < view.left || y > view.bottom || y + box.height < view.top) continue;
    painter.box(x - 3, y - 3, box.width + 6, box.height + 6, { stroke: COLORS[region % COLORS.length]!, width: 2, dash: true, radius: 9 });
  }
}
