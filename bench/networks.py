"""How long do the nine stored networks of the onnx wheel take on the reference engine, beside the wheel's own?

Both multiply matrices with NumPy's BLAS.  Run with OPENBLAS_NUM_THREADS=1, as `make bench` does: BLAS threads wait
for each other where cores are shared, and that noise is larger than what is measured.
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
Feed = dict[str, np.ndarray]  # type: ignore[type-arg]


def paths() -> list[Path]:
    import onnx.backend.test

    return sorted((Path(os.path.dirname(onnx.backend.test.__file__)) / "data/light").glob("light_*.onnx"))


def rows() -> list[Row]:
    """Both engines in one process, run in turn."""
    found: list[Row] = []
    ratios = []
    for path in paths():
        ours, theirs = one_network(path)
        found += [ours, theirs]
        ratios.append(theirs.seconds / ours.seconds)
    print(
        json.dumps(
            {"what": "geometric mean of ratios", "value": math.exp(statistics.fmean(map(math.log, ratios)))}
        )
    )
    return found


def one_network(path: Path) -> tuple[Row, Row]:
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
