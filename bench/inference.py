"""How long does inference take, beside onnx's?

Both in one process, in turn.  Ours types a model that has just been loaded; onnx's takes a ModelProto and makes one,
first with its defaults, then strictly and with data propagation, which finds out more, though less than ours does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from make_models import detector, encoder
from measure import Row, row

Prepared = Callable[[], Callable[[], object]]  # makes ready, and hands out what is to be measured


def rows() -> list[Row]:
    return [
        *compared("encoder, 600 nodes, 366 MB of weights", encoder(), runs=7),
        *compared("detector, 1,604 nodes", detector(), runs=41),
    ]


def compared(what: str, path: Path, *, runs: int) -> list[Row]:
    """Rows of all tools over one model; the first turn warms up and does not count."""
    tools = tools_for(path)
    samples: dict[str, list[float]] = {tool: [] for tool in tools}
    for turn in range(runs + 1):
        for tool, prepare in tools.items():
            run = prepare()
            start = time.perf_counter()
            run()
            if turn:
                samples[tool].append(time.perf_counter() - start)
    return [
        row(what, tool, [{"seconds": s, "bytes": 0, "written": 0} for s in found])
        for tool, found in samples.items()
    ]


def tools_for(path: Path) -> dict[str, Prepared]:
    import onnx
    from onnx.shape_inference import infer_shapes

    import sardonyx as sx

    proto = onnx.load(path)

    def ours() -> Callable[[], object]:
        model = sx.load(path)
        return lambda: sx.infer(model)

    return {
        "sardonyx": ours,
        "onnx": lambda: lambda: infer_shapes(proto),
        "onnx, strict, data_prop": lambda: lambda: infer_shapes(proto, strict_mode=True, data_prop=True),
    }


if __name__ == "__main__":
    found = rows()
    for ours, *others in (found[:3], found[3:]):
        print(ours.what, [f"{ours.seconds / other.seconds:.2f} of {other.tool}" for other in others])
