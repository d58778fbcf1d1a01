"""LogSoftmax: the logarithm of Softmax.

Spec: ai.onnx LogSoftmax-1, -11, -13.  Versions 1 and 11 flatten x to two dimensions at `axis` and normalize its rows;
13 normalizes along `axis`.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.softmax import check_axis
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.flatten_2d import flatten_to_2d, register_softmax_adapters
from sardonyx._src.ops.support.shapes import axis_of, same_tensor

op = Operator("LogSoftmax", tolerance="rounding", computes_in_float32=True, under_permutation="softmax")
register_softmax_adapters(op)


@op.infer(1, 11, 13)
def infer(inference: Inference) -> Result:
    check_axis(inference)
    return same_tensor(inference)


@op.eval(13)
@compute_in_float32
def eval_13(x: Array, *, axis: int) -> Array:
    """x, result: [..., n, ...] float; the exponentials of every line along `axis` sum to 1."""
    axis = axis_of(axis, x.ndim)
    shifted = x - x.max(axis=axis, keepdims=True, initial=-np.inf)  # keeps exp below overflow
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


@op.eval(11)
def eval_11(x: Array, *, axis: int) -> Array:
    return eval_1(x, axis=axis_of(axis, x.ndim))


@op.eval(1)
def eval_1(x: Array, *, axis: int) -> Array:
    """x, result: [d0, ..., dk] float; one row is everything from `axis` on."""
    return eval_13(flatten_to_2d(x, axis), axis=1).reshape(x.shape)


@op.body(13, opset=13)
def body_13(inference: Inference) -> str:
    axes = f"<axes = [{inference.integer('axis')}]>"
    return f"""(x) => (y) {{
      top = ReduceMax {axes} (x)
      shifted = Sub(x, top)
      total = ReduceLogSumExp {axes} (shifted)
      y = Sub(shifted, total)
    }}"""
