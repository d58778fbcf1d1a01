// The Python that writes pages for tests: the one that PYTHON names, or that of the checkout.

import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../../..");

export const PYTHON = process.env["PYTHON"] ?? path.join(ROOT, ".venv/bin/python");

/** The environment in which it finds the sources. */
export function pythonEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, PYTHONPATH: path.join(ROOT, "src") };
}
