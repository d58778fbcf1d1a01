"""Conv: convolution, each output the dot product of a window of the input and a kernel.

Spec: ai.onnx Conv-1, -11, -22.  All mean the same; 11 defines SAME with strides, 22 adds bfloat16.
"""

from __future__ import annotations

from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.convolution import add_bias, convolution_shape, convolution_windows, convolve
from sardonyx._src.ops.nn.windows import AUTO_PADS
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import first_element_type
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "Conv",
    tolerance="rounding",
    computes_in_float32=True,
    enum_attributes={"auto_pad": enum_values(*AUTO_PADS)},
    linear_layer="conv",
)
op.convert((22, 11))(promote_input(NARROW_FLOATS))


@op.infer(1, 11, 22)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(inference.tensor(0), inference.tensor(1))
    return None if dtype is None else TensorType(dtype, convolution_shape(inference, 0, 1, 2))


@op.eval(1, 11, 22)
@compute_in_float32
def eval_22(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    context: RunContext,
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
    return add_bias(convolve(x, w, windows, group, context), b)
