// Times of pages in headless Chromium, for bench/viewing.py: reads tasks as JSON from standard input, and writes one line of JSON
// for each. A task is {tool, address, query}. Times are in milliseconds; null where the tool has not finished within the limit.
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";

const LIMIT = Number(process.env.LIMIT ?? 60000);
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

const TOOLS = {
  sardonyx: {
    ready: () => document.documentElement.dataset.ready === "true",
    search: ".search",
    result: ".result",
    shown: () => window.sardonyxViewer.viewer.selection !== null,
    openBlock: async () => {
      const { viewer, stage } = window.sardonyxViewer;
      const box = viewer.scene.boxes.find((candidate) => candidate.canOpen);
      if (!box) return null;
      const start = performance.now();
      await stage.toggle(box.key);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return performance.now() - start;
    },
    pan: (dx, dy) => {
      const { stage } = window.sardonyxViewer;
      stage.transform.move(dx, dy);
      stage.redraw();
    },
  },
  netron: {
    ready: () => document.body !== null && /(^| )default( |$)/.test(document.body.className) && document.querySelectorAll("#target .node").length > 0,
    search: ".sidebar-find-query",
    result: ".sidebar-find-content li",
    shown: () => document.querySelectorAll("#target .select").length > 0,
    openBlock: null,
    pan: (dx, dy) => document.getElementById("target").scrollBy(-dx, -dy),
  },
};

async function measure(browser, task) {
  const tool = TOOLS[task.tool];
  const context = await browser.newContext({ viewport: { width: 1920, height: 1080 } });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  // Netron replaces eval, through which the browser is driven.
  const keepEval = "const own = window.eval; Object.defineProperty(window, 'eval', { get: () => own, set: () => undefined });";
  if (task.tool === "netron") {
    await page.addInitScript(keepEval);
    // As on a later visit: its question about cookies is answered, and its reports go nowhere.
    await context.addCookies([{ name: "consent", value: "1", url: task.address }]);
    await context.route((address) => address.hostname !== "localhost", (route) => route.abort());
  }
  const result = { picture: null, block: null, find: null, frames: null };
  try {
    let start = performance.now();
    await page.goto(task.address, { waitUntil: "commit" });
    await page.waitForFunction(tool.ready, undefined, { polling: "raf" });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    result.picture = performance.now() - start;
    if (tool.openBlock) result.block = await page.evaluate(tool.openBlock);
    result.frames = await countFrames(page, tool.pan);
    start = performance.now();
    await page.keyboard.press(task.tool === "netron" ? "Control+f" : "/");
    await page.fill(tool.search, task.query);
    await page.locator(tool.result).first().click();
    await page.waitForFunction(tool.shown, undefined, { polling: "raf" });
    result.find = performance.now() - start;
  } catch (error) {
    result.failure = String(error.message).split("\n")[0];
  }
  await context.close().catch(() => undefined);
  return result;
}

/** Frames a second while the picture moves at each frame, for a second. */
function countFrames(page, pan) {
  return page.evaluate(`(async () => {
    const pan = ${pan.toString()};
    let frames = 0;
    const start = performance.now();
    await new Promise((done) => {
      const step = () => {
        pan(0, Math.floor(frames / 60) % 2 ? 6 : -6);
        frames++;
        if (performance.now() - start < 1000) requestAnimationFrame(step);
        else done();
      };
      requestAnimationFrame(step);
    });
    return frames / ((performance.now() - start) / 1000);
  })()`);
}

for (const task of JSON.parse(readFileSync(0, "utf8"))) {
  // A browser of its own for each page: one that has run out of memory spoils no other measurement.
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  console.log(JSON.stringify(await measure(browser, task)));
  await Promise.race([browser.close(), new Promise((done) => setTimeout(done, 5000))]);
}
process.exit(0);
