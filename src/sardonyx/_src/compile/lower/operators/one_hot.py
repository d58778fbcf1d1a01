"""OneHot: fills the output with the off value, then scatters the on value; indices out of range are ignored."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.gather import INDEX_ELEMENTS
from sardonyx._src.compile.kernels.data_movement.one_hot import one_hot_steps
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import known_ge


@lowers("OneHot", 28)
def lower_one_hot(op: BoundNode, lowering: Lowering) -> bool:
    indices, values, shape = op.input(0), op.input(2), lowering.shape(op.output)
    if indices is None or values is None or shape is None or lowering.dtype_of(indices) not in INDEX_ELEMENTS:
        return False
    if not (lowering.is_native(indices) and lowering.is_native(values)) or lowering.shape(values) != (2,):
        return False
    if lowering.dtype(values) is not lowering.dtype(op.output):
        return False
    dims, axis = lowering.known_shape(indices), op.attribute("axis", int)
    if len(shape) != len(dims) + 1 or not -len(shape) <= axis < len(shape):
        return False
    axis %= len(shape)
    if (*shape[:axis], *shape[axis + 1 :]) != dims or known_ge(shape[axis], 1) is not True:
        return False
    index_tensor, value_tensor = lowering.any_layout(indices), lowering.dense(values)
    unused_status = lowering.temporary(DataType.INT64, (1,), f"{op.output.name}.status")
    lowering.emit(
        *one_hot_steps(index_tensor, value_tensor, lowering.allocate_result(op.output), axis, unused_status)
    )
    return True
