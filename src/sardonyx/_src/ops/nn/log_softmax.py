"""LogSoftmax: the logarithm of what Softmax gives.

Spec: ai.onnx LogSoftmax-1, -11, -13.  Versions 1 and 11 flatten x to two dimensions at `axis` and scale whole rows;
13 scales along `axis` alone.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.flattened import convert_softmax, flattened
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.softmax import check_axis
from sardonyx._src.ops.shapes import axis_of, same_tensor

op = Operator("LogSoftmax", tolerance="rounding")
convert_softmax(op)


@op.infer(1, 11, 13)
def infer(t: Inference) -> Result:
    check_axis(t)
    return same_tensor(t)


@op.eval(13)
@in_float32
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
    return eval_13(flattened(x, axis), axis=1).reshape(x.shape)


@op.body(13, opset=13)
def body_13(t: Inference) -> str:
    axes = f"<axes = [{t.integer('axis')}]>"
    return f"""(x) => (y) {{
      top = ReduceMax {axes} (x)
      shifted = Sub(x, top)
      total = ReduceLogSumExp {axes} (shifted)
      y = Sub(shifted, total)
    }}"""
