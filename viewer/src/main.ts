// The page of `sardonyx view`.

import { Annotations } from "./model/annotations.ts";
import { DocumentView } from "./model/graph_view.ts";
import { mergeDocuments, sideChanges } from "./model/merged.ts";
import { button, element } from "./page/dom.ts";
import { HELP, listenToKeys } from "./page/keyboard.ts";
import { followLocation, restoreLocation } from "./page/location.ts";
import { Outline } from "./page/outline.ts";
import { Panel } from "./page/panel.ts";
import { SearchBox } from "./page/search_box.ts";
import { sideBySide } from "./page/side_by_side.ts";
import { Stage } from "./page/stage.ts";
import { makeToolbar } from "./page/toolbar.ts";
import type { Face } from "./page/viewer.ts";
import { Viewer } from "./page/viewer.ts";
import type { PageData } from "./page_data.ts";

function makeFaces(page: PageData): Face[] {
  const [first, second] = page.documents;
  if (!first) return [];
  const { difference } = page;
  if (!difference || !second) return page.documents.map((data, side) => makeFace(data.source || page.title, data, null, side));
  const merged = mergeDocuments(first, second, difference);
  const both = makeFace("both", merged.document, merged.changes, 1);
  both.translate = merged.translate;
  return [
    both,
    makeFace(`before: ${first.source}`, first, sideChanges(difference, "before", first), 0),
    makeFace(`after: ${second.source}`, second, sideChanges(difference, "after", second), 1),
  ];
}

function makeFace(label: string, data: PageData["documents"][number], changes: Face["changes"], side: number): Face {
  const document = new DocumentView(data);
  return { label, document, annotations: new Annotations(document, changes), changes, side, translate: null };
}

function makeHelp(): HTMLElement {
  const rows = HELP.map(([keys, effect]) => element("tr", {}, element("th", {}, keys), element("td", {}, effect)));
  const help = element("div", { class: "help hidden", role: "dialog", label: "Keys" }, element("h2", {}, "Keys"), element("table", {}, element("tbody", {}, ...rows)));
  help.append(button("Close", "Close", () => { help.classList.add("hidden"); }));
  return help;
}

async function start(): Promise<void> {
  const page = JSON.parse(document.getElementById("page-data")!.textContent) as PageData;
  document.title = page.title;
  const faces = makeFaces(page);
  if (!faces.length) {
    document.body.append(element("p", { class: "empty" }, "There is nothing to show."));
    return;
  }
  const viewer = new Viewer(page, faces);
  const stage = new Stage(viewer);
  const search = new SearchBox(viewer);
  const outline = new Outline(viewer, stage);
  const panel = new Panel(viewer, stage);
  const help = makeHelp();
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const setDark = (on: boolean): void => {
    document.documentElement.classList.toggle("dark", on);
    stage.setDark(on);
  };
  setDark(dark.matches);
  dark.addEventListener("change", () => { setDark(dark.matches); });
  const toggles = {
    theme: () => { setDark(!document.documentElement.classList.contains("dark")); },
    help: () => { help.classList.toggle("hidden"); },
    outline: () => { outline.root.classList.toggle("hidden"); },
    compare: page.difference && faces.length === 3 ? () => { sideBySide(viewer, stage); } : null,
  };
  const empty = viewer.document.data.graphs.length ? null : element("p", { class: "empty" }, "No graph: what the file has is listed beside.");
  const picture = element("main", { class: "picture" }, stage.canvas, stage.minimap.canvas, empty);
  document.body.append(makeToolbar(viewer, stage, search, toggles), element("div", { class: "columns" }, outline.root, picture, panel.root), help);
  if (window.innerWidth < 1000) outline.root.classList.add("hidden");
  listenToKeys({
    viewer, stage, search, toggleHelp: toggles.help, toggleTheme: toggles.theme,
    focusOutline: () => {
      outline.root.classList.remove("hidden");
      outline.tree.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    },
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") help.classList.add("hidden"); });
  await restoreLocation(viewer, location.hash);
  followLocation(viewer);
  // What tests and benchmarks wait for and ask.
  Object.assign(window, { sardonyxViewer: { viewer, stage } });
  requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset["ready"] = "true"; }));
}

void start();
