"""CumSum and CumProd along a constant axis, in any layout; falls back to the reference kernel for an axis that is not constant."""

from __future__ import annotations

from sardonyx._src.compile.kernels.reductions.cumulative import CumulativeVariant, cumulative_step
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode


@lowers("CumSum", 14)
@lowers("CumProd", 26)
def lower_cumulative(op: BoundNode, lowering: Lowering) -> bool:
    x, axes = op.input(0), lowering.constant(op.input(1))
    if (
        x is None
        or axes is None
        or axes.size != 1
        or not lowering.is_native(x)
        or lowering.dtype(x) not in NUMERIC_ELEMENTS
    ):
        return False
    shape, axis = lowering.known_shape(x), int(axes.reshape(-1)[0])
    if not -len(shape) <= axis < len(shape) or lowering.shape(op.output) != shape:
        return False
    run = CumulativeVariant(
        op.op_type == "CumProd", bool(op.attributes["exclusive"]), bool(op.attributes["reverse"])
    )
    step = cumulative_step(lowering.any_layout(x), lowering.allocate_result(op.output), axis, run)
    assert step is not None, "the element type has a kernel"
    lowering.emit(step)
    return True
