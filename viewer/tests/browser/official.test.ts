// The official models of ONNX, each drawn in one page: no error, everything of the first picture on the canvas, every box that
// opens opened. One of EVERY models, from the one with the number START: a sample, or with EVERY=1 all of them.

import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { PageData } from "../../src/page_data.ts";
import { assemble, launch } from "./browser.ts";
import { PYTHON, pythonEnvironment } from "./python.ts";

const EVERY = Number(process.env["EVERY"] ?? 40);
const START = Number(process.env["START"] ?? 0);
const MOST_OPENED = 40; // boxes of a model

let browser: Browser;
beforeAll(async () => { browser = await launch(); });
afterAll(() => browser.close());

/** Starts the viewer again in the page, with other data. */
async function show(page: Page, data: PageData): Promise<{ graphs: number; boxes: number; items: number; opened: number }> {
  return page.evaluate(async ([text, most]) => {
    const store = window as unknown as { program?: string };
    const script = (store.program ??= document.querySelectorAll("script")[1]!.textContent);
    delete document.documentElement.dataset["ready"];
    location.hash = "";
    const holder = document.createElement("script");
    holder.type = "application/json";
    holder.id = "page-data";
    holder.textContent = text;
    const program = document.createElement("script");
    program.textContent = script;
    document.body.replaceChildren(holder, program);
    const frame = (): Promise<unknown> => new Promise((done) => requestAnimationFrame(done));
    while (!document.documentElement.dataset["ready"]) await frame();
    interface Box { key: string; canOpen: boolean; contents: { boxes: Box[] }[] }
    const { viewer, stage } = (window as unknown as { sardonyxViewer: { viewer: { document: { data: { graphs: unknown[] } }; scene: { boxes: Box[]; frame: { items: unknown[] } }; showGraph: (graph: number) => Promise<void> }; stage: { drawn: number; toggle: (key: string) => Promise<void> } } }).sardonyxViewer;
    const { boxes, frame: { items } } = viewer.scene;
    let opened = 0;
    for (let closed: Box | undefined; opened < most; opened++) {
      const all = (list: Box[]): Box[] => list.flatMap((box) => [box, ...box.contents.flatMap((content) => all(content.boxes))]);
      closed = all(viewer.scene.boxes).find((box) => box.canOpen && !box.contents.length);
      if (!closed) break;
      await stage.toggle(closed.key);
    }
    const { graphs } = viewer.document.data;
    for (let graph = 1; graph < graphs.length && graph < most; graph++) await viewer.showGraph(graph);
    await frame();
    return { graphs: graphs.length, boxes: boxes.length, items: items.length, opened };
  }, [JSON.stringify(data), MOST_OPENED] as const);
}

it(`are drawn without an error, ${EVERY === 1 ? "all" : `one of ${EVERY}`}`, { timeout: 3_600_000 }, async () => {
  const context = await browser.newContext({ bypassCSP: true, viewport: { width: 1300, height: 850 } });
  const page = await context.newPage();
  const errors: string[] = [];
  let current = "";
  page.on("pageerror", (error) => errors.push(`${current}: ${error.message}`));
  page.on("console", (message) => { if (message.type() === "error") errors.push(`${current}: ${message.text()}`); });
  const writer = spawn(PYTHON, [path.join(import.meta.dirname, "write_official.py"), "--every", String(EVERY), "--start", String(START)], { env: pythonEnvironment(), stdio: ["ignore", "pipe", "inherit"] });
  let [models, opened] = [0, 0];
  for await (const line of createInterface({ input: writer.stdout })) {
    const { name, page: data } = JSON.parse(line) as { name: string; page: PageData };
    current = name;
    if (!models) await page.setContent(assemble(data));
    const drawn = await show(page, data);
    expect(drawn.boxes, name).toBe(drawn.items);
    expect(drawn.graphs, name).toBe(data.documents[0]!.graphs.length);
    opened += drawn.opened;
    models++;
  }
  console.log(`${models} models, ${opened} boxes opened`);
  expect(errors).toEqual([]);
  expect(models).toBeGreaterThan(1500 / EVERY);
  await context.close();
});
