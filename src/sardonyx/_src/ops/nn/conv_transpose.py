"""ConvTranspose: transposed convolution; each input element adds a scaled kernel to the output.

Spec: ai.onnx ConvTranspose-1, -11, -22.  Where output_shape makes the padding odd, version 1 puts the larger half at
the start for SAME_UPPER and else at the end; from 11 on it is at the end for SAME_UPPER and else at the start.  In
version 1 output_shape may have the batch and the channels in front.  22 adds bfloat16.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Attribute, Shape, TensorType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.convolution import add_bias, check_kernel, merge_bias, operand_dims
from sardonyx._src.ops.nn.windows import (
    AUTO_PADS,
    WindowGeometry,
    auto_pad_of,
    crop_padding,
    fold_windows,
    values_per_axis,
)
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import first_element_type, merge_dims
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator(
    "ConvTranspose",
    tolerance="rounding",
    computes_in_float32=True,
    enum_attributes={"auto_pad": enum_values(*AUTO_PADS)},
    linear_layer="conv_transpose",
)


@dataclass(frozen=True, slots=True)
class Spreading:
    """The attributes of one node: how each input element is spread over a window of the output.

    Tuples have one entry for each spatial axis; `pads` has all entries of the starts, then those of the ends.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    output_padding: tuple[int, ...]
    pads: tuple[int, ...]
    auto_pad: str
    output_shape: tuple[int, ...] | None
    larger_half_last: bool  # whether odd computed padding has its larger half at the end

    @classmethod
    def of(
        cls,
        rank: int,
        version: int,
        auto_pad: str,
        strides: Sequence[int] | None,
        dilations: Sequence[int] | None,
        output_padding: Sequence[int] | None,
        pads: Sequence[int] | None,
        output_shape: Sequence[int] | None,
    ) -> Spreading:
        """Raises EvaluationError for attributes of the wrong length or sign."""
        upper = auto_pad_of(auto_pad) == "SAME_UPPER"
        if output_shape is not None:
            sizes = output_shape[2:] if version == 1 and len(output_shape) == rank + 2 else output_shape
            output_shape = values_per_axis("output_shape", sizes, rank, minimum=0)
        explicit = auto_pad == "NOTSET" and output_shape is None
        return cls(
            values_per_axis("strides", strides, rank, minimum=1),
            values_per_axis("dilations", dilations, rank, minimum=1),
            values_per_axis("output_padding", output_padding, rank, minimum=0),
            values_per_axis("pads", pads if explicit else None, 2 * rank, minimum=0),
            auto_pad,
            output_shape,
            not upper if version == 1 and output_shape is not None else upper,
        )

    def reach(self, size: Sequence[Dim], kernel: Sequence[Dim]) -> tuple[Dim, ...]:
        """The spatial sizes of the output before padding is cropped, output_padding included."""
        axes = zip(size, kernel, self.strides, self.dilations, self.output_padding, strict=True)
        return tuple(
            None if n is None or k is None else s * (n - 1) + extra + d * (k - 1) + 1
            for n, k, s, d, extra in axes
        )

    def sizes(self, size: Sequence[Dim], kernel: Sequence[Dim]) -> tuple[Dim, ...]:
        """The spatial sizes of the output; raises EvaluationError when one is negative."""
        if self.output_shape is not None:
            return self.output_shape
        if self.auto_pad.startswith("SAME"):
            return tuple(None if n is None else n * s for n, s in zip(size, self.strides, strict=True))
        rank = len(size)
        result = tuple(
            None if n is None else n - self.pads[i] - self.pads[rank + i]
            for i, n in enumerate(self.reach(size, kernel))
        )
        for i, n in enumerate(result):
            if isinstance(n, int) and n < 0:
                raise EvaluationError(f"sizes of the result must be >= 0; got {n} for spatial axis {i}")
        return result

    def windows(self, size: Sequence[int], kernel: tuple[int, ...]) -> WindowGeometry:
        """The windows over the output, one for each element of the input."""
        rank = len(size)
        out = numbers(self.sizes(size, kernel))
        before, after = list(self.pads[:rank]), list(self.pads[rank:])
        if self.auto_pad.startswith("SAME") or self.output_shape is not None:
            for i, (reach, result) in enumerate(zip(numbers(self.reach(size, kernel)), out, strict=True)):
                total = max(reach - result, 0)
                smaller, larger = total // 2, total - total // 2
                before[i], after[i] = (smaller, larger) if self.larger_half_last else (larger, smaller)
        return WindowGeometry(
            out, kernel, self.strides, self.dilations, tuple(before), tuple(after), tuple(size)
        )


