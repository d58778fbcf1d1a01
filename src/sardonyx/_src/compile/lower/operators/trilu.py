"""Trilu with a diagonal determined by input sizes; falls back to the reference kernel for other diagonals."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.triangle import triangle_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.range import known_scalar
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.graph_info import MAX_ELEMENTS


@lowers("Trilu", 14)
def lower_trilu(op: BoundNode, lowering: Lowering) -> bool:
    x, k = op.input(0), op.input(1)
    diagonal = 0 if k is None else known_scalar(lowering, k)
    if (
        x is None
        or diagonal is None
        or not lowering.is_native(x)
        or lowering.shape(op.output) != lowering.shape(x)
    ):
        return False
    if len(lowering.known_shape(x)) < 2:
        return False
    if isinstance(diagonal, int):
        diagonal = min(max(diagonal, -MAX_ELEMENTS), MAX_ELEMENTS)
    source, result = lowering.dense_rows(x), lowering.allocate_result(op.output)
    is_upper = bool(op.attribute("upper", int))
    if result.strides[-1] == 1 or result.shape[-1] == 1:
        lowering.emit(triangle_step(source, result, diagonal, upper=is_upper))
        return True
    temporary = lowering.temporary(result.dtype, result.shape, op.output.name)
    lowering.emit(triangle_step(source, temporary, diagonal, upper=is_upper), copy_step(temporary, result))
    return True
