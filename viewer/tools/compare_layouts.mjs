// Times of layered layouts: ours, dagre's and elkjs' on the first frames of pages, and on one random frame of 2,000 boxes.
//   npm install --no-save elkjs @dagrejs/dagre
//   node tools/compare_layouts.mjs page.json ...      (`sardonyx view m.onnx --json`)
import { build } from "esbuild";
import { createRequire } from "node:module";
import { readFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const require = createRequire(import.meta.url);
const ELK = require("elkjs/lib/elk.bundled.js");
const dagre = require("@dagrejs/dagre");
const folder = mkdtempSync(path.join(tmpdir(), "layouts-"));
const entry = `
export { layOut } from "./src/layout/layered.ts";
export { DocumentView } from "./src/model/graph_view.ts";
export { SceneBuilder } from "./src/scene/scene.ts";`;
await build({ stdin: { contents: entry, resolveDir: process.cwd(), loader: "ts" }, bundle: true, format: "esm", outfile: path.join(folder, "viewer.mjs"), logLevel: "error" });
const { layOut, DocumentView, SceneBuilder } = await import(path.join(folder, "viewer.mjs"));

function problemOf(file) {
  const page = JSON.parse(readFileSync(file, "utf8"));
  return new SceneBuilder(new DocumentView(page.documents[0]), new Set()).build(0).next().value;
}

function randomProblem(count) {
  let state = 1;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const items = Array.from({ length: count }, () => ({ width: 120, height: 40, layer: "free" }));
  const nets = items.slice(1).map((_, i) => ({ source: { item: Math.max(0, i - Math.floor(random() * 4)), offset: null }, targets: [{ item: i + 1, offset: null }] }));
  for (let i = 0; i < count / 3; i++) {
    const source = Math.floor(random() * (count - 30));
    nets.push({ source: { item: source, offset: null }, targets: [{ item: source + 2 + Math.floor(random() * 20), offset: null }] });
  }
  return { items, nets };
}

const pairs = (problem) => problem.nets.flatMap((net) => net.targets.map((target) => [net.source.item, target.item]));

function runDagre(problem) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({});
  graph.setDefaultEdgeLabel(() => ({}));
  problem.items.forEach((item, i) => graph.setNode(String(i), { width: item.width, height: item.height }));
  pairs(problem).forEach(([from, to], i) => graph.setEdge(String(from), String(to), {}, String(i)));
  dagre.layout(graph);
}

async function runElk(problem) {
  await new ELK().layout({
    id: "root", layoutOptions: { "elk.algorithm": "layered", "elk.direction": "DOWN" },
    children: problem.items.map((item, i) => ({ id: String(i), width: item.width, height: item.height })),
    edges: pairs(problem).map(([from, to], i) => ({ id: `e${i}`, sources: [String(from)], targets: [String(to)] })),
  });
}

async function time(run, problem) {
  const times = [];
  for (let turn = 0; turn < 3; turn++) {
    const start = performance.now();
    await run(problem);
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[1];
}

const problems = [...process.argv.slice(2).map((file) => [path.basename(file, ".json"), problemOf(file)]), ["random 2,000", randomProblem(2000)]];
console.log("| frame | boxes | edges | ours | dagre | elkjs |\n|---|---|---|---|---|---|");
for (const [name, problem] of problems) {
  const times = [];
  for (const run of [layOut, runDagre, runElk]) times.push((await time(run, problem)).toFixed(0));
  console.log(`| ${name} | ${problem.items.length} | ${pairs(problem).length} | ${times.join(" | ")} |`);
}
