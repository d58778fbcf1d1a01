"""DeformConv: a convolution whose taps are moved by offsets, with linear interpolation between elements.

Spec: ai.onnx DeformConv-19, -22.  Both mean the same; 22 adds bfloat16.  An element outside of the input counts as
zero, also where it is one of those that a point lies between.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import dim_mul
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.image.sampling import linear_taps, sampled
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.convolution import biased, convolution_shape, convolution_windows
from sardonyx._src.ops.nn.windows import Windows
from sardonyx._src.ops.shapes import element, merge_dims, merge_shapes, product
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("DeformConv", tolerance="rounding")
op.convert((22, 19))(widening(NARROW_FLOATS))


def check_points(t: Inference, shape: Shape) -> None:
    """Raises InferenceError where offset or mask have not so many numbers for each window, of shape [N, M, *out]."""
    groups, x, kernel = t.integer("offset_group"), t.shape(0), t.integers("kernel_shape")
    weight = t.shape(1)
    taps = product(kernel if kernel is not None else weight[2:] if weight is not None else (None,))
    channels = None if x is None else x[1]
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        t.fail(f"offset_group is {groups}, which has to divide the {channels} channels")
    each = dim_mul(groups, taps)
    for i, name, count in ((2, "offset", dim_mul(each, len(shape) - 2)), (4, "mask", each)):
        found = t.shape(i)
        if found is not None and len(found) == len(shape):
            merge_shapes(t, [found, (shape[0], count, *shape[2:])], f"{name} and the windows")


@op.infer(19, 22)
def infer(t: Inference) -> Result:
    dtype = element(t.tensor(0), t.tensor(1))
    shape = convolution_shape(t, 0, 1, 3)
    offset = t.shape(2)
    if shape is not None:
        check_points(t, shape)
    if shape is not None and offset is not None:
        if len(offset) != len(shape):
            t.fail(f"offset has rank {len(offset)}, {len(shape)} is wanted")
        merged = zip(shape[2:], offset[2:], strict=True)
        shape = (*shape[:2], *(merge_dims(t, pair, "offset and the result") for pair in merged))
    return None if dtype is None else TensorType(dtype, shape)


@op.eval(19, 22)
@in_float32
def eval_22(
    x: Array,
    w: Array,
    offset: Array,
    b: Array | None = None,
    mask: Array | None = None,
    *,
    call: Call,
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
        raise EvaluationError(f"offset_group {offset_group} does not divide {x.shape[1]} channels")
    taps, points = math.prod(windows.kernel), math.prod(windows.out)
    check(offset, "offset", (x.shape[0], offset_group * taps * len(windows.out), *windows.out))
    claim(call, (x.shape[0], x.shape[1], taps, points), x.dtype, "what DeformConv samples")
    moved = offset.reshape(x.shape[0] * offset_group, taps, len(windows.out), points)
    columns = gathered(x.reshape(len(moved), x.shape[1] // offset_group, *x.shape[2:]), moved, windows)
    if mask is not None:
        check(mask, "mask", (x.shape[0], offset_group * taps, *windows.out))
        columns *= mask.reshape(len(moved), 1, taps * points)
    kernels = w.reshape(group, w.shape[0] // group, math.prod(w.shape[1:]))
    result = np.matmul(kernels, columns.reshape(x.shape[0], group, kernels.shape[2], points))
    return biased(result.reshape(x.shape[0], w.shape[0], *windows.out), b)


def gathered(x: Array, moved: Array, windows: Windows) -> Array:
    """x [B, C, *spatial] at the taps of each window, moved by [B, taps, axes, points] -> [B, C, taps * points]."""
    first = [
        np.arange(n) * s - b for n, s, b in zip(windows.out, windows.strides, windows.before, strict=True)
    ]
    tap = [np.arange(k) * d for k, d in zip(windows.kernel, windows.dilations, strict=True)]
    starts = [a.reshape(1, -1) for a in np.meshgrid(*first, indexing="ij")]
    steps = [a.reshape(-1, 1) for a in np.meshgrid(*tap, indexing="ij")]
    axes = []
    for i, (start, step) in enumerate(zip(starts, steps, strict=True)):
        at = (start + step + moved[:, :, i].astype(np.float64)).reshape(
            len(moved), math.prod(windows.kernel) * math.prod(windows.out)
        )
        axes.append(linear_taps(at, windows.size[i]))
    return sampled(x, axes)


def check(values: Array, name: str, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise EvaluationError(f"{name} has shape {list(values.shape)}, {list(shape)} is wanted")
