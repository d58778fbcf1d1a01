// Times of pages in headless Chromium, for bench/viewing.py: reads tasks as JSON from standard input, and writes one line of JSON
// for each. A task is {tool, address, query}. Times are in milliseconds; null where the tool has not finished within the limit.
// What follows the first picture is timed inside the page, by the same script for both tools: the driver's own steps (its scripts
// compile in each page, and its clicks wait until an element rests) take longer than a search in a small model.
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";

const LIMIT = Number(process.env.LIMIT ?? 60000);
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

const TOOLS = {
  sardonyx: {
    ready: () => document.documentElement.dataset.ready === "true",
    key: { key: "/", code: "Slash", keyCode: 191 },
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
    key: { key: "f", code: "KeyF", keyCode: 70, ctrlKey: true },
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
    const start = performance.now();
    await page.goto(task.address, { waitUntil: "commit" });
    await page.waitForFunction(tool.ready, undefined, { polling: "raf" });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    result.picture = performance.now() - start;
    if (tool.openBlock) result.block = await page.evaluate(tool.openBlock);
    result.frames = await countFrames(page, tool.pan);
    result.find = await find(page, tool, task.query);
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

/** From the key that opens the search, over the whole query and the choice of the first result, to the frame that shows the node. */
function find(page, { key, search, result, shown }, query) {
  return page.evaluate(`(async () => {
    const shown = ${shown.toString()};
    const start = performance.now();
    const until = async (test) => {
      for (let value; performance.now() - start < ${LIMIT}; await new Promise((done) => setTimeout(done))) if ((value = test())) return value;
      throw new Error("no result within the limit");
    };
    document.body.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...${JSON.stringify(key)} }));
    const field = await until(() => document.querySelector(${JSON.stringify(search)}));
    field.value = ${JSON.stringify(query)};
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    (await until(() => document.querySelector(${JSON.stringify(result)}))).click();
    await until(shown);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - start;
  })()`);
}

for (const task of JSON.parse(readFileSync(0, "utf8"))) {
  // A browser of its own for each page: one that has run out of memory spoils no other measurement.
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  console.log(JSON.stringify(await measure(browser, task)));
  await Promise.race([browser.close(), new Promise((done) => setTimeout(done, 5000))]);
}
process.exit(0);
