"""How long does type and shape inference take, compared with onnx?

Both run in one process, in turn.  Sardonyx infers the types of a freshly loaded model; onnx takes a ModelProto and returns
a new one, once with default options and once in strict mode with data propagation, which infers more (though less than
Sardonyx does).

Sardonyx memoizes the results of operators per process (`infer.memo_cache`), so that runs after the first find them.  Rows
with "nothing kept" clear that cache before each run.  Rows of fresh processes measure the very first call: of Sardonyx
once with the import of all operators, and once without it, after inference of a model of one node.  The detector is
measured before and after the encoder, since a process that has released 366 MB allocates faster, which halves the
time of onnx.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

from make_models import detector, encoder
from measure import Row, compare, row

Prepare = Callable[[], Callable[[], object]]  # does the untimed part, and returns the call to be timed


def rows() -> list[Row]:
    return [
        *compare_tools("detector, 1,604 nodes", detector(), runs=41),
        *compare_tools("encoder, 600 nodes, 366 MB of weights", encoder(), runs=7),
        *compare_tools("detector, 1,604 nodes, after the encoder", detector(), runs=41),
        *compare("detector, 1,604 nodes, first call of a fresh process", first_calls(detector())),
    ]


def compare_tools(what: str, path: Path, *, runs: int) -> list[Row]:
    """Rows of all tools on one model, run in turn; the first run warms up and is not counted."""
    tools = tools_for(path)
    samples: dict[str, list[float]] = {tool: [] for tool in tools}
    for turn in range(runs + 1):
        for tool, prepare in tools.items():
            run = prepare()
            gc.collect()  # garbage of the run before must not be collected in this one
            start = time.perf_counter()
            run()
            if turn:
                samples[tool].append(time.perf_counter() - start)
    return [
        row(what, tool, [{"seconds": s, "bytes": 0, "written": 0} for s in timings])
        for tool, timings in samples.items()
    ]


def tools_for(path: Path) -> dict[str, Prepare]:
    import onnx
    from onnx.shape_inference import infer_shapes

    import sardonyx as sx
    from sardonyx._src.infer.memo_cache import MEMO_CACHE

    proto = onnx.load(path)

    def ours() -> Callable[[], object]:
        model = sx.load(path)
        return lambda: sx.infer(model)

    def ours_anew() -> Callable[[], object]:
        MEMO_CACHE.clear()
        return ours()

    return {
        "sardonyx": ours,
        "sardonyx, nothing kept": ours_anew,
        "onnx": lambda: lambda: infer_shapes(proto),
        "onnx, strict, data_prop": lambda: lambda: infer_shapes(proto, strict_mode=True, data_prop=True),
    }


def first_calls(path: Path) -> dict[str, str]:
    """Programs by tool, each of which measures one call in a fresh process."""
    ours = f"import sardonyx as sx\nmodel = sx.load({str(path)!r})\n"
    small = 'b = sx.Builder(opset=21)\nsx.infer(b.model(y=b.Neg(b.input("x", sx.DataType.FLOAT, [2]))))\n'
    call = "with measured():\n    sx.infer(model)\n"
    theirs = f"""
import onnx
from onnx.shape_inference import infer_shapes
model = onnx.load({str(path)!r})
with measured():
    infer_shapes(model)
"""
    return {"sardonyx": ours + call, "sardonyx, operators imported": small.join((ours, call)), "onnx": theirs}


if __name__ == "__main__":
    measured = rows()
    for what in dict.fromkeys(row.what for row in measured):
        seconds = {row.tool: row.seconds for row in measured if row.what == what}
        own = {tool: s for tool, s in seconds.items() if tool.startswith("sardonyx")}
        for tool, s in own.items():
            print(
                what,
                "|",
                tool,
                [f"{s / seconds[other]:.2f} of {other}" for other in seconds if other not in own],
            )
