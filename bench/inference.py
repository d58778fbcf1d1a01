"""How long does inference take, beside onnx's?

Both in one process, in turn.  Ours types a model that has just been loaded; onnx's takes a ModelProto and makes one,
first with its defaults, then strictly and with data propagation, which finds out more, though less than ours does.

Ours keeps in the process what operators have answered (`infer.answers`), so that turns after the first find those
answers.  The rows "nothing kept" throw them away before each turn; the rows of fresh processes hold the very first
call, by ours once with the import of all operators, and once without it, behind the inference of a model of one node.
Behind a model of 366 MB the process holds free memory, and what onnx allocates costs half; hence both rows.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

from make_models import detector, encoder
from measure import Row, compare, row

Prepared = Callable[[], Callable[[], object]]  # makes ready, and hands out what is to be measured


def rows() -> list[Row]:
    return [
        *compared("detector, 1,604 nodes", detector(), runs=41),
        *compared("encoder, 600 nodes, 366 MB of weights", encoder(), runs=7),
        *compared("detector, 1,604 nodes, behind the encoder", detector(), runs=41),
        *compare("detector, 1,604 nodes, first call of a fresh process", first_calls(detector())),
    ]


def compared(what: str, path: Path, *, runs: int) -> list[Row]:
    """Rows of all tools over one model; the first turn warms up and does not count."""
    tools = tools_for(path)
    samples: dict[str, list[float]] = {tool: [] for tool in tools}
    for turn in range(runs + 1):
        for tool, prepare in tools.items():
            run = prepare()
            gc.collect()  # what the turn before has left is not this one's to clear away
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
    from sardonyx._src.infer.answers import MEMORY

    proto = onnx.load(path)

    def ours() -> Callable[[], object]:
        model = sx.load(path)
        return lambda: sx.infer(model)

    def ours_anew() -> Callable[[], object]:
        MEMORY.clear()
        return ours()

    return {
        "sardonyx": ours,
        "sardonyx, nothing kept": ours_anew,
        "onnx": lambda: lambda: infer_shapes(proto),
        "onnx, strict, data_prop": lambda: lambda: infer_shapes(proto, strict_mode=True, data_prop=True),
    }


def first_calls(path: Path) -> dict[str, str]:
    """Programs that measure one call each."""
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
    found = rows()
    for what in dict.fromkeys(row.what for row in found):
        seconds = {row.tool: row.seconds for row in found if row.what == what}
        own = {tool: s for tool, s in seconds.items() if tool.startswith("sardonyx")}
        for tool, s in own.items():
            print(
                what,
                "|",
                tool,
                [f"{s / seconds[other]:.2f} of {other}" for other in seconds if other not in own],
            )
