"""PRelu: x where it is not negative, slope * x elsewhere.

Spec: ai.onnx PRelu-1, -6, -7, -9, -16.  In 1 and 6 the slope has one element, one for each channel (axis 1), or X's
shape; from 7 on it is broadcast to X.  9 adds integers, 16 bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Value
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.math.legacy_broadcast_steps import (
    BroadcastOperand,
    contiguous_dims,
    expand_operand,
    result_axes,
    same_dims,
)
from sardonyx._src.ops.support.body_text import element_type, scalar
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, cast, promote_input
from sardonyx._src.ops.support.shapes import broadcast, same_tensor
from sardonyx._src.ops.traits import LegacyBroadcast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("PRelu", elementwise=True, legacy_broadcast=LegacyBroadcast("slope", last_opset=6))
op.infer(1, 6)(same_tensor)


@op.infer(7, 9, 16)
def infer(inference: Inference) -> Result:
    x, slope, dtype = inference.shape(0), inference.shape(1), inference.dtype(0) or inference.dtype(1)
    if dtype is None:
        return None
    if x is None or slope is None:
        return TensorType(dtype, x)
    if len(slope) > len(x) or any(
        d == 1 and isinstance(s, int) and s != 1 for d, s in zip(reversed(x), reversed(slope), strict=False)
    ):
        inference.fail(f"slope must broadcast to X; got {inference.type(1)} and {inference.type(0)}")
    for slope_size, x_size in zip(reversed(slope), reversed(x), strict=False):
        inference.require_broadcast(slope_size, x_size)
    return TensorType(dtype, broadcast(inference, [x, slope]))


op.convert((16, 9))(promote_input(NARROW_FLOATS))


@op.convert((9, 7))
def convert_9_to_7(adapter: Adapter) -> AdaptedNode:
    """Integers, which 7 does not accept: X, plus slope * X - X where X is negative."""
    X, slope, dtype = adapter.input(0), adapter.input(1), adapter.dtype(0)
    if not dtype.is_integer:
        return adapter.same()
    if dtype in (DataType.UINT32, DataType.UINT64):
        return adapter.Identity(X)
    is_negative = adapter.Less(cast(adapter, X, DataType.DOUBLE), adapter.constant(0, DataType.DOUBLE))
    return adapter.Add(
        X, adapter.Mul(cast(adapter, is_negative, dtype), adapter.Sub(adapter.Mul(slope, X), X))
    )


@op.convert((6, 7))
def convert_6_to_7(adapter: Adapter) -> AdaptedNode:
    """A vector with a slope for each channel gets trailing axes of size 1, so that it broadcasts along axis 1."""
    rank, own = adapter.inference.rank(0), adapter.inference.rank(1)
    if (rank is not None and rank < 3) or own not in (None, 1) or adapter.inference.shape(1) == (1,):
        return adapter.same()
    if rank is None or own is None:
        return adapter.same([adapter.input(0), append_axes(adapter)])
    return adapter.same(
        [adapter.input(0), adapter.Unsqueeze(adapter.input(1), axes=list(range(1, rank - 1)))]
    )


def append_axes(adapter: Adapter) -> Value:
    """The slope with trailing axes up to the rank of X minus one, for ranks known at run time only."""
    X, slope = adapter.input(0), adapter.input(1)
    shape = adapter.Shape(slope)
    trailing = adapter.Sub(
        adapter.Sub(adapter.Shape(adapter.Shape(X)), adapter.Shape(shape)), adapter.integers([1])
    )
    not_negative = adapter.Relu(cast(adapter, trailing, DataType.FLOAT))  # Relu accepts only floats there
    ones = adapter.Tile(adapter.integers([1]), cast(adapter, not_negative, DataType.INT64))
    return adapter.Reshape(slope, adapter.Concat(shape, ones, axis=0))


@op.convert((7, 6))
def convert_7_to_6(adapter: Adapter) -> AdaptedNode:
    """A slope that is neither one element nor one for each channel is expanded to X's shape."""
    X, slope = BroadcastOperand.of(adapter, 0), BroadcastOperand.of(adapter, 1)
    if same_dims(X.shape, slope.shape) or all(size == 1 for size in slope.shape):
        return adapter.same()
    axes = result_axes(adapter, [X, slope])
    wide = [i - len(slope.shape) + len(axes) for i, size in enumerate(slope.shape) if size != 1]
    if wide == [1]:
        return adapter.same([X.value, contiguous_dims(adapter, slope, axes)[0]])
    return adapter.same([X.value, expand_operand(adapter, slope, axes).value])


@op.eval(7, 9, 16)
@round_to_input_type
def eval_7(X: Array, slope: Array) -> Array:
    """slope: a shape that broadcasts to X's."""
    if np.broadcast_shapes(X.shape, slope.shape) != X.shape:
        what = f"slope must broadcast to X's shape {list(X.shape)}"
        raise EvaluationError(f"{what}; got shape {list(slope.shape)}")
    return np.where(X < 0, slope * X, X)


@op.eval(6)
@op.eval(1, ignores=("consumed_inputs",))
def eval_1(X: Array, slope: Array) -> Array:
    """slope: [], [1], [C] or X's shape, where X is [N, C, ...]."""
    if slope.size == 1:
        return eval_7(X, slope.reshape(()))
    if X.ndim > 1 and slope.shape == X.shape[1:2]:
        return eval_7(X, slope.reshape(-1, *(1,) * (X.ndim - 2)))
    if slope.shape != X.shape:
        what = f"slope must have one element, one for each channel (axis 1) or X's shape {list(X.shape)}"
        raise EvaluationError(f"{what}; got shape {list(slope.shape)}")
    return eval_7(X, slope)


@op.body(16, opset=16)
def body(inference: Inference) -> str:
    return f"""(x, slope) => (y) {{
      zero = {scalar(0, element_type(inference))}
      is_negative = Less(x, zero)
      leak = Mul(slope, x)
      y = Where(is_negative, leak, x)
    }}"""
