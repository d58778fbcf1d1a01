"""LpPool: the Lp norm of the elements below each window, the p-th root of the sum of |x|^p.

Spec: ai.onnx LpPool-1, -2, -11, -18, -22.  Version 1 has p as a float and no default for kernel_shape, 18 adds
dilations and ceil_mode, 22 bfloat16 and the rule that no window starts in the padding at the end.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn import pooling_steps as steps
from sardonyx._src.ops.nn.pooling import pooling_rounding, pooling_shape, pooling_windows, reduced
from sardonyx._src.ops.nn.windows import padded

op = Operator("LpPool", tolerance="rounding")

INSIDE = {22}  # versions in which no window starts in the padding at the end


@op.infer(1, 2, 11, 18, 22)
def infer(t: Inference) -> Result:
    found, p = t.tensor(0), t.attributes.get("p", 2)
    if isinstance(p, int | float) and p <= 0:
        t.fail(f"p is {p}, a positive number is wanted")
    if t.integers("kernel_shape") is None:
        t.fail("kernel_shape is missing, and nothing else tells the size of the windows")
    return found and TensorType(found.dtype, pooling_shape(t, inside=t.version in INSIDE))


op.convert((1, 2))(steps.whole_p)
op.convert((2, 1))(steps.real_p)
op.convert((2, 11), (11, 2), (11, 18))(lambda c: c.same())
op.convert((18, 11))(steps.without_ceil_mode)
op.convert((18, 22))(steps.counting_anew)


@op.convert((22, 18))
def to_18(c: Change) -> Converted:
    is_new = c.t.dtype(0) is DataType.BFLOAT16
    return steps.in_wider_floats(c) if is_new else steps.counting_as_before(c)


@op.eval(1, 2, 11, 18, 22)
@in_float32
def eval_22(
    x: Array,
    *,
    call: Call,
    auto_pad: str,
    p: float,
    kernel_shape: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    ceil_mode: int = 0,
) -> Array:
    """x: [N, C, *spatial], result: [N, C, *out]; padding adds nothing."""
    if kernel_shape is None:
        raise EvaluationError("kernel_shape is missing, and nothing else tells the size of the windows")
    windows = pooling_windows(
        x,
        kernel_shape,
        strides=strides,
        pads=pads,
        auto_pad=auto_pad,
        dilations=dilations,
        rounding=pooling_rounding(ceil_mode, inside=call.version in INSIDE),
    )
    return root(reduced(padded(power(x, p), windows, 0, call), windows, np.add), p)


def power(x: Array, p: float) -> Array:
    """|x|^p; raises EvaluationError unless p is positive."""
    if not p > 0:
        raise EvaluationError(f"p is {p}, a positive number is wanted")
    if p == 1:
        return np.abs(x)
    return np.square(x) if p == 2 else np.power(np.abs(x), x.dtype.type(p))


def root(x: Array, p: float) -> Array:
    if p == 1:
        return x
    return np.sqrt(x) if p == 2 else np.power(x, x.dtype.type(1 / p))
