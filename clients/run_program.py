"""Runs one program in a process of its own, on onnxruntime or on Sardonyx in its place, and writes its answers as JSON."""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path


def main(name: str, engine: str, path: str) -> None:
    if engine == "sardonyx":
        from sardonyx.compat import install

        install()
    program = importlib.import_module(f"programs.{name}_program")
    program.run()  # the first run compiles, and imports what is left
    start = time.perf_counter()
    answers = program.run()
    seconds = time.perf_counter() - start
    import onnxruntime

    served = "sardonyx" if onnxruntime.__name__.startswith("sardonyx") else "onnxruntime"
    assert served == engine, f"{served} served the program instead of {engine}"
    Path(path).write_text(json.dumps({"answers": answers, "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
