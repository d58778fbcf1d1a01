"""GlobalAveragePool, GlobalMaxPool, GlobalLpPool: one window over all spatial axes of each channel.

Spec: ai.onnx GlobalAveragePool-1, -22, GlobalMaxPool-1, -22, GlobalLpPool-1, -2, -22.  GlobalLpPool-1 has p as a float;
22 adds bfloat16 to each.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.lp_pool import power, root
from sardonyx._src.ops.nn.pooling_steps import real_p, whole_p
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

average = Operator("GlobalAveragePool", tolerance="rounding", about="the mean of each channel.")
maximum = Operator("GlobalMaxPool", about="the greatest element of each channel.")
lp = Operator("GlobalLpPool", tolerance="rounding", about="the Lp norm of each channel.")


average.convert((22, 1))(widening(NARROW_FLOATS))
maximum.convert((22, 1))(widening(NARROW_FLOATS))
lp.convert((22, 2))(widening(NARROW_FLOATS))
lp.convert((1, 2))(whole_p)
lp.convert((2, 1))(real_p)


@average.infer(1, 22)
@maximum.infer(1, 22)
@lp.infer(1, 2, 22)
def infer(t: Inference) -> Result:
    found = t.tensor(0)
    if found is None or found.shape is None:
        return found and TensorType(found.dtype)
    if len(found.shape) < 2:
        t.fail(f"the input has rank {len(found.shape)}, [N, C, ...] is wanted")
    return TensorType(found.dtype, (*found.shape[:2], *(1 for _ in found.shape[2:])))


@average.eval(1, 22)
@in_float32
def eval_average(x: Array) -> Array:
    """x: [N, C, *spatial], result: [N, C, 1, ...]; NaN for channels without elements."""
    flat = channels(x)
    means = flat.sum(2) / flat.dtype.type(flat.shape[2])
    return as_pooled(means, x)


@maximum.eval(1, 22)
@in_float32
def eval_maximum(x: Array) -> Array:
    """x: [N, C, *spatial], result: [N, C, 1, ...]; minus infinity for channels without elements."""
    return as_pooled(channels(x).max(2, initial=-np.inf), x)


@lp.eval(1, 2, 22)
@in_float32
def eval_lp(x: Array, *, p: float) -> Array:
    """x: [N, C, *spatial], result: [N, C, 1, ...]; 0 for channels without elements."""
    return as_pooled(root(power(channels(x), p).sum(2), p), x)


def channels(x: Array) -> Array:
    """x as [N, C, elements]."""
    if x.ndim < 2:
        raise EvaluationError(f"x has rank {x.ndim}, [N, C, ...] is wanted")
    return x.reshape(*x.shape[:2], int(np.prod(x.shape[2:])))


def as_pooled(values: Array, x: Array) -> Array:
    return values.reshape(*x.shape[:2], *(1,) * (x.ndim - 2))
