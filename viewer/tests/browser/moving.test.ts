// Ways through a picture: minimap, keys of the selected node, what screen readers hear, layouts in a worker.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageData } from "../../src/page_data.ts";
import { makeDocument, makePage } from "../model_builder.ts";
import { launch, openPage, stateOf } from "./browser.ts";

let browser: Browser;
beforeAll(async () => { browser = await launch(); });
afterAll(() => browser.close());

/** x -> Relu -> Exp -> Neg -> y in a column as long as asked for, and beside it z -> Abs -> w. */
function columns(length: number): PageData {
  const nodes = Array.from({ length }, (_, i) => ({ text: `v${i + 1} = ${["Relu", "Exp", "Neg"][i % 3]!}(v${i})`, name: `n${i}` }));
  return makePage(makeDocument({ name: "net", inputs: ["v0", "z"], outputs: [`v${length}`, "w"], types: { v0: "float32[2]" }, nodes: [...nodes, { text: "w = Abs(z)", name: "alone" }] }));
}

async function select(page: Page, query: string): Promise<void> {
  await page.keyboard.press("/");
  await page.keyboard.type(query);
  await page.waitForSelector(".result");
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await stateOf(page)).selection).not.toBeNull();
  await page.locator(".stage").focus();
}

describe("the minimap", () => {
  it("moves the picture to where it is pressed, and is there only if the picture is longer than the window", async () => {
    const { page, errors, close } = await openPage(browser, columns(90));
    const top = (): Promise<number> => page.evaluate(() => (window as unknown as { sardonyxViewer: { stage: { transform: { y: number } } } }).sardonyxViewer.stage.transform.y);
    const before = await top();
    const area = (await page.locator(".minimap").boundingBox())!;
    await page.mouse.click(area.x + area.width / 2, area.y + area.height - 4);
    await expect.poll(top).toBeLessThan(before - 500);
    await page.keyboard.press("0");
    await expect.poll(() => page.isVisible(".minimap")).toBe(false);
    expect(errors).toEqual([]);
    await close();
  });
});

describe("keys of the selected node", () => {
  it("mark its path, its producers and its consumers", async () => {
    const { page, close } = await openPage(browser, columns(6));
    await select(page, "name:n2");
    const marked = async (key: string): Promise<string[]> => {
      await page.keyboard.press(key);
      return (await stateOf(page)).marked.filter((name) => /\/n\d+$/.test(name)).sort();
    };
    expect(await marked("p")).toEqual(["0/n0", "0/n1", "0/n2", "0/n3", "0/n4", "0/n5"]);
    expect(await marked("u")).toEqual(["0/n0", "0/n1", "0/n2"]);
    expect(await marked("i")).toEqual(["0/n2", "0/n3", "0/n4", "0/n5"]);
    await close();
  });

  it("lead from an input to an output and back, and the address has where they are", async () => {
    const { page, address, close } = await openPage(browser, columns(2));
    const selection = async (): Promise<string> => { const { kind, id } = (await stateOf(page)).selection!; return `${kind} ${id}`; };
    const way: string[] = [];
    await page.keyboard.press("Escape");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"]) {
      await page.keyboard.press(key);
      way.push(await selection());
    }
    const output = way[3]!;
    expect([way[0], way[1], way[2], way[4]]).toEqual(["value 0", "node 0", "node 1", "node 1"]);
    expect(output).toMatch(/^value/);
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.url()).toMatch(/at=0\+0%2Fo\d+$/);
    const fragment = new URL(page.url()).hash;
    await page.goto("about:blank");
    await page.goto(address + fragment);
    await page.waitForSelector("html[data-ready]");
    expect(await selection()).toBe(output);
    expect(await page.getAttribute('[role="treeitem"][aria-selected="true"]', "aria-label")).toBe("output v2 ");
    await close();
  });

  it("copy it as ONNX text", async () => {
    const { page, close } = await openPage(browser, columns(6));
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await select(page, "name:n1");
    await page.keyboard.press("c");
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("[n1] v2 = Exp (v1)");
    await close();
  });

  it("follow edges, move and zoom the picture", async () => {
    const { page, close } = await openPage(browser, columns(6));
    await select(page, "name:n2");
    await page.keyboard.press("ArrowDown");
    expect((await stateOf(page)).selection?.id).toBe(3);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    expect((await stateOf(page)).selection?.id).toBe(1);
    const view = (): Promise<{ x: number; y: number; scale: number }> => page.evaluate(() => { const { x, y, scale } = (window as unknown as { sardonyxViewer: { stage: { transform: { x: number; y: number; scale: number } } } }).sardonyxViewer.stage.transform; return { x, y, scale }; });
    const before = await view();
    await page.keyboard.press("d");
    expect((await view()).x).toBeLessThan(before.x);
    await page.keyboard.press("+");
    expect((await view()).scale).toBeGreaterThan(before.scale);
    await close();
  });
});

describe("screen readers", () => {
  it("hear the outline as a tree, in the order of the graph, and the names of what acts", async () => {
    const { page, close } = await openPage(browser, columns(2));
    const outline = await page.locator("nav.outline").ariaSnapshot();
    expect(outline.match(/treeitem "[^"]*"/g)).toEqual(['input v0 float32 2', 'input z ', ' Relu n0', ' Exp n1', ' Abs alone', 'output v2 ', 'output w '].map((name) => `treeitem "${name.trim()}"`));
    const bar = await page.locator("header.toolbar").ariaSnapshot();
    for (const name of ['searchbox "Search nodes"', 'button "Fit"', 'button "Zoom in (+)"', 'button "Dark and light (T)"', 'button "Keys"']) expect(bar).toContain(name);
    expect(await page.getAttribute(".minimap", "aria-hidden")).toBe("true");
    await close();
  });
});

describe("large frames", () => {
  it("are laid out in a worker, which the policy permits", async () => {
    const { page, errors, close } = await openPage(browser, columns(240));
    expect(page.workers()).toHaveLength(1);
    expect((await stateOf(page)).drawn).toBeGreaterThan(0);
    expect(errors).toEqual([]);
    await close();
  });
});
