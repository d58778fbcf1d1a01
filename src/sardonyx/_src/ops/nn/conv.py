"""Conv: every window of the input times a kernel, summed over channels and taps.

Spec: ai.onnx Conv-1, -11, -22.  All mean the same; 11 says what SAME is with strides, 22 adds bfloat16.
"""

from __future__ import annotations

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.convolution import biased, convolution_shape, convolution_windows, convolve
from sardonyx._src.ops.shapes import element
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("Conv", tolerance="rounding")
op.convert((22, 11))(widening(NARROW_FLOATS))


@op.infer(1, 11, 22)
def infer(t: Inference) -> Result:
    dtype = element(t.tensor(0), t.tensor(1))
    return None if dtype is None else TensorType(dtype, convolution_shape(t, 0, 1, 2))


@op.eval(1, 11, 22)
@in_float32
def eval_22(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    call: Call,
    group: int,
    auto_pad: str,
    kernel_shape: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
) -> Array:
    """x: [N, C, *spatial], w: [M, C/group, *kernel], b: [M], result: [N, M, *out]."""
    windows = convolution_windows(
        x,
        w,
        group,
        kernel_shape=kernel_shape,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
    )
    return biased(convolve(x, w, windows, group, call), b)
