"""TopK with k determined by input sizes; falls back to the reference kernel for other k."""

from __future__ import annotations

from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.kernels.reductions.top_k import top_k_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known

MAX_TOP_K_ROW = 1 << 31  # elements of a row


@lowers("TopK", 24)
def lower_top_k(op: BoundNode, lowering: Lowering) -> bool:
    x, count_elements = op.input(0), lowering.elements(op.input(1))
    if x is None or not lowering.is_native(x) or lowering.dtype(x) not in NUMERIC_ELEMENTS:
        return False
    shape, result_shape, axis = lowering.known_shape(x), lowering.shape(op.output), op.attribute("axis", int)
    if (
        result_shape is None
        or count_elements is None
        or count_elements.shape != (1,)
        or not -len(shape) <= axis < len(shape)
    ):
        return False
    axis %= len(shape)
    if result_shape[axis] != count_elements[0] or result_shape != (
        *shape[:axis],
        result_shape[axis],
        *shape[axis + 1 :],
    ):
        return False
    size, count = shape[axis], result_shape[axis]
    if not all(
        lowering.guard_ge(larger, smaller)
        for larger, smaller in ((size, count), (count, 0), (MAX_TOP_K_ROW, size))
    ):
        return False
    largest = bool(op.attribute("largest", int))
    source = lowering.any_layout(x)
    results = [output_tensor(op, lowering, i, result_shape) for i in (0, 1)]
    lowering.emit(top_k_step(source, results[0], results[1], axis, largest=largest))
    return True


def output_tensor(op: BoundNode, lowering: Lowering, index: int, shape: tuple[Known, ...]) -> TensorView:
    """The tensor of values (0) or indices (1); a temporary if the output is not used."""
    if op.is_output_used(index):
        return lowering.allocate_result(op.node.outputs[index])
    dtype = lowering.dtype(op.node.outputs[0]) if index == 0 else DataType.INT64
    return lowering.temporary(dtype, shape, f"{op.output.name}.{index}")
