import { describe, expect, it } from "vitest";
import { measure, shorten } from "../src/drawing/text.ts";
import { escapeMarkup } from "../src/drawing/svg_painter.ts";
import { picture } from "../src/picture.ts";
import { makeDocument, makePage } from "./model_builder.ts";

const HOSTILE = '</title><script>alert("x")</script>';

describe("pictures", () => {
  it("name operators, values and weights", () => {
    const svg = picture(JSON.stringify(makePage(makeDocument({ inputs: ["x"], outputs: ["y"], weights: ["w"], nodes: ["y = MatMul(x, w)"] }))));
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="[\d.]+" height="[\d.]+"/);
    for (const text of [">MatMul<", ">x<", ">y<", ">input 1 (4)<"]) expect(svg).toContain(text);
  });

  it("escape every string of the model", () => {
    const document = makeDocument({ name: HOSTILE, inputs: ["x"], outputs: [HOSTILE], nodes: [{ text: "y = Relu(x)", name: HOSTILE, scope: 1 }], scopes: [[0, "name", HOSTILE]] });
    const page = makePage(document);
    page.title = HOSTILE;
    const svg = picture(JSON.stringify(page));
    expect(svg).not.toMatch(/<script|<\/script|alert\("/);
    expect(svg).toContain("&#60;script&#62;");
  });

  it("replace characters that XML forbids", () => {
    expect(escapeMarkup("a\u0000b\ud800c\u001b")).toBe("a\ufffdb\ufffdc\ufffd");
  });

  it("open boxes on request", () => {
    const text = { inputs: ["x"], outputs: ["y"], nodes: [{ text: "y = Relu(x)", scope: 1 }], scopes: [[0, "name", "block"] as [number, "name", string]] };
    const page = JSON.stringify(makePage(makeDocument(text)));
    expect(picture(page)).not.toContain(">Relu<");
    expect(picture(page, { open: ["0/s1"] })).toContain(">Relu<");
  });

  it("of documents without graphs are empty", () => {
    expect(picture(JSON.stringify(makePage(makeDocument())))).toContain("</svg>");
  });
});

describe("texts", () => {
  it("are as wide as in Helvetica", () => {
    expect(measure("Wi", 1000)).toBe(944 + 222);
  });

  it("are cut in the middle where they do not fit", () => {
    const cut = shorten("a_very_long_name_of_a_value", 80, 12);
    expect(measure(cut, 12)).toBeLessThanOrEqual(80);
    expect(cut).toMatch(/^a_very.*….*e$/);
    expect(shorten("short", 80, 12)).toBe("short");
  });
});
