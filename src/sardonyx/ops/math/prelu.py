"""PRelu: x where it is not negative, slope * x elsewhere.

Spec: ai.onnx PRelu-1, -6, -7, -9, -16.  In 1 and 6 the slope has one element, one for each channel (axis 1), or X's
shape; from 7 on it is broadcast to X.  9 adds integers, 16 bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import TensorType
from sardonyx.ops.api import Operator
from sardonyx.ops.body_text import element_type, scalar
from sardonyx.ops.inference import Inference, Result
from sardonyx.ops.math.elementwise import in_own_type
from sardonyx.ops.shapes import broadcast, same_tensor

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
