"""LpPool: the Lp norm of each window, the p-th root of the sum of |x|^p.

Spec: ai.onnx LpPool-1, -2, -11, -18, -22.  In version 1 p is a float and kernel_shape is optional, without a default; 18
adds dilations and ceil_mode, 22 bfloat16 and the rule that no window starts in the padding at the end.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn import pooling_steps as steps
from sardonyx._src.ops.nn.pooling import pooling_rounding, pooling_shape, pooling_windows, reduce_windows
from sardonyx._src.ops.nn.windows import AUTO_PADS
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator(
    "LpPool",
    tolerance="rounding",
    computes_in_float32=True,
    enum_attributes={"auto_pad": enum_values(*AUTO_PADS)},
)

LP_STARTS_INSIDE = {22}  # versions in which no window starts in the padding at the end


@op.infer(1, 2, 11, 18, 22)
def infer(inference: Inference) -> Result:
    data, p = inference.tensor(0), inference.attributes.get("p", 2)
    if isinstance(p, int | float) and not p > 0:  # `p <= 0` would accept NaN
        inference.fail(f"p must be > 0; got {p}")
    if inference.integers("kernel_shape") is None:
        inference.fail("kernel_shape must be given: it alone defines the window size")
    return data and TensorType(
        data.dtype, pooling_shape(inference, inside=inference.version in LP_STARTS_INSIDE)
    )


op.convert((1, 2))(steps.convert_p_to_int)
op.convert((2, 1))(steps.convert_p_to_float)
op.convert((2, 11), (11, 2), (11, 18))(keep)
op.convert((18, 11))(steps.remove_ceil_mode)
op.convert((18, 22))(steps.upgrade_window_count)


@op.convert((22, 18))
def to_18(adapter: Adapter) -> AdaptedNode:
    is_new = adapter.inference.dtype(0) is DataType.BFLOAT16
    return steps.convert_through_float(adapter) if is_new else steps.downgrade_window_count(adapter)


@op.eval(1, 2, 11, 18, 22)
@compute_in_float32
def eval_22(
    x: Array,
    *,
    context: RunContext,
    auto_pad: str,
    p: float,
    kernel_shape: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    ceil_mode: int = 0,
) -> Array:
    """x: [N, C, *spatial], result: [N, C, *out]; padding contributes nothing."""
    if kernel_shape is None:
        raise EvaluationError("kernel_shape must be given: it alone defines the window size")
    windows = pooling_windows(
        x,
        kernel_shape,
        strides=strides,
        pads=pads,
        auto_pad=auto_pad,
        dilations=dilations,
        rounding=pooling_rounding(ceil_mode, inside=context.version in LP_STARTS_INSIDE),
    )
    return root(reduce_windows(power(x, p), windows, np.add, 0, context), p)


def power(x: Array, p: float) -> Array:
    """|x|^p; raises EvaluationError unless p is positive."""
    if not p > 0:
        raise EvaluationError(f"p must be > 0; got {p}")
    if p == 1:
        return np.abs(x)
    return np.square(x) if p == 2 else np.power(np.abs(x), x.dtype.type(p))


def root(x: Array, p: float) -> Array:
    if p == 1:
        return x
    return np.sqrt(x) if p == 2 else np.power(x, x.dtype.type(1 / p))
