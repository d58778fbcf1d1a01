"""RMSNormalization: the axes from `axis` on divided by their root mean square, then scaled.

Spec: ai.onnx RMSNormalization-23.  `stash_type` is the precision of the mean.  The quotient is rounded to the type of the
data, then to the type of the scale, which is the type of the result.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import (
    check_broadcast,
    check_broadcasts,
    inner_axes,
    mean_of,
    round_and_promote,
    stage_one,
    stage_one_type,
)
from sardonyx._src.ops.support.body_text import element_type, scalar
from sardonyx._src.ops.support.shapes import axis_of

op = Operator("RMSNormalization", tolerance="rounding", computes_in_float32=True)


@op.infer(23)
def infer(inference: Inference) -> Result:
    check_broadcasts(inference, (1,))
    rank = inference.rank(0)
    if rank is not None:
        inference.axis(inference.integer("axis"), rank)
    scale = inference.tensor(1)
    return scale and TensorType(scale.dtype, inference.shape(0))


@op.eval(23)
def eval_23(x: Array, scale: Array, *, axis: int, epsilon: float, stash_type: int) -> Array:
    """x, result: [*outer, *inner] with `inner` from `axis` on; scale: broadcasts to x."""
    first = axis_of(axis, x.ndim)
    stash = stage_one_type(stash_type)
    wide = round_and_promote(x, stash)
    squares = mean_of(np.square(wide), tuple(range(first, x.ndim)))
    normalized = wide / np.sqrt(squares + wide.dtype.type(epsilon))
    rounded = normalized.astype(stash, copy=False).astype(x.dtype, copy=False)
    return rounded.astype(scale.dtype, copy=False) * check_broadcast(scale, "scale", x)


@op.body(23, opset=13)
def body(inference: Inference) -> str:
    axes = f"<axes = [{', '.join(map(str, inner_axes(inference)))}]>"
    return f"""(x, scale) => (y) {{
      wide = Cast <to = {inference.integer("stash_type")}> (x)
      square = Mul(wide, wide)
      mean = ReduceMean {axes} (square)
      epsilon = {scalar(inference.number("epsilon"), stage_one(inference))}
      positive = Add(mean, epsilon)
      root = Sqrt(positive)
      quotient = Div(wide, root)
      rounded = Cast <to = {int(element_type(inference))}> (quotient)
      normalized = Cast <to = {int(element_type(inference, 1))}> (rounded)
      y = Mul(normalized, scale)
    }}"""
