// The search field with its results.

import { countNodes } from "../model/node_text.ts";
import { NodeSearch, prepareSearch } from "../model/search.ts";
import { button, element } from "./dom.ts";
import type { Viewer } from "./viewer.ts";

const LIMIT = 100;
const IMMEDIATE_NODES = 20_000; // documents of up to as many are searched at each key, longer ones when typing pauses
const PAUSE = 40; // milliseconds

export class SearchBox {
  readonly input = element("input", { class: "search", label: "Search nodes", title: "Conv kernel_shape=3, type:float16, shape:1x3, name:layer1, op:Add" });
  readonly results = element("div", { class: "results hidden", role: "listbox", label: "Results of the search" });
  readonly root = element("div", { class: "search-box" }, this.input, this.results);
  private place = -1;
  private timer = 0;

  constructor(private readonly viewer: Viewer) {
    this.input.type = "search";
    this.input.placeholder = "Search (/)";
    this.input.addEventListener("input", () => { this.receive(); });
    this.input.addEventListener("keydown", (event) => { this.press(event); });
    viewer.listen("graph", () => {
      this.hide();
      // The first key of a query finds the texts prepared, and a node inside a closed box the worker that lays the box out.
      requestIdleCallback(() => {
        prepareSearch(viewer.document);
        viewer.runner.prepare();
      });
    });
  }

  private receive(): void {
    clearTimeout(this.timer);
    this.place = -1; // what is listed is of an earlier text
    const nodes = this.viewer.document.data.graphs.reduce((sum, graph) => sum + graph.nodes.operator.length, 0);
    if (nodes <= IMMEDIATE_NODES) this.search();
    else this.timer = window.setTimeout(() => { this.search(); }, PAUSE);
  }

  private search(): void {
    const query = this.input.value.trim();
    this.place = -1;
    if (!query) {
      this.hide();
      return;
    }
    const rows: HTMLElement[] = [];
    let total = 0;
    const { document } = this.viewer;
    document.data.graphs.forEach((_, index) => {
      const graph = document.graph(index);
      const found = new NodeSearch(graph).find(query, Math.max(0, LIMIT - rows.length));
      total += found.total;
      for (const node of found.nodes) {
        const where = index ? `${graph.data.kind} ${graph.data.name}` : "";
        const row = button(graph.operator(node), "Show this node", () => { void this.viewer.reveal(index, node); }, "result");
        row.setAttribute("role", "option");
        row.append(element("span", { class: "detail" }, [graph.nodeName(node), where].filter(Boolean).join(" · ")));
        rows.push(row);
      }
    });
    this.results.replaceChildren(element("p", { class: "count", role: "status" }, countNodes(total)), ...rows);
    this.results.classList.remove("hidden");
  }

  private press(event: KeyboardEvent): void {
    const rows = this.results.querySelectorAll<HTMLButtonElement>(".result");
    if (event.key === "Escape") {
      this.hide();
      this.input.blur();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") this.mark(rows, this.place + (event.key === "ArrowDown" ? 1 : -1));
    else if (event.key === "Enter") {
      clearTimeout(this.timer);
      if (this.place < 0) this.search(); // which the typing may have outrun
      const now = this.results.querySelectorAll<HTMLButtonElement>(".result");
      now[Math.max(0, this.place)]?.click();
      if (this.place < 0) this.mark(now, 0);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private mark(rows: NodeListOf<HTMLButtonElement>, place: number): void {
    if (!rows.length) return;
    rows[this.place]?.classList.remove("marked");
    this.place = (place + rows.length) % rows.length;
    rows[this.place]!.classList.add("marked");
    rows[this.place]!.scrollIntoView({ block: "nearest" });
  }

  hide(): void {
    this.results.classList.add("hidden");
  }
}
