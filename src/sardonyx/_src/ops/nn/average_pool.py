"""AveragePool: the mean of each window.

Spec: ai.onnx AveragePool-1, -7, -10, -11, -19, -22.  Version 7 adds count_include_pad, 10 ceil_mode, 19 dilations, and,
as in PyTorch, lets no window start in the padding at the end; 22 adds bfloat16.  The text of 11 contradicts itself on
whether the output size of SAME padding is rounded down or up; it is rounded up here, as in the other versions.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn import pooling_steps as steps
from sardonyx._src.ops.nn.pooling import pooling_rounding, pooling_shape, pooling_windows, reduce_windows
from sardonyx._src.ops.nn.windows import AUTO_PADS, count_taps
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator(
    "AveragePool",
    tolerance="rounding",
    computes_in_float32=True,
    enum_attributes={"auto_pad": enum_values(*AUTO_PADS)},
)

AVERAGE_STARTS_INSIDE = {19, 22}  # versions in which no window starts in the padding at the end


@op.infer(1, 7, 10, 11, 19, 22)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    return data and TensorType(
        data.dtype, pooling_shape(inference, inside=inference.version in AVERAGE_STARTS_INSIDE)
    )


op.convert((1, 7), (7, 10), (10, 11), (11, 10), (19, 22))(keep)
op.convert((11, 19))(steps.upgrade_window_count)
op.convert((19, 11))(lambda adapter: steps.downgrade_window_count(adapter, steps.reject_dilations(adapter)))
op.convert((10, 7))(steps.remove_ceil_mode)
op.convert((7, 1))(steps.remove_counted_pads)


@op.convert((22, 19))
def to_19(adapter: Adapter) -> AdaptedNode:
    return (
        steps.convert_through_float(adapter)
        if adapter.inference.dtype(0) is DataType.BFLOAT16
        else adapter.same()
    )


@op.eval(1, 7, 10, 11, 19, 22)
@compute_in_float32
def eval_22(
    x: Array,
    *,
    context: RunContext,
    kernel_shape: tuple[int, ...],
    auto_pad: str,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    ceil_mode: int = 0,
    count_include_pad: int = 0,
) -> Array:
    """x: [N, C, *spatial], result: [N, C, *out]; NaN where a window counts no element.

    count_include_pad 1 counts padding as zeros, but not the elements past it that ceil_mode lets a window cover.
    """
    windows = pooling_windows(
        x,
        kernel_shape,
        strides=strides,
        pads=pads,
        auto_pad=auto_pad,
        dilations=dilations,
        rounding=pooling_rounding(ceil_mode, inside=context.version in AVERAGE_STARTS_INSIDE),
    )
    sums = reduce_windows(x, windows, np.add, 0, context)
    counts = np.ones((), x.dtype)
    for i in range(len(windows.size)):
        counts = counts[..., None] * count_taps(windows, i, with_pads=bool(count_include_pad)).astype(x.dtype)
    sums /= counts
    return sums
