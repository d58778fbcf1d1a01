// Writes the bundles of the page and of pictures; with --check, compares them with what is committed.
import { build } from "esbuild";
import { readFile, writeFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const target = path.join(here, "..", "src", "sardonyx", "_src", "view", "page");
const common = { bundle: true, minify: true, write: false, target: "es2020", charset: "ascii", legalComments: "inline", absWorkingDir: here };

async function bundle(entry, options = {}) {
  const result = await build({ ...common, entryPoints: [entry], format: "iife", ...options });
  return result.outputFiles[0].text;
}

/** A script that an element can hold: nothing in its strings and patterns ends the element or begins a comment. */
function inElement(script) {
  return script.replace(/<(\/script|\/style|!--)/gi, "\\x3c$1");
}

const worker = await bundle("src/layout_worker.ts");
const outputs = {
  "viewer.js": inElement(await bundle("src/main.ts", { define: { WORKER_SOURCE: JSON.stringify(worker) } })),
  "viewer.css": await bundle("src/viewer.css"),
  "picture.js": await bundle("src/picture_entry.ts", { define: { WORKER_SOURCE: '""' } }),
};

let stale = 0;
await mkdir(target, { recursive: true });
for (const [name, text] of Object.entries(outputs)) {
  const file = path.join(target, name);
  if (process.argv.includes("--check")) {
    const committed = await readFile(file, "utf8").catch(() => "");
    if (committed !== text) {
      console.error(`${name} differs from its sources: run \`npm run build\` in viewer/`);
      stale = 1;
    }
  } else {
    await writeFile(file, text);
    console.log(`${name}: ${text.length} bytes`);
  }
}
process.exitCode = stale;
