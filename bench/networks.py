"""How fast does the reference engine run the nine networks in the onnx wheel, compared with onnx's reference evaluator?

Both multiply matrices with NumPy's BLAS.  Run with OPENBLAS_NUM_THREADS=1, as `make bench` does: BLAS threads wait for
one another on shared cores, and that noise exceeds the differences.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from measure import Row, row

RUNS = 3


def paths() -> list[Path]:
    import onnx.backend.test

    return sorted((Path(os.path.dirname(onnx.backend.test.__file__)) / "data/light").glob("light_*.onnx"))


def rows() -> list[Row]:
    """Rows of both engines on every network, run in turn in one process."""
    table_rows: list[Row] = []
    ratios = []
    for path in paths():
        ours, theirs = compare_engines(path)
        table_rows += [ours, theirs]
        ratios.append(theirs.seconds / ours.seconds)
    print(
        json.dumps(
            {"what": "geometric mean of ratios", "value": math.exp(statistics.fmean(map(math.log, ratios)))}
        )
    )
    return table_rows


def compare_engines(path: Path) -> tuple[Row, Row]:
    from onnx.reference import ReferenceEvaluator

    import sardonyx as sx

    session = sx.Session(path, engine="reference")
    (port,) = (p for p in session.inputs if not p.has_default)
    shape = tuple(d if isinstance(d, int) else 1 for d in port.shape or ())
    feed = {port.name: np.random.default_rng(0).random(shape, np.float32)}
    evaluator = ReferenceEvaluator(str(path))
    tools: dict[str, Callable[[], object]] = {
        "sardonyx": lambda: session.run(feed),
        "onnx reference evaluator": lambda: evaluator.run(None, feed),
    }
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    for turn in range(RUNS + 1):
        for tool, run in tools.items():
            start = time.perf_counter()
            run()
            if turn:
                samples[tool].append({"seconds": time.perf_counter() - start, "bytes": 0})
    what = path.stem.removeprefix("light_")
    ours, theirs = (row(what, tool, samples[tool]) for tool in tools)
    return ours, theirs


if __name__ == "__main__":
    rows()
