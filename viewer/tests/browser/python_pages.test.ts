// Pages as Python writes and serves them: what `sardonyx view` gives a user, from the file to the screen.

import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, openAddress, stateOf } from "./browser.ts";
import type { Opened } from "./browser.ts";
import { PYTHON, pythonEnvironment } from "./python.ts";

let browser: Browser;
let folder: string;
beforeAll(async () => {
  browser = await launch();
  folder = mkdtempSync(path.join(tmpdir(), "viewer-pages-"));
  execFileSync(PYTHON, [path.join(import.meta.dirname, "write_pages.py"), folder], { env: pythonEnvironment(), stdio: "inherit" });
});
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const open = (name: string): Promise<Opened> => openAddress(browser, `file://${folder}/${name}.html`);
const panelOf = async (page: Page): Promise<string> => (await page.textContent(".panel")) ?? "";

/** Selects the first node of an operator. */
async function find(page: Page, operator: string): Promise<void> {
  await page.fill(".search", `op:${operator}`);
  await page.press(".search", "Enter");
  await expect.poll(() => page.textContent(".panel h2")).toBe(operator);
}

describe("a page that Python writes", () => {
  it("opens, and finds nodes of a loop and of a function with the attributes of its call", async () => {
    const { page, errors, close } = await open("model");
    expect((await stateOf(page)).drawn).toBeGreaterThan(0);
    await find(page, "Neg");
    await expect.poll(async () => (await stateOf(page)).open).toEqual(["0/n1"]);
    expect(await panelOf(page)).toContain("float32[N, 2]");
    await find(page, "Activate");
    await page.click('.actions button:has-text("Open")');
    await expect.poll(async () => (await stateOf(page)).open).toContain("0/n2");
    expect(await page.textContent(".outline")).toContain("alpha 0.25");
    expect(errors).toEqual([]);
    await close();
  });

  it("shows every part of a model that has them all", async () => {
    const { page, errors, close } = await open("complete");
    const panel = await panelOf(page);
    for (const text of ["Training 1", "Initialization", "w ← w_next", "Device configurations", "2 devices: a, b", "Functions", "Metadata", "SX410"]) {
      expect(panel.replace(/\s+/g, " ")).toContain(text.replace(" ← ", "← "));
    }
    const names = await page.locator('select[aria-label="Graph"] option').allTextContents();
    await find(page, "Op");
    for (const text of ["configuration two, pipeline stage 1", "y on devices [0: [0, 1], 1], axis 0: 4 in 2 shards, N in 2 shards", "float32[1]"]) expect(await panelOf(page)).toContain(text);
    await page.click("td >> text=/^y$/");
    expect(await panelOf(page)).toContain("SCALE_TENSOR = w");
    await page.keyboard.press("Escape");
    expect(names).toEqual(expect.arrayContaining([expect.stringMatching(/^initialization: /), expect.stringMatching(/^algorithm: /), expect.stringMatching(/^function: /)]));
    for (const option of await page.locator('select[aria-label="Graph"] option').evaluateAll((all) => all.map((o) => (o as HTMLOptionElement).value))) {
      await page.selectOption('select[aria-label="Graph"]', option);
      await expect.poll(async () => (await stateOf(page)).graph).toBe(Number(option));
    }
    expect(errors).toEqual([]);
    await close();
  });

  it("has what a file still holds that does not decode, and the place of the fault", async () => {
    const { page, errors, close } = await open("broken");
    expect(await page.textContent(".outline")).toContain("MatMul");
    expect(await panelOf(page)).toContain("the first field that cannot be read is graph.node[2].domain");
    await page.click("text=SX001");
    await expect.poll(async () => (await stateOf(page)).selection).toMatchObject({ kind: "node", id: 2 });
    expect(errors).toEqual([]);
    await close();
  });

  it("has what the checker says about an invalid model", async () => {
    const { page, errors, close } = await open("invalid");
    expect(await panelOf(page)).toContain("nowhere");
    await page.click(".findings button >> nth=0");
    await expect.poll(async () => (await stateOf(page)).selection).toMatchObject({ graph: 0 });
    expect(errors).toEqual([]);
    await close();
  });

  it("holds no script of its model", async () => {
    const { page, errors, close } = await open("hostile");
    await find(page, "LeakyRelu");
    await page.keyboard.press("Escape");
    await page.fill(".search", "script");
    await page.waitForSelector(".result");
    expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
    expect(await page.locator("body img, body iframe, [onerror]").count()).toBe(0);
    expect(errors).toEqual([]);
    await close();
  });

  it("leads through the changes of a model that was optimized", async () => {
    const { page, errors, close } = await open("difference");
    for (const text of ["1 node removed", "outputs: 1 of 1 agree"]) expect(await panelOf(page)).toContain(text);
    await page.keyboard.press("]");
    await expect.poll(async () => (await stateOf(page)).selection).not.toBeNull();
    expect(await panelOf(page)).toContain("Dropout");
    expect(errors).toEqual([]);
    await close();
  });

  it("has the time and the memory of a run", async () => {
    const { page, errors, close } = await open("profile");
    for (const text of ["in all; the slowest nodes", "MatMul · product", "Peak "]) expect(await panelOf(page)).toContain(text);
    await find(page, "MatMul");
    for (const text of ["engine", "native", "GFLOP/s"]) expect(await panelOf(page)).toContain(text);
    expect(errors).toEqual([]);
    await close();
  });
});

