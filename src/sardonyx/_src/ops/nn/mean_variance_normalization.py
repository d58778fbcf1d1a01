"""MeanVarianceNormalization: elements normalized to mean 0 and variance 1 along axes.

Spec: ai.onnx MeanVarianceNormalization-9, -13, which differ in element types, and the withdrawn -1.  Version 1 reduces
the batch and spatial axes, and the channels too with `across_channels`; with `normalize_variance` 0 it only subtracts
the mean.  The function body adds 1e-9 to the standard deviation, so constant inputs give 0.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import moments
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.body_text import element_type, promoted_type, rank_of, scalar
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.support.shapes import axes_of, same_tensor
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("MeanVarianceNormalization", tolerance="rounding")
EPSILON = 1e-9  # the constant of the specification's function body


@op.infer(1, 9, 13)
def infer(inference: Inference) -> Result:
    rank = inference.rank(0)
    if rank is not None:
        inference.axes(inference.integers("axes") or (), rank)
        if inference.version == 1 and rank < 2:
            inference.fail(f"the input must have rank >= 2 ([N, C, ...]); got rank {rank}")
    return same_tensor(inference)


@op.convert((1, 9))
def to_9(adapter: Adapter) -> AdaptedNode:
    """List the axes: all but the channels, or all; without normalize_variance only subtract the mean."""
    if adapter.rank(0) < 2:
        adapter.refuse(f"the input must have rank >= 2 ([N, C, ...]); got rank {adapter.rank(0)}")
    axes = [
        axis for axis in range(adapter.rank(0)) if axis != 1 or adapter.inference.integer("across_channels")
    ]
    if adapter.inference.integer("normalize_variance"):
        return adapter.same(drop=("across_channels", "normalize_variance"), axes=axes)
    dtype = adapter.dtype(0)
    x = cast(adapter, adapter.input(0), promoted_type(dtype))
    return cast(adapter, adapter.Sub(x, adapter.ReduceMean(x, axes=axes)), dtype)


@op.eval(9, 13)
@compute_in_float32
def evaluate(X: Array, *, axes: tuple[int, ...]) -> Array:
    """X, result: [...] float."""
    mean, variance = moments(X, axes_of(axes, X.ndim))
    return (X - mean) / (np.sqrt(variance) + X.dtype.type(EPSILON))


@op.eval(1)
@compute_in_float32
def eval_1(input: Array, *, across_channels: int, normalize_variance: int) -> Array:
    """input, result: [N, C, *spatial] float."""
    if input.ndim < 2:
        raise EvaluationError(f"the input must have rank >= 2 ([N, C, ...]); got rank {input.ndim}")
    axes = tuple(axis for axis in range(input.ndim) if axis != 1 or across_channels)
    if normalize_variance:
        return evaluate(input, axes=axes)
    return input - moments(input, axes)[0]


@op.body(13, opset=13)
@op.body(9, opset=8)
def body(inference: Inference) -> str:
    """Half precision is promoted to float32: in float16 the epsilon would be 0."""
    dtype = element_type(inference)
    wide = promoted_type(dtype)
    named = inference.integers("axes") or ()
    if min(named, default=0) < 0:
        named = tuple(inference.axis(axis, rank_of(inference)) for axis in named)
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
