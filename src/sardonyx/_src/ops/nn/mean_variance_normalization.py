"""MeanVarianceNormalization: elements brought to mean 0 and variance 1 along axes.

Spec: ai.onnx MeanVarianceNormalization-9, -13, which differ in element types, and the withdrawn -1, whose axes are the
batch and the spatial ones, with `across_channels` the channels' too, and whose `normalize_variance` 0 leaves the
variance as it is.  1e-9, which the function's body adds to the standard deviation, keeps constants at 0.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.body_text import element_type, rank_of, scalar, wide_float
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import moments
from sardonyx._src.ops.shapes import axes_of, same_tensor
from sardonyx._src.ops.widening import cast

op = Operator("MeanVarianceNormalization", tolerance="rounding")
EPSILON = 1e-9


@op.infer(1, 9, 13)
def infer(t: Inference) -> Result:
    rank = t.rank(0)
    if rank is not None:
        for axis in t.integers("axes") or ():
            t.axis(axis, rank)
        if t.version == 1 and rank < 2:
            t.fail(f"the input has rank {rank}, [N, C, ...] is wanted")
    return same_tensor(t)


@op.convert((1, 9))
def to_9(c: Change) -> Converted:
    """All axes but the channels', or all; without the variance, the mean alone is subtracted."""
    if c.rank(0) < 2:
        c.refuse(f"the input has rank {c.rank(0)}, [N, C, ...] is wanted")
    axes = [axis for axis in range(c.rank(0)) if axis != 1 or c.t.integer("across_channels")]
    if c.t.integer("normalize_variance"):
        return c.same(drop=("across_channels", "normalize_variance"), axes=axes)
    dtype = c.dtype(0)
    x = cast(c, c.input(0), wide_float(dtype))
    return cast(c, c.Sub(x, c.ReduceMean(x, axes=axes)), dtype)


@op.eval(9, 13)
@in_float32
def evaluate(X: Array, *, axes: tuple[int, ...]) -> Array:
    """X, result: float, of a rank that has the axes."""
    mean, variance = moments(X, axes_of(axes, X.ndim))
    return (X - mean) / (np.sqrt(variance) + X.dtype.type(EPSILON))


@op.eval(1)
@in_float32
def eval_1(input: Array, *, across_channels: int, normalize_variance: int) -> Array:
    """input, result: [N, C, *spatial] float."""
    if input.ndim < 2:
        raise EvaluationError(f"the input has rank {input.ndim}, [N, C, ...] is wanted")
    axes = tuple(axis for axis in range(input.ndim) if axis != 1 or across_channels)
    if normalize_variance:
        return evaluate(input, axes=axes)
    return input - moments(input, axes)[0]


@op.body(13, opset=13)
@op.body(9, opset=8)
def body(t: Inference) -> str:
    """Narrow floats are computed as float: in float16 the epsilon would be 0."""
    dtype = element_type(t)
    wide = wide_float(dtype)
    named = t.integers("axes") or ()
    if min(named, default=0) < 0:
        named = tuple(t.axis(axis, rank_of(t)) for axis in named)
    axes = f"<axes = [{', '.join(map(str, named))}]>"
    return f"""(x) => (y) {{
      wide = Cast <to = {int(wide)}> (x)
      mean = ReduceMean {axes} (wide)
      deviation = Sub(wide, mean)
      square = Mul(deviation, deviation)
      variance = ReduceMean {axes} (square)
      root = Sqrt(variance)
      epsilon = {scalar(EPSILON, wide)}
      divisor = Add(root, epsilon)
      standard = Div(deviation, divisor)
      y = Cast <to = {int(dtype)}> (standard)
    }}"""
