import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageData } from "../../src/page_data.ts";
import { makeDocument, makePage } from "../model_builder.ts";
import { launch, openPage, stateOf } from "./browser.ts";

let browser: Browser;
beforeAll(async () => { browser = await launch(); });
afterAll(() => browser.close());

const HOSTILE = `</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">`;
const HOSTILE_MARKDOWN = `# Title\n\n${HOSTILE}\n\n[link](javascript:window.hacked=1) [good](https://example.org) <svg onload="window.hacked=1"></svg> <style>*{display:none}</style>`;

function hostileModel(): PageData {
  const document = makeDocument({
    name: HOSTILE, inputs: ["x"], outputs: ["y"], scopes: [[0, "name", HOSTILE]], types: { x: HOSTILE },
    nodes: [{ text: "y = Relu(x)", name: HOSTILE, scope: 1, attributes: [{ name: HOSTILE, type: "string", text: HOSTILE }] }],
  });
  document.documentation = HOSTILE_MARKDOWN;
  document.metadata = [[HOSTILE, HOSTILE]];
  document.source = HOSTILE;
  document.graphs[0]!.documentation = HOSTILE_MARKDOWN;
  document.graphs[0]!.nodes.notes[0] = { documentation: HOSTILE_MARKDOWN, metadata: [[HOSTILE, HOSTILE]] };
  document.findings = [{ severity: "error", code: HOSTILE, message: HOSTILE, clause: HOSTILE, cure: HOSTILE, place: { graph: 0, node: 0, value: -1, attribute: "" } }];
  return { ...makePage(document), title: HOSTILE };
}

describe("strings of a model", () => {
  it("are inert wherever they are shown", async () => {
    const { page, errors, close } = await openPage(browser, hostileModel());
    await page.fill(".search", "Relu");
    await page.click(".result");
    await page.keyboard.press("Escape");
    await page.fill(".search", "script");
    await page.waitForSelector(".result");
    expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
    expect(await page.locator("script").count()).toBe(2);
    expect(await page.locator("body img, body svg, body style, body iframe, body form, [onerror], [onload]").count()).toBe(0);
    expect(errors).toEqual([]);
    await close();
  });

  it("are Markdown in documentation, with safe links only", async () => {
    const { page, close } = await openPage(browser, hostileModel());
    expect(await page.textContent(".documentation h1")).toBe("Title");
    const links = await page.locator(".documentation a[href]").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    expect(new Set(links)).toEqual(new Set(["https://example.org"]));
    await close();
  });
});

describe("a broken model", () => {
  it("is shown, with what the checker says at its place", async () => {
    const document = makeDocument({ inputs: ["x"], outputs: ["y"], nodes: [{ text: "y = Relu(nowhere)", scope: 1 }], scopes: [[0, "name", "block"]] });
    document.kind = "broken";
    document.findings = [
      { severity: "error", code: "SX123", message: "a value that nothing defines", clause: "IR-1", cure: "define it", place: { graph: 0, node: 0, value: -1, attribute: "" } },
      { severity: "warning", code: "SX001", message: "about the model", clause: "", cure: "", place: { graph: -1, node: -1, value: -1, attribute: "" } },
    ];
    const { page, errors, close } = await openPage(browser, makePage(document));
    const panel = await page.textContent(".panel");
    for (const text of ["SX123", "SX001", "define it", "IR-1", "broken"]) expect(panel).toContain(text);
    await page.click("text=SX123");
    await expect.poll(async () => (await stateOf(page)).selection).toMatchObject({ kind: "node", id: 0 });
    expect(await page.textContent(".panel")).toContain("a value that nothing defines");
    expect(errors).toEqual([]);
    await close();
  });

  it("without a graph has its properties", async () => {
    const document = makeDocument();
    document.properties = [["format", "unknown"]];
    const { page, errors, close } = await openPage(browser, makePage(document));
    expect(await page.textContent(".panel")).toContain("unknown");
    expect(errors).toEqual([]);
    await close();
  });
});

