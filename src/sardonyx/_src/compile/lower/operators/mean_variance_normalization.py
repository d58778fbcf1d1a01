"""MeanVarianceNormalization in float32: rows over the normalized axes, which are moved innermost, copied if necessary."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.reductions.layer_norm import NormParams, layer_norm_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.nn.mean_variance_normalization import EPSILON


@lowers("MeanVarianceNormalization", 13)
def lower_mean_variance_normalization(op: BoundNode, lowering: Lowering) -> bool:
    x = op.input(0)
    if x is None or not lowering.is_native(x) or lowering.dtype_of(x) is not DataType.FLOAT:
        return False
    shape, axes = lowering.known_shape(x), op.ints("axes") or ()
    rank = len(shape)
    if lowering.shape(op.output) != shape or not all(-rank <= axis < rank for axis in axes):
        return False
    normalized_axes = sorted({axis % rank for axis in axes})
    if not normalized_axes or len(normalized_axes) < len(axes):
        return False
    order = (*(axis for axis in range(rank) if axis not in normalized_axes), *normalized_axes)
    source = move_axes_innermost(lowering, x, order, len(normalized_axes))
    result = lowering.temporary(DataType.FLOAT, source.shape, op.output.name)
    step = layer_norm_step(
        source, result, rank - len(normalized_axes), NormParams(EPSILON, epsilon_outside=True)
    )
    assert step is not None, "dense rows have a kernel"
    lowering.emit(step)
    lowering.bind(op.output, result.permute([order.index(axis) for axis in range(rank)]))
    return True


def move_axes_innermost(lowering: Lowering, x: Value, order: tuple[int, ...], count: int) -> TensorView:
    """The value permuted to an order whose last `count` dims are dense; a copy if no layout has them dense."""
    lowering.any_layout(x)
    permuted = [layout.permute(order) for layout in lowering.tensors[x]]
    for layout in permuted:
        inner = TensorView(layout.dtype, layout.shape[-count:], layout.strides[-count:], layout.buffer)
        if inner.is_dense:
            return layout
    result = lowering.temporary(DataType.FLOAT, permuted[0].shape, x.name)
    lowering.emit(copy_step(permuted[0], result))
    return result