def numbers(dims: Sequence[Dim]) -> tuple[int, ...]:
    assert all(isinstance(n, int) for n in dims), "integer input sizes give integer output sizes"
    return tuple(n for n in dims if isinstance(n, int))


@op.infer(1, 11, 22)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(inference.tensor(0), inference.tensor(1))
    return None if dtype is None else TensorType(dtype, output_dims(inference))


def output_dims(inference: Inference) -> Shape | None:
    """[N, M, *out]; raises InferenceError where inputs and attributes are inconsistent."""
    operands, group = operand_dims(inference, 0, 1), inference.integer("group")
    if operands is None:
        return None
    data, weight, kernel = operands
    input_channels = merge_dims(inference, (data[1], weight[0]), "the channels of x and W")
    if isinstance(input_channels, int) and input_channels % group:
        inference.fail(f"channels of x must be a multiple of group {group}; got {input_channels}")
    try:
        spatial = spreading_of(inference, len(kernel)).sizes(data[2:], kernel)
    except EvaluationError as error:
        inference.fail(error.why)
    channels = None if weight[1] is None else weight[1] * group
    return (data[0], merge_bias(inference, channels, 2), *spatial)


def spreading_of(inference: Inference, rank: int) -> Spreading:
    names = ("strides", "dilations", "output_padding", "pads", "output_shape")
    return Spreading.of(
        rank,
        inference.version,
        str(inference.attributes["auto_pad"]),
        *(inference.integers(name) for name in names),
    )


op.convert((11, 22))(keep)
op.convert((22, 11))(promote_input(NARROW_FLOATS))


@op.convert((1, 11), (11, 1))
def swap_same_padding(adapter: Adapter) -> AdaptedNode:
    """Swap SAME_UPPER and SAME_LOWER where output_shape is given: versions 1 and 11 split odd padding oppositely."""
    sizes = adapter.inference.integers("output_shape")
    if sizes is None:
        return adapter.same()
    kernel = adapter.inference.integers("kernel_shape")
    rank = adapter.inference.rank(0) or (len(kernel) + 2 if kernel is not None else adapter.rank(1))
    spatial = sizes[2:] if adapter.inference.version == 1 and len(sizes) == rank else sizes
    is_upper = adapter.inference.attributes["auto_pad"] == "SAME_UPPER"
    return adapter.same(
        auto_pad="SAME_LOWER" if is_upper else "SAME_UPPER",
        output_shape=Attribute("output_shape", AttributeType.INTS, spatial),
    )


@op.eval(1, 11, 22)
@compute_in_float32
def eval_22(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    context: RunContext,
    auto_pad: str,
    group: int,
    kernel_shape: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    output_padding: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    output_shape: tuple[int, ...] | None = None,
) -> Array:
    """x: [N, C, *spatial], w: [C, M/group, *kernel], b: [M], result: [N, M, *out].

    An output_shape larger than the full output is filled with zeros (and the bias) at the end.
    """
    check_kernel(x, w, kernel_shape)
    if group < 1 or w.shape[0] != x.shape[1] or w.shape[0] % group:
        what = f"{x.shape[1]} channels, W of shape {list(w.shape)} and group {group}"
        raise EvaluationError(f"x must have W[0] channels, a multiple of group; got {what}")
    rank = x.ndim - 2
    spreading = Spreading.of(
        rank, context.version, auto_pad, strides, dilations, output_padding, pads, output_shape
    )
    windows = spreading.windows(x.shape[2:], w.shape[2:])
    channels = w.shape[1] * group
    check_result_bytes(context, (x.shape[0], channels, *windows.extents), x.dtype, "ConvTranspose result")
    check_result_bytes(
        context, (x.shape[0], channels, *w.shape[2:], *x.shape[2:]), x.dtype, "ConvTranspose columns"
    )
    kernels = w.reshape(group, w.shape[0] // group, math.prod(w.shape[1:])).swapaxes(1, 2)
    columns = np.matmul(kernels, x.reshape(x.shape[0], group, kernels.shape[2], math.prod(x.shape[2:])))
    columns = columns.reshape(x.shape[0], channels, *w.shape[2:], *x.shape[2:])
    return add_bias(crop_padding(fold_windows(columns, windows), windows).copy(), b)