describe("a difference", () => {
  function difference(): PageData {
    const before = makeDocument({ inputs: ["x"], outputs: ["y"], nodes: ["a = Relu(x)", "b = Dropout(a)", "y = Neg(b)"] });
    const after = makeDocument({ inputs: ["x"], outputs: ["y"], nodes: ["a = Relu(x)", "y = Neg(a)", "z = Tanh(y)"] });
    const place = (node: number): PageData["documents"][number]["findings"][number]["place"] => ({ graph: 0, node, value: -1, attribute: "" });
    return {
      ...makePage(before, after),
      difference: {
        summary: ["1 node removed"],
        graphs: [{ before: 0, after: 0, nodes: [[0, 0], [1, -1], [2, 1], [-1, 2]] }],
        changes: [
          { kind: "node", change: "removed", before: place(1), after: null, text: "Dropout", error: -1 },
          { kind: "node", change: "changed", before: place(2), after: place(1), text: "input b -> a", error: 0.25 },
          { kind: "node", change: "added", before: null, after: place(2), text: "Tanh", error: -1 },
          { kind: "value", change: "changed", before: { ...place(-1), value: 0 }, after: { ...place(-1), value: 0 }, text: "x: float32 -> float16", error: -1 },
        ],
        firstDivergence: 1,
      },
    };
  }

  it("leads from change to change in the merged picture", async () => {
    const { page, errors, close } = await openPage(browser, difference());
    expect(await page.textContent(".panel")).toContain("1 node removed");
    const visited: (number | undefined)[] = [];
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press("]");
      await page.waitForTimeout(60);
      visited.push((await stateOf(page)).selection?.id);
    }
    expect(visited).toEqual([3, 1, 2]); // Dropout comes after the nodes of the second model
    await page.keyboard.press("]");
    await expect.poll(async () => (await stateOf(page)).selection).toMatchObject({ kind: "value", id: 0 });
    await page.keyboard.press("Escape");
    await page.click("text=x: float32 -> float16");
    await expect.poll(async () => (await stateOf(page)).selection).toMatchObject({ kind: "value", id: 0 });
    expect(errors).toEqual([]);
    await close();
  });

  it("shows both models beside each other, and selects what matches", async () => {
    const { page, errors, close } = await openPage(browser, difference());
    await page.click("text=Side by side");
    await expect.poll(() => page.locator(".stage").count()).toBe(2);
    await page.fill(".search", "Neg");
    await page.click(".result");
    await page.waitForTimeout(100);
    expect((await stateOf(page)).selection?.id).toBe(1);
    await page.click("text=Side by side");
    await expect.poll(() => page.locator(".stage").count()).toBe(1);
    expect(errors).toEqual([]);
    await close();
  });
});

describe("a run", () => {
  it("has times, engines, regions and memory", async () => {
    const document = makeDocument({ inputs: ["x"], outputs: ["y"], nodes: ["a = Conv(x)", "b = Relu(a)", "y = Unique(b)"] });
    document.profile = {
      unit: "seconds", peakFlops: 1e11,
      nodes: { graph: [0, 0, 0], node: [0, 1, 2], seconds: [0.003, 0.001, 0.004], flops: [6e6, 1e3, 0], bytes: [4096, 4096, 4096], engine: ["native", "native", "reference"], region: [0, 0, -1] },
      regions: [{ name: "ConvRelu", graph: 0, nodes: [0, 1] }],
      memory: [{ step: "ConvRelu", bytes: 4096, values: ["x", "b"] }, { step: "Unique", bytes: 1024, values: ["b"] }],
    };
    const { page, errors, close } = await openPage(browser, makePage(document));
    const panel = await page.textContent(".panel");
    for (const text of ["8.00 ms in all", "4.00 ms", "Peak 4.0 KiB at ConvRelu"]) expect(panel).toContain(text);
    await page.fill(".search", "Conv");
    await page.click(".result");
    const run = await page.textContent(".panel");
    for (const text of ["3.00 ms (37.5 %)", "native", "2.00 GFLOP/s, 2 % of a core's peak", "ConvRelu (2 nodes)"]) expect(run).toContain(text);
    for (const mode of ["engine", "structure", "time"]) await page.selectOption('select[aria-label="Colours"]', mode);
    expect(errors).toEqual([]);
    await close();
  });
});

describe("weights", () => {
  it("have statistics, a picture and a download", async () => {
    const document = makeDocument({ inputs: ["x"], outputs: ["y"], weights: ["w"], nodes: ["y = MatMul(x, w)"] });
    Object.assign(document.tensors[0]!, {
      shape: [2, 2], preview: "[0.5, ...", data: btoa("\x93NUMPY data"),
      statistics: { minimum: -1.5, maximum: 2.5, mean: 0.25, deviation: 1, zeros: 1, notFinite: 0, histogram: [1, 2, 1] },
      picture: { width: 2, height: 2, pixels: btoa("\x00\x80\xff\x10") },
    });
    const { page, errors, close } = await openPage(browser, makePage(document));
    await page.fill(".search", "MatMul");
    await page.click(".result");
    await page.click("td >> text=w");
    const panel = await page.textContent(".panel");
    for (const text of ["float32", "2 × 2", "-1.5", "2.5", "[0.5, ..."]) expect(panel).toContain(text);
    expect(await page.locator("canvas.weights, canvas.histogram").count()).toBe(2);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Download .npy")]);
    expect(download.suggestedFilename()).toBe("w.npy");
    expect(errors).toEqual([]);
    await close();
  });
});