describe("a page that Python serves", () => {
  let server: ChildProcess;
  let address: string;
  beforeAll(async () => {
    server = spawn(PYTHON, ["-u", "-m", "sardonyx", "view", path.join(folder, "model.onnx"), "--no-browser"], { env: pythonEnvironment() });
    address = await new Promise<string>((done) => {
      server.stdout!.on("data", (chunk: Buffer) => {
        const match = /http:\S+/.exec(chunk.toString());
        if (match) done(match[0]);
      });
    });
  });
  afterAll(() => { server.kill("SIGINT"); });

  it("is drawn under its policy, and is found with its token alone", async () => {
    const { page, errors, close } = await openAddress(browser, address);
    expect((await stateOf(page)).drawn).toBeGreaterThan(0);
    expect(errors).toEqual([]);
    const without = await page.request.get(new URL("/", address).href);
    expect(without.status()).toBe(404);
    const foreign = await page.request.get(`${address}api/tensor?tensor=0`, { headers: { Host: "evil.example" } });
    expect(foreign.status()).toBe(403);
    await close();
  });

  it("stores a weight, and asks for the statistics that the page lacks", async () => {
    const { page, errors, close } = await openAddress(browser, address);
    await page.evaluate(() => {
      const { viewer } = (window as unknown as { sardonyxViewer: { viewer: { document: { data: { tensors: { statistics: unknown; picture: unknown }[] } } } } }).sardonyxViewer;
      Object.assign(viewer.document.data.tensors[0]!, { statistics: null, picture: null });
    });
    await find(page, "MatMul");
    await page.click("td >> text=w");
    await page.waitForSelector("canvas.histogram");
    const panel = await panelOf(page);
    for (const text of ["minimum1", "maximum6", "mean3.5"]) expect(panel).toContain(text);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Download .npy")]);
    expect(download.suggestedFilename()).toBe("w.npy");
    const stored = readFileSync(await download.path());
    expect(stored.subarray(1, 6).toString()).toBe("NUMPY");
    expect([...new Float32Array(new Uint8Array(stored.subarray(-24)).buffer)]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(errors).toEqual([]);
    await close();
  });

  it("extracts a part of the main graph, of a loop and of a function", async () => {
    const { page, errors, close } = await openAddress(browser, address);
    for (const operator of ["MatMul", "Neg", "LeakyRelu"]) {
      await find(page, operator);
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Extract")]);
      const text = execFileSync(PYTHON, ["-m", "sardonyx", "show", await download.path(), "--text"], { env: pythonEnvironment() }).toString();
      expect(text).toMatch(new RegExp(`= ${operator}\\b`));
      expect(text.match(/ = [A-Z]\w*/g)).toHaveLength(1);
    }
    expect(errors).toEqual([]);
    await close();
  });
});
