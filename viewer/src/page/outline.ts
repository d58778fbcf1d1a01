// The graph as a tree of text beside the picture, for keyboards and screen readers. It shows what the picture shows: opening an
// item opens its box.

import { button, element } from "./dom.ts";
import { allBoxes, inGraphOrder } from "./hit.ts";
import type { PlacedBox } from "./hit.ts";
import type { Stage } from "./stage.ts";
import type { Viewer } from "./viewer.ts";

const LIMIT = 1500; // items; more of them would make the page slow

export class Outline {
  readonly tree = element("ul", { class: "tree", role: "tree", label: "Outline of the graph" });
  readonly root = element("nav", { class: "outline", label: "Outline" }, this.tree);
  private items: { item: HTMLElement; placed: PlacedBox }[] = [];

  constructor(private readonly viewer: Viewer, private readonly stage: Stage) {
    viewer.listen("scene", () => { this.build(); });
    viewer.listen("selection", () => { this.markSelection(false); });
    this.tree.addEventListener("keydown", (event) => { this.press(event); });
  }

  private build(): void {
    const focused = this.items.find(({ item }) => item === document.activeElement)?.placed.box.key;
    this.items = [];
    this.tree.replaceChildren();
    const groups = new Map<PlacedBox | null, HTMLElement>([[null, this.tree]]);
    for (const placed of allBoxes(this.viewer.scene!, inGraphOrder)) {
      if (this.items.length >= LIMIT) break;
      const item = this.makeItem(placed, groups);
      groups.get(placed.parent)!.append(item);
    }
    if (this.items.length >= LIMIT) this.tree.append(element("li", { class: "detail" }, "More in the picture: close boxes, or search."));
    this.markSelection(focused !== undefined);
    const again = this.items.find(({ placed }) => placed.box.key === focused);
    again?.item.focus();
  }

  private makeItem(placed: PlacedBox, groups: Map<PlacedBox | null, HTMLElement>): HTMLElement {
    const { box } = placed;
    const isOpen = box.contents.length > 0;
    const name = box.item.kind === "node" ? box.graph.nodeName(box.item.id) : "";
    const detail = name || (box.card.lines[0]?.text ?? "");
    const item = element("li", { role: "treeitem", class: box.card.kind });
    const sign = box.canOpen ? button(isOpen ? "−" : "+", isOpen ? "Close" : "Open", () => void this.stage.toggle(box.key), "sign") : null;
    if (sign) sign.tabIndex = -1;
    const label = element("span", { class: "label", on: { click: () => { this.choose(placed); } } }, element("b", {}, box.card.title), element("span", { class: "detail" }, detail));
    item.append(element("div", { class: "row" }, sign, label));
    item.tabIndex = this.items.length ? -1 : 0;
    item.setAttribute("aria-label", `${kindName(placed)} ${box.card.title} ${detail}`);
    if (box.canOpen) item.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) {
      const group = element("ul", { role: "group" });
      groups.set(placed, group);
      item.append(group);
    }
    this.items.push({ item, placed });
    return item;
  }

  private choose({ box, frame }: PlacedBox): void {
    this.viewer.selectBox(box, frame.instance);
    this.viewer.emit("look");
  }

  private markSelection(keepFocus: boolean): void {
    const { selection } = this.viewer;
    const key = selection ? this.viewer.boxKey(selection) : "";
    for (const { item, placed } of this.items) {
      const isSelected = placed.box.key === key;
      item.setAttribute("aria-selected", String(isSelected));
      item.classList.toggle("selected", isSelected);
      if (isSelected && !keepFocus) item.firstElementChild?.scrollIntoView({ block: "nearest" });
    }
  }

  private press(event: KeyboardEvent): void {
    const place = this.items.findIndex(({ item }) => item === event.target);
    const current = this.items[place];
    if (!current) return;
    const { box, parent } = current.placed;
    const isOpen = box.contents.length > 0;
    const move = (to: number): void => { this.focus(to); };
    if (event.key === "ArrowDown") move(place + 1);
    else if (event.key === "ArrowUp") move(place - 1);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(this.items.length - 1);
    else if (event.key === "ArrowRight" && box.canOpen) {
      if (isOpen) move(place + 1);
      else void this.stage.toggle(box.key);
    } else if (event.key === "ArrowLeft") {
      if (isOpen) void this.stage.toggle(box.key);
      else if (parent) move(this.items.findIndex(({ placed }) => placed.box === parent.box));
    } else if (event.key === "Enter" || event.key === " ") this.choose(current.placed);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private focus(place: number): void {
    const target = this.items[place];
    if (!target) return;
    for (const { item } of this.items) item.tabIndex = -1;
    target.item.tabIndex = 0;
    target.item.focus();
    this.choose(target.placed);
  }
}

function kindName({ box }: PlacedBox): string {
  const { kind } = box.item;
  return kind === "scope" ? "scope" : kind === "node" ? "" : kind;
}
