"""GlobalAveragePool, GlobalMaxPool, GlobalLpPool: one window over all spatial axes of each channel.

Spec: ai.onnx GlobalAveragePool-1, -22, GlobalMaxPool-1, -22, GlobalLpPool-1, -2, -22.  The attribute p is a float in
GlobalLpPool-1, an integer later; 22 adds bfloat16 to each.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.pooling_steps import convert_p_to_float, convert_p_to_int
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input

average = Operator(
    "GlobalAveragePool", tolerance="rounding", about="the mean of each channel.", computes_in_float32=True
)
maximum = Operator(
    "GlobalMaxPool", about="the maximum of each channel.", exact_in_half=True, computes_in_float32=True
)
lp = Operator("GlobalLpPool", tolerance="rounding", about="the Lp norm of each channel.")


average.convert((22, 1))(promote_input(NARROW_FLOATS))
maximum.convert((22, 1))(promote_input(NARROW_FLOATS))
lp.convert((22, 2))(promote_input(NARROW_FLOATS))
lp.convert((1, 2))(convert_p_to_int)
lp.convert((2, 1))(convert_p_to_float)


@average.infer(1, 22)
@maximum.infer(1, 22)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    if data is None or data.shape is None:
        return data and TensorType(data.dtype)
    if len(data.shape) < 2:
        inference.fail(f"the input must have rank >= 2 ([N, C, ...]); got rank {len(data.shape)}")
    return TensorType(data.dtype, (*data.shape[:2], *(1 for _ in data.shape[2:])))


@lp.infer(1, 2, 22)
def infer_lp(inference: Inference) -> Result:
    p = inference.attributes["p"]
    if not (isinstance(p, int | float) and p > 0):
        inference.fail(f"p must be > 0; got {p}")
    return infer(inference)


@average.eval(1, 22)
@compute_in_float32
def eval_average(x: Array) -> Array:
    """x: [N, C, *spatial], result: [N, C, 1, ...]; NaN for empty channels."""
    flat = channels(x)
    means = flat.sum(2) / flat.dtype.type(flat.shape[2])
    return restore_spatial_axes(means, x)


@maximum.eval(1, 22)
@compute_in_float32
def eval_maximum(x: Array) -> Array:
    """x: [N, C, *spatial], result: [N, C, 1, ...]; minus infinity for empty channels."""
    return restore_spatial_axes(channels(x).max(2, initial=-np.inf), x)


@lp.eval(1, 2, 22)
@compute_in_float32
def eval_lp(x: Array, *, p: float) -> Array:
    """x: [N, C, *spatial], result: [N, C, 1, ...]; 0 for empty channels."""
    from sardonyx._src.ops.nn.lp_pool import power, root  # lazy: only GlobalLpPool needs it

    return restore_spatial_axes(root(power(channels(x), p).sum(2), p), x)


def channels(x: Array) -> Array:
    """x as [N, C, elements]; raises EvaluationError for a rank below 2."""
    if x.ndim < 2:
        raise EvaluationError(f"x must have rank >= 2 ([N, C, ...]); got rank {x.ndim}")
    return x.reshape(*x.shape[:2], int(np.prod(x.shape[2:])))


def restore_spatial_axes(values: Array, x: Array) -> Array:
    return values.reshape(*x.shape[:2], *(1,) * (x.ndim - 2))
