"""DeformConv: deformable convolution; each tap is shifted by an offset and sampled with linear interpolation.

Spec: ai.onnx DeformConv-19, -22.  Both mean the same; 22 adds bfloat16.  Elements outside the input count as zeros,
also where a point is interpolated between them and elements inside.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.dims import dim_mul
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.image.sampling import interpolate_points, linear_taps
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.convolution import add_bias, convolution_shape, convolution_windows
from sardonyx._src.ops.nn.windows import WindowGeometry
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import element_count, first_element_type, merge_dims, merge_shapes

op = Operator("DeformConv", tolerance="rounding", computes_in_float32=True)
op.convert((22, 19))(promote_input(NARROW_FLOATS))


def check_points(inference: Inference, shape: Shape) -> None:
    """Raises InferenceError unless offset and mask match `shape`, [N, M, *out].

    For each window and offset group, the offset has one number for each tap and axis, the mask one for each tap.
    """
    groups, x, kernel = (
        inference.integer("offset_group"),
        inference.shape(0),
        inference.integers("kernel_shape"),
    )
    weight = inference.shape(1)
    taps = element_count(kernel if kernel is not None else weight[2:] if weight is not None else (None,))
    channels = None if x is None else x[1]
    if groups < 1:
        inference.fail(f"offset_group must be at least 1; got {groups}")
    if isinstance(channels, int) and channels % groups:
        inference.fail(f"offset_group must divide the {channels} channels; got {groups}")
    each = dim_mul(groups, taps)
    for i, name, count in ((2, "offset", dim_mul(each, len(shape) - 2)), (4, "mask", each)):
        actual = inference.shape(i)
        if actual is not None and len(actual) == len(shape):
            merge_shapes(inference, [actual, (shape[0], count, *shape[2:])], f"{name} and the windows")


@op.infer(19, 22)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(inference.tensor(0), inference.tensor(1))
    shape = convolution_shape(inference, 0, 1, 3)
    offset = inference.shape(2)
    if shape is not None:
        check_points(inference, shape)
    if shape is not None and offset is not None:
        if len(offset) != len(shape):
            inference.fail(f"offset must have rank {len(shape)}; got {len(offset)}")
        merged = zip(shape[2:], offset[2:], strict=True)
        shape = (*shape[:2], *(merge_dims(inference, pair, "offset and the result") for pair in merged))
    return None if dtype is None else TensorType(dtype, shape)


@op.eval(19, 22)
@compute_in_float32
def eval_22(
    x: Array,
    w: Array,
    offset: Array,
    b: Array | None = None,
    mask: Array | None = None,
    *,
    context: RunContext,
    group: int,
    offset_group: int,
    kernel_shape: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
) -> Array:
    """x: [N, C, *spatial], w: [M, C/group, *kernel], b: [M], result: [N, M, *out].

    offset: [N, offset_group * taps * axes, *out], mask: [N, offset_group * taps, *out].
    """
    windows = convolution_windows(
        x,
        w,
        group,
        kernel_shape=kernel_shape,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad="NOTSET",
    )
    if offset_group < 1 or x.shape[1] % offset_group:
        raise EvaluationError(f"offset_group must divide the {x.shape[1]} channels; got {offset_group}")
    taps, points = math.prod(windows.kernel), math.prod(windows.out)
    check_shape(offset, "offset", (x.shape[0], offset_group * taps * len(windows.out), *windows.out))
    check_result_bytes(context, (x.shape[0], x.shape[1], taps, points), x.dtype, "DeformConv samples")
    offsets = offset.reshape(x.shape[0] * offset_group, taps, len(windows.out), points)
    columns = sample_taps(x.reshape(len(offsets), x.shape[1] // offset_group, *x.shape[2:]), offsets, windows)
    if mask is not None:
        check_shape(mask, "mask", (x.shape[0], offset_group * taps, *windows.out))
        columns *= mask.reshape(len(offsets), 1, taps * points)
    kernels = w.reshape(group, w.shape[0] // group, math.prod(w.shape[1:]))
    result = np.matmul(kernels, columns.reshape(x.shape[0], group, kernels.shape[2], points))
    return add_bias(result.reshape(x.shape[0], w.shape[0], *windows.out), b)


def sample_taps(x: Array, offsets: Array, windows: WindowGeometry) -> Array:
    """x [B, C, *spatial] at each window's taps, shifted by offsets [B, taps, axes, points] -> [B, C, taps * points]."""
    first = [
        np.arange(n) * s - b for n, s, b in zip(windows.out, windows.strides, windows.before, strict=True)
    ]
    tap = [np.arange(k) * d for k, d in zip(windows.kernel, windows.dilations, strict=True)]
    starts = [a.reshape(1, -1) for a in np.meshgrid(*first, indexing="ij")]
    steps = [a.reshape(-1, 1) for a in np.meshgrid(*tap, indexing="ij")]
    axes = []
    for i, (start, step) in enumerate(zip(starts, steps, strict=True)):
        coordinate = (start + step + offsets[:, :, i].astype(np.float64)).reshape(
            len(offsets), math.prod(windows.kernel) * math.prod(windows.out)
        )
        axes.append(linear_taps(coordinate, windows.size[i]))
    return interpolate_points(x, axes)


def check_shape(values: Array, name: str, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise EvaluationError(f"{name} must have shape {list(shape)}; got {list(values.shape)}")
