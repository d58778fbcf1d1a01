"""Builders side by side: the same five models, and where twelve mistakes are reported.

    python bench/building/compare.py            # writes docs/generated/building.md

Runs each library in an environment of its own, `BUILDING_PYTHON` (with onnx, spox, onnxscript and onnxruntime); Sardonyx is
imported from the sources.  Results of all models are compared, so that they are the same.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "src")]

from building import weights  # noqa: E402
from building.mistakes import KINDS, verdict  # noqa: E402

LIBRARIES = {"sardonyx": "Sardonyx", "spox": "spox", "onnxscript": "onnxscript", "helper": "onnx.helper"}
MODELS = ("mlp", "cnn", "attention", "lstm", "pipeline")
PAGE = ROOT / "docs/generated/building.md"
HEAD = """# Builders side by side

Written by `python bench/building/compare.py`.  The sources are in [bench/building](../../bench/building): five models with equal
weights, whose results on equal inputs agree to 1e-5 in onnxruntime, and twelve mistakes.  Versions: {versions}.

## Five models

Lines and characters of each model, without blank lines, comments and indentation; what the models of a library share is not counted.

{sizes}

## Twelve mistakes

Where each is reported: at its line; later, when the model is put together; by `onnx.checker` with full inference; or nowhere.
spox computes a value that is used outside of the branch where it was written outside of both branches.

{mistakes}
"""


def measure(library: str) -> dict[str, Any]:
    """The sizes and results of a library's models, and its verdicts."""
    import onnxruntime

    module = importlib.import_module(f"building.{library}_models")
    rows: dict[str, Any] = {}
    for name in MODELS:
        model = proto_of(library, getattr(module, name))
        session = onnxruntime.InferenceSession(model.SerializeToString())
        results = session.run(None, weights.INPUTS[name])
        by_shape = sorted(
            (list(np.shape(r)), np.asarray(r, np.float64).reshape(-1).tolist()) for r in results
        )
        rows[name] = {"size": size_of(module, name), "results": by_shape}
    mistakes = importlib.import_module(f"building.{library}_mistakes")
    functions = list(mistake_functions(mistakes))
    assert len(functions) == len(KINDS), f"{library} must have {len(KINDS)} mistakes; it has {len(functions)}"
    verdicts = [verdict(f, "" if f is None else inspect.getsource(f)) for f in functions]
    return {"models": rows, "verdicts": verdicts, "version": version_of(library)}


def proto_of(library: str, make: Any) -> onnx.ModelProto:
    """The model that a function, or a script of onnxscript, makes."""
    if library == "sardonyx":
        import sardonyx as sx

        return sx.to_onnx(make())
    return make.to_model_proto() if hasattr(make, "to_model_proto") else make()


def version_of(library: str) -> str:
    return "" if library == "sardonyx" else version("onnx" if library == "helper" else library)


def size_of(module: ModuleType, name: str) -> tuple[int, int]:
    """Lines and characters of a function."""
    text = source_of(module)
    (node,) = (n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == name)
    start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    lines = [line.split("  #")[0].strip() for line in text.splitlines()[start - 1 : node.end_lineno]]
    lines = [line for line in lines if line and not line.startswith("#")]
    return len(lines), sum(map(len, lines))


def source_of(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text()


def mistake_functions(module: ModuleType) -> Iterator[Callable[[], object] | None]:
    """The mistakes in the order of the file; None for one that cannot be written."""
    for node in ast.parse(source_of(module)).body:
        if isinstance(node, ast.FunctionDef) and node.name not in ("start", "finish"):
            yield getattr(module, node.name)
        elif (
            isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None
        ):
            yield None


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def write_page(results: dict[str, dict[str, Any]]) -> None:
    first = results["sardonyx"]["models"]
    for library, result in results.items():
        for name in MODELS:
            for (shape, values), (other, expected) in zip(
                result["models"][name]["results"], first[name]["results"], strict=True
            ):
                assert shape == other and np.allclose(values, expected, rtol=1e-5, atol=1e-5), (library, name)
    names = list(LIBRARIES.values())
    sizes = [
        [
            name,
            *(f"{r['models'][name]['size'][0]} / {r['models'][name]['size'][1]}" for r in results.values()),
        ]
        for name in MODELS
    ]
    mistakes = [[kind, *(r["verdicts"][i] for r in results.values())] for i, kind in enumerate(KINDS)]
    total = [f"{sum(v == 'at the line' for v in r['verdicts'])} of {len(KINDS)}" for r in results.values()]
    mistakes.append(["**at the line**", *total])
    versions = ", ".join(f"{LIBRARIES[k]} {r['version']}" for k, r in results.items() if r["version"])
    PAGE.write_text(
        HEAD.format(
            versions=versions,
            sizes=table(["model", *names], sizes),
            mistakes=table(["mistake", *names], mistakes),
        )
    )


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    python = os.environ.get("BUILDING_PYTHON", sys.executable)
    results = {}
    for library in LIBRARIES:
        command = [python, "-W", "ignore", __file__, library]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{library}: {done.stderr}")
        results[library] = json.loads(done.stdout.splitlines()[-1])
    write_page(results)


if __name__ == "__main__":
    main()
