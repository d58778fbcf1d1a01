// Pages in headless Chromium, under the policy that `sardonyx view` writes.

import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { PageData } from "../../src/page_data.ts";

const BUNDLES = path.resolve(import.meta.dirname, "../../../src/sardonyx/_src/view/page");
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: FLAGS });
}

function hash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** The page as `sardonyx view -o` writes it. */
export function assemble(data: PageData): string {
  const [script, style] = ["viewer.js", "viewer.css"].map((name) => readFileSync(path.join(BUNDLES, name), "utf8")) as [string, string];
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; worker-src blob:; connect-src 'none'; base-uri 'none'; form-action 'none'`;
  const json = JSON.stringify(data).replace(/[<>&]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><title>page</title><style>${style}</style></head><body><script type="application/json" id="page-data">${json}</script><script>${script}</script></body></html>`;
}

export interface Opened {
  page: Page;
  errors: string[]; // of scripts, and refusals of the policy
  address: string;
  close: () => Promise<void>;
}

export async function openPage(browser: Browser, data: PageData, options: BrowserContextOptions = {}, fragment = ""): Promise<Opened> {
  const folder = mkdtempSync(path.join(tmpdir(), "viewer-"));
  const file = path.join(folder, "page.html");
  writeFileSync(file, assemble(data));
  const opened = await openAddress(browser, `file://${file}${fragment}`, options);
  return { ...opened, close: async () => { await opened.close(); rmSync(folder, { recursive: true }); } };
}

export async function openAddress(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1300, height: 850 }, ...options });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
  await page.goto(address);
  await page.waitForSelector("html[data-ready]");
  return { page, errors, address, close: () => context.close() };
}

interface Handle {
  viewer: { scene: unknown; open: Set<string>; selection: { kind: string; graph: number; id: number } | null; litNodes: Set<string>; graph: number };
  stage: { transform: { x: number; y: number; scale: number }; drawn: number };
}

/** Screen coordinates of a part of a box: fractions of its width and pixels below its top. */
export async function placeOf(page: Page, key: string, dx = 0, dy = 4): Promise<{ x: number; y: number }> {
  return page.evaluate(([wanted, right, below]) => {
    const { viewer, stage } = (window as unknown as { sardonyxViewer: Handle }).sardonyxViewer;
    interface Node { key: string; x: number; y: number; width: number; contents: Frame[] }
    interface Frame { x: number; y: number; boxes: Node[] }
    const find = (frame: Frame, x: number, y: number): [number, number, number] | null => {
      for (const box of frame.boxes) {
        if (box.key === wanted) return [x + box.x, y + box.y, box.width];
        for (const inner of box.contents) {
          const result = find(inner, x + box.x + inner.x, y + box.y + inner.y);
          if (result) return result;
        }
      }
      return null;
    };
    const [x, y, width] = find(viewer.scene as Frame, 0, 0)!;
    const area = document.querySelector(".picture:not(.before) .stage")!.getBoundingClientRect();
    const { transform } = stage;
    return { x: area.left + transform.x + (x + right * width) * transform.scale, y: area.top + transform.y + (y + below) * transform.scale };
  }, [key, dx, dy] as const);
}

export async function stateOf(page: Page): Promise<{ open: string[]; selection: { kind: string; graph: number; id: number } | null; marked: string[]; graph: number; drawn: number }> {
  return page.evaluate(() => {
    const { viewer, stage } = (window as unknown as { sardonyxViewer: Handle }).sardonyxViewer;
    return { open: [...viewer.open], selection: viewer.selection, marked: [...viewer.litNodes], graph: viewer.graph, drawn: stage.drawn };
  });
}
