"""RotaryEmbedding in float32 over heads as strided views; positions, if passed, index the caches in the kernel.

Falls back to the reference kernel for caches whose dims do not match the tokens or positions, and for a dynamic head size.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.attention.rotary_embedding import rotary_embedding_step
from sardonyx._src.compile.layouts.views import reshape_view
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.attention import SWAP_HEADS_AND_TOKENS, as_heads
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value


@lowers("RotaryEmbedding", 23)
def lower_rotary_embedding(op: BoundNode, lowering: Lowering) -> bool:
    value, cos, sin, positions = (op.input(i) for i in range(4))
    if value is None or cos is None or sin is None or not are_native(lowering, value, cos, sin):
        return False
    if positions is not None and not (
        lowering.is_native(positions) and lowering.dtype_of(positions) is DataType.INT64
    ):
        return False
    x = as_heads(op, lowering, value, "num_heads")
    if (
        x is None
        or lowering.shape(op.output) != lowering.shape(value)
        or not are_matching_caches(op, lowering, x, (cos, sin), positions)
    ):
        return False
    step = rotary_embedding_step(
        x,
        output_heads(lowering.allocate_result(op.output), x),
        with_dense_rows(lowering, cos),
        with_dense_rows(lowering, sin),
        interleaved=bool(op.attribute("interleaved", int)),
        positions=None if positions is None else lowering.dense(positions),
        status=lowering.status,
    )
    lowering.emit(step)
    return True


def are_native(lowering: Lowering, *values: Value) -> bool:
    return all(lowering.is_native(value) and lowering.dtype_of(value) is DataType.FLOAT for value in values)


def are_matching_caches(
    op: BoundNode, lowering: Lowering, x: TensorView, caches: tuple[Value, Value], positions: Value | None
) -> bool:
    """Whether the caches have an angle per pair of elements, and positions are [batch, tokens]; guarded."""
    tokens, size = (x.shape[0], x.shape[2]), x.shape[3]
    rotated_size = op.attribute("rotary_embedding_dim", int) or size
    if (
        not isinstance(rotated_size, int)
        or not isinstance(size, int)
        or rotated_size % 2
        or not 0 <= rotated_size <= size
    ):
        return False
    for cache in caches:
        shape = lowering.known_shape(cache)
        count = lowering.known_shape(caches[0])[:1] if positions is not None else tokens
        expected = (*count, rotated_size // 2)
        if len(shape) != len(expected) or not all(map(lowering.guard_equal, shape, expected)):
            return False
    positions_shape = () if positions is None else lowering.known_shape(positions)
    return positions is None or (
        len(positions_shape) == 2 and all(map(lowering.guard_equal, positions_shape, tokens))
    )


def with_dense_rows(lowering: Lowering, cache: Value) -> TensorView:
    """A cache with contiguous rows, at any stride."""
    lowering.any_layout(cache)
    return next(
        (layout for layout in lowering.tensors[cache] if layout.strides[-1] == 1), None
    ) or lowering.dense(cache)


def output_heads(y: TensorView, x: TensorView) -> TensorView:
    """The output [B, H, S, D] or [B, S, H * D] as [B, H, S, D]."""
    if y.rank == 4:
        return y
    batch, num_heads, length, size = x.shape
    view = reshape_view(y, (batch, length, num_heads, size))
    assert view is not None, "a dense result can be reshaped"
    return view.permute(SWAP_HEADS_AND_TOKENS)
