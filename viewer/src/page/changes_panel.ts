// Differences of two models as a list, with a way from change to change.

import type { Difference, Place } from "../page_data.ts";
import { button, element } from "./dom.ts";
import { section } from "./parts.ts";
import type { Viewer } from "./viewer.ts";

type Entry = Difference["changes"][number];

export function changesSection(viewer: Viewer): HTMLElement[] {
  const { difference } = viewer.page;
  if (!difference) return [];
  const shown = difference.changes.filter((entry) => entry.change !== "equal");
  const rows = shown.slice(0, 500).map((entry) => row(viewer, entry));
  const first = difference.changes[difference.firstDivergence];
  return [
    section("Difference", ...difference.summary.map((line) => element("p", {}, line)),
      element("div", { class: "actions" },
        button("Previous change", "Show the change before this one ([)", () => { stepChange(viewer, -1); }),
        button("Next change", "Show the next change (])", () => { stepChange(viewer, 1); })),
      first ? element("div", { class: "finding warning" }, "First divergence:", element("ul", { class: "changes" }, row(viewer, first))) : null),
    section(`Changes (${shown.length})`, element("ul", { class: "changes" }, ...rows)),
  ];
}

function row(viewer: Viewer, entry: Entry): HTMLElement {
  const place = placeOnFace(viewer, entry);
  const text = `${entry.text}${entry.error >= 0 && !entry.text.includes("error") ? ` (error ${entry.error.toPrecision(3)})` : ""}`;
  const label = place && canShow(place) ? button(text, "Show where", () => { show(viewer, place); }, "link") : element("span", {}, text);
  return element("li", { class: `change ${entry.change}` }, element("span", { class: "kind" }, `${entry.kind} ${entry.change}: `), label);
}

function canShow({ graph, node, value }: Place): boolean {
  return graph >= 0 && (node >= 0 || value >= 0);
}

function show(viewer: Viewer, { graph, node, value }: Place): void {
  void (node >= 0 ? viewer.reveal(graph, node) : viewer.revealValue(graph, value));
}

/** The place of a change in the document that is shown. */
function placeOnFace(viewer: Viewer, entry: Entry): Place | null {
  const translate = viewer.face.translate;
  return translate ? translate(entry.before, entry.after) : viewer.face.side === 0 ? entry.before : entry.after;
}

let current = -1;

/** Shows the next or the previous change that has a place in a graph. */
export function stepChange(viewer: Viewer, step: 1 | -1): void {
  const changes = viewer.page.difference?.changes ?? [];
  for (let tries = 0; tries < changes.length; tries++) {
    current = (current + step + changes.length) % changes.length;
    const place = placeOnFace(viewer, changes[current]!);
    if (changes[current]!.change !== "equal" && place && canShow(place)) {
      show(viewer, place);
      return;
    }
  }
}
