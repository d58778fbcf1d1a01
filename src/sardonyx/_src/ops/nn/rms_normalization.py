"""RMSNormalization: everything from an axis on divided by its root mean square, then scaled.

Spec: ai.onnx RMSNormalization-23.  `stash_type` is the precision of the mean; the quotient is rounded to the type of
the data, then to that of the scale, which is the type of the result.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.body_text import element_type, real, scalar
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import (
    check_fitting,
    fitting,
    inner_axes,
    mean_of,
    stage_one,
    stage_one_type,
    working,
)
from sardonyx._src.ops.shapes import axis_of

op = Operator("RMSNormalization", tolerance="rounding")


@op.infer(23)
def infer(t: Inference) -> Result:
    check_fitting(t, (1,))
    rank = t.rank(0)
    if rank is not None:
        t.axis(t.integer("axis"), rank)
    scale = t.tensor(1)
    return scale and TensorType(scale.dtype, t.shape(0))


@op.eval(23)
def eval_23(x: Array, scale: Array, *, axis: int, epsilon: float, stash_type: int) -> Array:
    """x, result: [*outer, *inner] with `inner` from `axis` on; scale: broadcasts to x."""
    first = axis_of(axis, x.ndim)
    stash = stage_one_type(stash_type)
    wide = working(x, stash)
    squares = mean_of(np.square(wide), tuple(range(first, x.ndim)))
    normalized = wide / np.sqrt(squares + wide.dtype.type(epsilon))
    rounded = normalized.astype(stash, copy=False).astype(x.dtype, copy=False)
    return rounded.astype(scale.dtype, copy=False) * fitting(scale, "scale", x)


@op.body(23, opset=13)
def body(t: Inference) -> str:
    axes = f"<axes = [{', '.join(map(str, inner_axes(t)))}]>"
    return f"""(x, scale) => (y) {{
      wide = Cast <to = {t.integer("stash_type")}> (x)
      square = Mul(wide, wide)
      mean = ReduceMean {axes} (square)
      epsilon = {scalar(real(t, "epsilon"), stage_one(t))}
      positive = Add(mean, epsilon)
      root = Sqrt(positive)
      quotient = Div(wide, root)
      rounded = Cast <to = {int(element_type(t))}> (quotient)
      normalized = Cast <to = {int(element_type(t, 1))}> (rounded)
      y = Mul(normalized, scale)
    }}"""
