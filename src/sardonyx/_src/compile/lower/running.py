"""CumSum and CumProd along an axis that is known."""

from __future__ import annotations

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.folds import ELEMENTS
from sardonyx._src.compile.rows.running import Run, running


@lowers("CumSum", 14)
@lowers("CumProd", 26)
def lower(call: Call, at: Lowering) -> bool:
    x, axes = call.input(0), at.constant(call.input(1))
    if x is None or axes is None or axes.size != 1 or not at.is_native(x) or at.dtype(x) not in ELEMENTS:
        return False
    shape, axis = at.known_shape(x), int(axes.reshape(-1)[0])
    if not -len(shape) <= axis < len(shape) or at.shape(call.output) != shape:
        return False
    run = Run(call.op_type == "CumProd", bool(call.attributes["exclusive"]), bool(call.attributes["reverse"]))
    step = running(at.strided(x), at.result(call.output), axis, run)
    assert step is not None, "the element type has a kernel"
    at.emit(step)
    return True
