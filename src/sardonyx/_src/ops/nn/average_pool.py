"""AveragePool: the mean of the elements below each window.

Spec: ai.onnx AveragePool-1, -7, -10, -11, -19, -22.  Version 7 adds count_include_pad, 10 ceil_mode, 19 dilations, and
from PyTorch the rule that no window starts in the padding at the end; 22 adds bfloat16.  11 rounds the size of SAME
down in one place and up in another; up is what the versions around it say.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn import pooling_steps as steps
from sardonyx._src.ops.nn.pooling import pooling_rounding, pooling_shape, pooling_windows, reduced
from sardonyx._src.ops.nn.windows import covered, padded

op = Operator("AveragePool", tolerance="rounding")

INSIDE = {19, 22}  # versions in which no window starts in the padding at the end


@op.infer(1, 7, 10, 11, 19, 22)
def infer(t: Inference) -> Result:
    found = t.tensor(0)
    return found and TensorType(found.dtype, pooling_shape(t, inside=t.version in INSIDE))


op.convert((1, 7), (7, 10), (10, 11), (11, 10), (19, 22))(lambda c: c.same())
op.convert((11, 19))(steps.counting_anew)
op.convert((19, 11))(lambda c: steps.counting_as_before(c, steps.undilated(c)))
op.convert((10, 7))(steps.without_ceil_mode)
op.convert((7, 1))(steps.without_counted_pads)


@op.convert((22, 19))
def to_19(c: Change) -> Converted:
    return steps.in_wider_floats(c) if c.t.dtype(0) is DataType.BFLOAT16 else c.same()


@op.eval(1, 7, 10, 11, 19, 22)
@in_float32
def eval_22(
    x: Array,
    *,
    call: Call,
    kernel_shape: tuple[int, ...],
    auto_pad: str,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    ceil_mode: int = 0,
    count_include_pad: int = 0,
) -> Array:
    """x: [N, C, *spatial], result: [N, C, *out]; NaN where a window has nothing to count.

    count_include_pad 1 counts the padding as zeros, but not what ceil_mode lets a window reach over beyond it.
    """
    windows = pooling_windows(
        x,
        kernel_shape,
        strides=strides,
        pads=pads,
        auto_pad=auto_pad,
        dilations=dilations,
        rounding=pooling_rounding(ceil_mode, inside=call.version in INSIDE),
    )
    sums = reduced(padded(x, windows, 0, call), windows, np.add)
    counts = np.ones((), x.dtype)
    for i in range(len(windows.size)):
        counts = counts[..., None] * covered(windows, i, with_pads=bool(count_include_pad)).astype(x.dtype)
    sums /= counts
    return sums
