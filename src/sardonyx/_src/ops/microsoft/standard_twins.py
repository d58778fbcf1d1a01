"""Operators of com.microsoft that differ little from an operator of ai.onnx.

Spec: com.microsoft ExpandDims-1 GatherND-1 GridSample-1 Irfft-1 Pad-1 Range-1 Rfft-1 SampleOp-1 Trilu-1 Unique-1, as
onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN, string_attribute
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar, vector

expand_dims = Operator("ExpandDims", DOMAIN, about="Unsqueeze of one axis")
gather_nd = Operator("GatherND", DOMAIN, about="GatherND with indices of int32 or int64")
grid_sample = Operator("GridSample", DOMAIN, tolerance="rounding", about="GridSample of images")
irfft = Operator("Irfft", DOMAIN, tolerance="rounding", about="the inverse of Rfft")
pad = Operator("Pad", DOMAIN, about="Pad, whose pads may be a matrix of one row")
range_ = Operator("Range", DOMAIN, about="Range with a step of 1 by default")
rfft = Operator("Rfft", DOMAIN, tolerance="rounding", about="the Fourier transform of real rows")
sample = Operator("SampleOp", DOMAIN, about="Identity")
trilu = Operator("Trilu", DOMAIN, about="Trilu of more types")
unique = Operator("Unique", DOMAIN, about="Unique of a vector, in the order of the first elements")


@sample.body(1, opset=13)
def sample_body(inference: Inference) -> str:
    return "(x) => (y) { y = Identity(x) }"


@expand_dims.body(1, opset=13)
def expand_dims_body(inference: Inference) -> str:
    return f"""(x, axis) => (y) {{
      wide = Cast <to = {int(DataType.INT64)}> (axis)
      one_size = {vector([1])}
      axes = Reshape(wide, one_size)
      y = Unsqueeze(x, axes)
    }}"""


@gather_nd.body(1, opset=13)
def gather_nd_body(inference: Inference) -> str:
    return (
        f"(x, indices) => (y) {{ wide = Cast <to = {int(DataType.INT64)}> (indices)  y = GatherND(x, wide) }}"
    )


@grid_sample.body(1, opset=16)
def grid_sample_body(inference: Inference) -> str:
    attributes = "align_corners = @align_corners, mode = @mode, padding_mode = @padding_mode"
    return f"(x, grid) => (y) {{ y = GridSample <{attributes}> (x, grid) }}"


@trilu.body(1, opset=14)
def trilu_body(inference: Inference) -> str:
    if not inference.has(1):
        return "(x, k) => (y) { y = Trilu <upper = @upper> (x) }"
    return f"""(x, k) => (y) {{
      no_axes = {vector([])}
      number = Reshape(k, no_axes)
      y = Trilu <upper = @upper> (x, number)
    }}"""


@unique.body(1, opset=11)
def unique_body(inference: Inference) -> str:
    return "(x) => (y, places, counts) { y, first, places, counts = Unique <sorted = 0> (x) }"


@range_.body(1, opset=13)
def range_body(inference: Inference) -> str:
    step = "step" if inference.has(2) else "one"
    default_step = "" if inference.has(2) else f"one = {scalar(1, element_type(inference))}"
    numbers = "  ".join(f"{name}_number = Reshape({name}, no_axes)" for name in ("start", "limit", step))
    return f"""(start, limit, step) => (y) {{
      no_axes = {vector([])}
      {default_step} {numbers}
      y = Range(start_number, limit_number, {step}_number)
    }}"""


@pad.body(1, opset=13)
def pad_body(inference: Inference) -> str:
    mode = string_attribute(inference, "mode")
    value = (
        "no_axes = Constant <value = int64[0] {}> ()  filling = Reshape(value, no_axes)"
        if inference.has(2)
        else ""
    )
    return f"""(x, pads, value) => (y) {{
      flat = {vector([-1])}
      sizes = Reshape(pads, flat)
      {value}
      y = Pad <mode = "{mode}"> (x, sizes{", filling" if value else ""})
    }}"""


def refuse_options(inference: Inference) -> None:
    """Raises InferenceError for attributes that the bodies of Rfft and Irfft do not compute."""
    options = [inference.integer(name) for name in ("onesided", "normalized", "signal_ndim")]
    if options != [1, 0, 1]:
        inference.fail("a body is known for one dimension, one side and no normalization only")


@rfft.body(1, opset=17)
def rfft_body(inference: Inference) -> str:
    """x: [..., n]; result: [..., n / 2 + 1, 2]."""
    refuse_options(inference)
    rank = rank_of(inference)
    if rank == 1:
        return f"""(x) => (y) {{
      ends = {vector([0, 2])}
      row = Unsqueeze(x, ends)
      transformed = DFT <axis = 1, onesided = 1> (row)
      front = {vector([0])}
      y = Squeeze(transformed, front)
    }}"""
    return f"""(x) => (y) {{
      last = {vector([-1])}
      real = Unsqueeze(x, last)
      y = DFT <axis = {rank - 1}, onesided = 1> (real)
    }}"""


@irfft.body(1, opset=17)
def irfft_body(inference: Inference) -> str:
    """x: [..., n / 2 + 1, 2], n even; result: [..., n].

    The other half of the spectrum is the mirrored conjugate of x, since the result is real.
    """
    refuse_options(inference)
    dtype, axis = element_type(inference), rank_of(inference) - 2
    if axis == 0:
        inference.fail("a body is known for rows only")
    return f"""(x) => (y) {{
      second = {vector([-2])}
      first = {vector([0])}
      axis = {vector([axis])}
      back = {vector([-1])}
      mirrored = Slice(x, second, first, axis, back)
      sign = Constant <value = float[2] {{1, -1}}> ()
      signs = Cast <to = {int(dtype)}> (sign)
      conjugate = Mul(mirrored, signs)
      whole = Concat <axis = {axis}> (x, conjugate)
      complex = DFT <axis = {axis}, inverse = 1> (whole)
      real_end = {vector([1])}
      last = {vector([axis + 1])}
      real = Slice(complex, first, real_end, last)
      y = Squeeze(real, last)
    }}"""
