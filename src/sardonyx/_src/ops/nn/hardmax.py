"""Hardmax: 1 at the first maximum along an axis, 0 elsewhere.

Spec: ai.onnx Hardmax-1, -11, -13.  Versions 1 and 11 flatten x to two dimensions at `axis` and mark one element of
each row; 13 marks one element of each line along `axis`.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.softmax import check_axis
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.flatten_2d import flatten_to_2d, register_softmax_adapters
from sardonyx._src.ops.support.shapes import axis_of, same_tensor

op = Operator("Hardmax", under_permutation="softmax")
register_softmax_adapters(op)


@op.infer(1, 11, 13)
def infer(inference: Inference) -> Result:
    check_axis(inference)
    return same_tensor(inference)


@op.eval(13)
def eval_13(x: Array, *, axis: int) -> Array:
    """x, result: [..., n, ...] float; a NaN counts as larger than all numbers."""
    axis = axis_of(axis, x.ndim)
    result = np.zeros(x.shape, x.dtype)
    if x.size:
        first = np.expand_dims(promote_to_float32(x).argmax(axis), axis)
        np.put_along_axis(result, first, np.ones((), x.dtype), axis)
    return result


@op.eval(11)
def eval_11(x: Array, *, axis: int) -> Array:
    return eval_1(x, axis=axis_of(axis, x.ndim))


@op.eval(1)
def eval_1(x: Array, *, axis: int) -> Array:
    """x, result: [d0, ..., dk] float; one row is everything from `axis` on."""
    return eval_13(flatten_to_2d(x, axis), axis=1).reshape(x.shape)
