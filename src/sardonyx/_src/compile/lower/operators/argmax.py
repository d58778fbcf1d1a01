"""ArgMax and ArgMin along a non-empty axis, in any layout; falls back to the reference kernel for an axis that may be empty."""

from __future__ import annotations

from sardonyx._src.compile.kernels.reductions.arg_reduce import ArgReduction, arg_reduce_step
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.dims import known_ge


@lowers("ArgMax", 13)
@lowers("ArgMin", 13)
def lower_argmax(op: BoundNode, lowering: Lowering) -> bool:
    x, axis = op.input(0), op.attribute("axis", int)
    if x is None or not lowering.is_native(x) or lowering.dtype(x) not in NUMERIC_ELEMENTS:
        return False
    shape = lowering.known_shape(x)
    if not -len(shape) <= axis < len(shape) or known_ge(shape[axis], 1) is not True:
        return False
    axis %= len(shape)
    reduced_dim = (1,) if op.attributes["keepdims"] else ()
    if lowering.shape(op.output) != (*shape[:axis], *reduced_dim, *shape[axis + 1 :]):
        return False
    variant = ArgReduction(op.op_type == "ArgMax", bool(op.attributes["select_last_index"]))
    step = arg_reduce_step(lowering.any_layout(x), lowering.allocate_result(op.output), axis, variant)
    assert step is not None, "the element type has a kernel"
    lowering.emit(step)
    return True
