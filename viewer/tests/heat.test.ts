import { describe, expect, it } from "vitest";
import { DARK, LIGHT } from "../src/drawing/theme.ts";
import { decorateError, heat } from "../src/drawing/heat.ts";
import { Annotations } from "../src/model/annotations.ts";
import { DocumentView } from "../src/model/graph_view.ts";
import type { PageData } from "../src/page_data.ts";
import { picture } from "../src/picture.ts";
import { makeDocument, makePage } from "./model_builder.ts";

function quantized(): PageData {
  const document = makeDocument({
    inputs: ["x"], outputs: ["y"], weights: ["w", "v"], scopes: [[0, "name", "block"]],
    nodes: [{ text: "a = MatMul(x, w)", name: "first" }, { text: "b = Relu(a)", name: "between" }, { text: "c = MatMul(b, v)", name: "second", scope: 1 }, { text: "y = Gemm(c)", name: "last", scope: 1 }],
  });
  document.quantization = {
    scheme: "int4", measure: "final", outputs: [["y", 21.5]],
    nodes: { graph: [0, 0, 0], node: [0, 2, 3], layer: ["first", "second", "last"], share: [0.5, 0.3, 0.2], alone: [24.5, 26.7, null], own: [20, 21, 22], bits: [4, 4, 4] },
    kept: { graph: [0], node: [1], why: "it is excluded".split(",") },
  };
  return makePage(document);
}

describe("errors of quantized layers", () => {
  const annotations = new Annotations(new DocumentView(quantized().documents[0]!), null);

  it("belong to their nodes, and add up in boxes", () => {
    expect(annotations.errorOf(0, 0)).toEqual({ share: 0.5, alone: 24.5, own: 20, bits: 4, layers: 1 });
    expect(annotations.errorOf(0, 1)).toBeUndefined();
    expect(annotations.errorIn(0, 1)!.share).toBeCloseTo(0.5);
    expect(annotations.errorIn(0, 1)!.layers).toBe(2);
    expect(annotations.largestShare).toBe(0.5);
    expect(annotations.reasonOf(0, 1)).toBe("it is excluded");
  });

  it("have the colour of their share of the largest one, and are written beside it", () => {
    for (const theme of [LIGHT, DARK]) {
      const hot = decorateError(annotations.errorOf(0, 0)!, 0.5, theme);
      expect(hot.tint).toBe(`rgb(${theme.heat.join(",")})`);
      expect(hot.badges![0]!.text).toBe("50.0 % · 24.5 dB");
      expect(decorateError(annotations.errorOf(0, 3)!, 0.5, theme)).toMatchObject({ tint: heat(0.4, theme), badges: [{ text: "20.0 %" }] });
    }
  });

  it.each([false, true])("are in pictures, with a legend; dark: %s", (dark) => {
    const svg = picture(JSON.stringify(quantized()), { dark, open: ["0/s1"] });
    const theme = dark ? DARK : LIGHT;
    for (const text of [">share of the final error: 0 %<", ">50.0 %<", `fill="${heat(1, theme)}"`, `fill="${heat(0.6, theme)}"`, `fill="${theme.mutedBox}"`]) expect(svg).toContain(text);
  });

  it("leave other pictures as they are", () => {
    const page = quantized();
    page.documents[0]!.quantization = null;
    expect(picture(JSON.stringify(page))).not.toContain("final error");
  });
});
