"""Softmax: exponentials scaled to sum to one.

Spec: ai.onnx Softmax-1, -11, -13.  Versions 1 and 11 flatten x to two dimensions at `axis` and scale whole rows;
13 scales along `axis` alone.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.flattened import convert_softmax, flattened
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axis_of, same_tensor

op = Operator("Softmax", tolerance="rounding")
convert_softmax(op)


@op.infer(1, 11, 13)
def infer(t: Inference) -> Result:
    check_axis(t)
    return same_tensor(t)


def check_axis(t: Inference) -> None:
    """Raises InferenceError at the node when `axis` lies outside of x; version 1 may flatten behind the last axis."""
    rank, axis = t.rank(0), t.integer("axis")
    if rank is not None and (t.version > 1 or axis != rank):
        t.axis(axis, rank)


@op.eval(13)
def eval_13(x: Array, *, axis: int) -> Array:
    """x, result: [..., n, ...] float; every line along `axis` sums to 1.

    Narrow floats are rounded at every step, as in the function that defines the operator.
    """
    axis = axis_of(axis, x.ndim)
    top = x.max(axis=axis, keepdims=True, initial=-np.inf)  # keeps exp below overflow
    weights = np.exp(x - top)
    total = widen(weights).sum(axis=axis, keepdims=True)
    return weights / total.astype(x.dtype)


@op.body(13, opset=13)
def body_13(t: Inference) -> str:
    axis = t.integer("axis")
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
    return eval_13(flattened(x, axis), axis=1).reshape(x.shape)
