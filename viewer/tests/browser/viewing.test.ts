import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageData } from "../../src/page_data.ts";
import { makeDocument, makePage } from "../model_builder.ts";
import { launch, openPage, placeOf, stateOf } from "./browser.ts";

let browser: Browser;
beforeAll(async () => { browser = await launch(); });
afterAll(() => browser.close());

function model(): PageData {
  return makePage(makeDocument(
    {
      name: "net", inputs: ["image", "flag"], outputs: ["label"], weights: ["kernel"],
      types: { image: "float32[1, 3, 8, 8]", label: "float16[1, 10]" },
      scopes: [[0, "name", "stem"], [0, "name", "head"]],
      nodes: [
        { text: "a = Conv(image, kernel)", name: "conv1", scope: 1, attributes: [{ name: "kernel_shape", type: "ints", text: "[3, 3]" }, { name: "group", type: "int", text: "1", isDefault: true }] },
        { text: "b = Relu(a)", name: "act", scope: 1 },
        { text: "c = If(flag)", name: "choice", scope: 2, attributes: [{ name: "then_branch", type: "graph", text: "", graphs: [1] }] },
        { text: "d = Add(b, c)", name: "sum", scope: 2 },
        { text: "label = Activate(d)", name: "call", scope: 2, body: 2 },
      ],
    },
    { kind: "nested", name: "then", inputs: [], outputs: ["t"], nodes: [{ text: "t = Neg(b)", name: "inner" }], captured: { b: 4 }, owner: { graph: 0, node: 2, attribute: "then_branch" } },
    { kind: "function", name: "Activate", inputs: ["x"], outputs: ["y"], nodes: ["y = Tanh(x)"] },
  ));
}

describe("the picture", () => {
  it("is drawn without an error", async () => {
    const { page, errors, close } = await openPage(browser, model());
    expect((await stateOf(page)).drawn).toBeGreaterThan(0);
    const colors = await page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".stage")!;
      const pixels = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height).data;
      const seen = new Set<number>();
      for (let i = 0; i < pixels.length; i += 4) seen.add((pixels[i]! << 16) | (pixels[i + 1]! << 8) | pixels[i + 2]!);
      return seen.size;
    });
    expect(colors).toBeGreaterThan(20);
    expect(errors).toEqual([]);
    await close();
  });

  it("opens a box where it is, and closes it again", async () => {
    const { page, close } = await openPage(browser, model());
    const before = await placeOf(page, "0/s1", 0.5);
    const sign = await placeOf(page, "0/s1", 0, 12);
    await page.mouse.click(sign.x + 12, sign.y);
    await expect.poll(async () => (await stateOf(page)).open).toEqual(["0/s1"]);
    const after = await placeOf(page, "0/s1", 0.5);
    expect(Math.hypot(after.x - before.x, after.y - before.y)).toBeLessThan(2);
    await placeOf(page, "0/n0");
    await page.mouse.dblclick(after.x, after.y + 8);
    await expect.poll(async () => (await stateOf(page)).open).toEqual([]);
    await close();
  });

  it("is as sharp as the screen, and fits at 200 %", async () => {
    const { page, close } = await openPage(browser, model(), { viewport: { width: 650, height: 425 }, deviceScaleFactor: 2 });
    const sizes = await page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".stage")!;
      return { ratio: canvas.width / canvas.clientWidth, overflow: document.documentElement.scrollWidth - innerWidth, width: canvas.clientWidth, height: canvas.clientHeight };
    });
    expect(sizes.ratio).toBeCloseTo(2);
    expect(sizes.overflow).toBeLessThanOrEqual(0);
    expect(sizes.height).toBeGreaterThan(100);
    await close();
  });

  it("has a dark look, by the system's choice and by switch", async () => {
    const { page, close } = await openPage(browser, model(), { colorScheme: "dark" });
    expect(await page.evaluate(() => document.documentElement.className)).toBe("dark");
    await page.keyboard.press("t");
    expect(await page.evaluate(() => document.documentElement.className)).toBe("");
    await close();
  });
});

describe("finding the way", () => {
  it("searches, shows the result, and restores it from the address", async () => {
    const { page, close, address } = await openPage(browser, model());
    await page.keyboard.press("/");
    await page.keyboard.type("Conv kernel=3");
    await page.waitForSelector(".result");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await stateOf(page)).selection).toMatchObject({ kind: "node", graph: 0, id: 0 });
    expect(await page.textContent(".panel h2")).toBe("Conv");
    const panel = await page.textContent(".panel");
    for (const text of ["conv1", "image", "float32[1, 3, 8, 8]", "kernel_shape", "[3, 3]", "group"]) expect(panel).toContain(text);
    await expect.poll(() => page.url()).toContain("at=");
    const fragment = new URL(page.url()).hash;
    await page.goto("about:blank");
    await page.goto(address + fragment);
    await page.waitForSelector("html[data-ready]");
    expect(await stateOf(page)).toMatchObject({ open: ["0/s1"], selection: { kind: "node", id: 0 } });
    await close();
  });

  it("finds nodes of nested graphs and of functions", async () => {
    const { page, close } = await openPage(browser, model());
    await page.fill(".search", "Neg");
    await page.click(".result");
    await expect.poll(async () => (await stateOf(page)).open).toEqual(["0/s2", "0/n2"]);
    await page.fill(".search", "Tanh");
    await page.click('.result:has-text("Tanh")');
    await expect.poll(async () => (await stateOf(page)).graph).toBe(2);
    await close();
  });

  it("takes the first result of what is typed, however soon Enter follows", async () => {
    const { page, close } = await openPage(browser, model());
    await page.fill(".search", "Relu");
    await page.waitForSelector(".result");
    await page.fill(".search", "Conv");
    await page.press(".search", "Enter");
    await expect.poll(async () => (await stateOf(page)).selection?.id).toBe(0);
    await page.fill(".search", "Relu");
    await page.press(".search", "Enter");
    await expect.poll(async () => (await stateOf(page)).selection?.id).toBe(1);
    await close();
  });

  it("marks a path from an input to an output", async () => {
    const { page, close } = await openPage(browser, model());
    await page.fill(".search", "op:Relu");
    await page.click(".result");
    await page.click("text=Path");
    const { marked } = await stateOf(page);
    for (const key of ["0/n0", "0/n1", "0/n4", "0/s2"]) expect(marked).toContain(key);
    await close();
  });

  it("works with the keyboard alone", async () => {
    const { page, close } = await openPage(browser, model());
    await page.keyboard.press("o");
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
    const names = async (): Promise<string | null> => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? null);
    for (let i = 0; i < 10 && !(await names())?.includes("stem"); i++) await page.keyboard.press("ArrowDown");
    expect(await names()).toContain("scope stem");
    await page.keyboard.press("ArrowRight");
    await expect.poll(async () => (await stateOf(page)).open).toEqual(["0/s1"]);
    await page.keyboard.press("ArrowRight");
    await expect.poll(names).toContain("Conv");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(names).toContain("stem");
    expect(await page.getAttribute('[role="treeitem"]:focus', "aria-expanded")).toBe("true");
    await page.locator(".stage").focus();
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowDown");
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
    expect((await stateOf(page)).selection).not.toBeNull();
    await page.keyboard.press("?");
    expect(await page.isVisible(".help")).toBe(true);
    await page.keyboard.press("Escape");
    expect(await page.isVisible(".help")).toBe(false);
    await close();
  });
});
