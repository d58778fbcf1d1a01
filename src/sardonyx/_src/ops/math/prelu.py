"""PRelu: x where it is not negative, slope * x elsewhere.

Spec: ai.onnx PRelu-1, -6, -7, -9, -16.  In 1 and 6 the slope has one element, one for each channel (axis 1), or X's
shape; from 7 on it is broadcast to X.  9 adds integers, 16 bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.body_text import element_type, scalar
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.elementwise import in_own_type
from sardonyx._src.ops.math.limited_broadcast_steps import Side, result_axes, run_of, same_dims, spread
from sardonyx._src.ops.shapes import broadcast, same_tensor
from sardonyx._src.ops.widening import NARROW_FLOATS, cast, widening

op = Operator("PRelu", elementwise=True)
op.infer(1, 6)(same_tensor)


@op.infer(7, 9, 16)
def infer(t: Inference) -> Result:
    x, slope, dtype = t.shape(0), t.shape(1), t.dtype(0) or t.dtype(1)
    if dtype is None:
        return None
    if x is None or slope is None:
        return TensorType(dtype, x)
    if len(slope) > len(x) or any(
        d == 1 and isinstance(s, int) and s != 1 for d, s in zip(reversed(x), reversed(slope), strict=False)
    ):
        t.fail("slope does not broadcast to X")
    return TensorType(dtype, broadcast(t, [x, slope]))


op.convert((16, 9))(widening(NARROW_FLOATS))


@op.convert((9, 7))
def integers_to_7(c: Change) -> Converted:
    """Integers: X and, where it is negative, what slope * X adds to it."""
    X, slope, dtype = c.input(0), c.input(1), c.dtype(0)
    if not dtype.is_integer:
        return c.same()
    if dtype in (DataType.UINT32, DataType.UINT64):
        return c.Identity(X)
    is_negative = c.Less(cast(c, X, DataType.DOUBLE), c.constant(0, DataType.DOUBLE))
    return c.Add(X, c.Mul(cast(c, is_negative, dtype), c.Sub(c.Mul(slope, X), X)))


@op.convert((6, 7))
def to_7(c: Change) -> Converted:
    """A slope for each channel gets axes at its end."""
    rank, own = c.t.rank(0), c.t.rank(1)
    if (rank is not None and rank < 3) or own not in (None, 1) or c.t.shape(1) == (1,):
        return c.same()
    if rank is None or own is None:
        return c.same([c.input(0), lined_up(c)])
    return c.same([c.input(0), c.Unsqueeze(c.input(1), axes=list(range(1, rank - 1)))])


def lined_up(c: Change) -> Value:
    """The slope with axes at its end, up to one less than X has, where the ranks show at run time only."""
    X, slope = c.input(0), c.input(1)
    shape = c.Shape(slope)
    behind = c.Sub(c.Sub(c.Shape(c.Shape(X)), c.Shape(shape)), c.integers([1]))
    at_least_none = c.Relu(cast(c, behind, DataType.FLOAT))
    ones = c.Tile(c.integers([1]), cast(c, at_least_none, DataType.INT64))
    return c.Reshape(slope, c.Concat(shape, ones, axis=0))


@op.convert((7, 6))
def to_6(c: Change) -> Converted:
    """A slope that is neither one element nor one for each channel becomes as large as X."""
    X, slope = Side.of(c, 0), Side.of(c, 1)
    if same_dims(X.shape, slope.shape) or all(size == 1 for size in slope.shape):
        return c.same()
    axes = result_axes(c, [X, slope])
    wide = [i - len(slope.shape) + len(axes) for i, size in enumerate(slope.shape) if size != 1]
    if wide == [1]:
        return c.same([X.value, run_of(c, slope, axes)[0]])
    return c.same([X.value, spread(c, slope, axes).value])


@op.eval(7, 9, 16)
@in_own_type
def eval_7(X: Array, slope: Array) -> Array:
    """slope: a shape that broadcasts to X's."""
    if np.broadcast_shapes(X.shape, slope.shape) != X.shape:
        what = f"slope has shape {list(slope.shape)}"
        raise EvaluationError(f"{what}, which does not broadcast to X's shape {list(X.shape)}")
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
        what = f"slope has shape {list(slope.shape)} and X {list(X.shape)}"
        raise EvaluationError(f"{what}; one element, one for each channel (axis 1) or X's shape is wanted")
    return eval_7(X, slope)


@op.body(16, opset=16)
def body(t: Inference) -> str:
    return f"""(x, slope) => (y) {{
      zero = {scalar(0, element_type(t))}
      is_negative = Less(x, zero)
      leak = Mul(slope, x)
      y = Where(is_negative, leak, x)
    }}"""
