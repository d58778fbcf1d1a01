"""Softmax: exponentials normalized to sum to one.

Spec: ai.onnx Softmax-1, -11, -13.  Versions 1 and 11 flatten x to two dimensions at `axis` and normalize its rows;
13 normalizes along `axis`.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.flatten_2d import flatten_to_2d, register_softmax_adapters
from sardonyx._src.ops.support.shapes import axis_of, same_tensor

op = Operator("Softmax", tolerance="rounding", computes_in_float32=True, under_permutation="softmax")
register_softmax_adapters(op)


@op.infer(1, 11, 13)
def infer(inference: Inference) -> Result:
    check_axis(inference)
    return same_tensor(inference)


def check_axis(inference: Inference) -> None:
    """Raises InferenceError at the node when `axis` lies outside of x; version 1 also accepts the rank."""
    rank, axis = inference.rank(0), inference.integer("axis")
    if rank is not None and (inference.version > 1 or axis != rank):
        inference.axis(axis, rank)


@op.eval(13)
def eval_13(x: Array, *, axis: int) -> Array:
    """x, result: [..., n, ...] float; every line along `axis` sums to 1.

    Half precision is rounded at every step, as in the function that defines the operator.
    """
    axis = axis_of(axis, x.ndim)
    top = x.max(axis=axis, keepdims=True, initial=-np.inf)  # keeps exp below overflow
    weights = np.exp(x - top)
    total = promote_to_float32(weights).sum(axis=axis, keepdims=True)
    return weights / total.astype(x.dtype)


@op.body(13, opset=13)
def body_13(inference: Inference) -> str:
    axis = inference.integer("axis")
    return f"""(x) => (y) {{
      top = ReduceMax <axes = [{axis}]> (x)
      shifted = Sub(x, top)
      weights = Exp(shifted)
      axes = Constant <value_ints = [{axis}]> ()
      total = ReduceSum(weights, axes)
      y = Div(weights, total)
    }}"""


@op.eval(11)
def eval_11(x: Array, *, axis: int) -> Array:
    return eval_1(x, axis=axis_of(axis, x.ndim))


@op.eval(1)
def eval_1(x: Array, *, axis: int) -> Array:
    """x, result: [d0, ..., dk] float; one row is everything from `axis` on."""
    return eval_13(flatten_to_2d(x, axis), axis=1).reshape(x.shape)
