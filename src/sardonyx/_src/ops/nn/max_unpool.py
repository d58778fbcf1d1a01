"""MaxUnpool: the inverse of MaxPool; scatters values to their indices in a tensor of zeros.

Spec: ai.onnx MaxUnpool-9, -11, -22.  All mean the same; 22 adds bfloat16.  The attributes give the shape of a tensor,
which is cropped where output_shape is smaller; indices are flat indices into it.  A larger output_shape then appends
zeros to each axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.dims import Dim, dim_add, dim_mul
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.windows import values_per_axis
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import merge_dims, merge_shapes

op = Operator("MaxUnpool", parameters=(2,))
op.convert((22, 11))(promote_input(NARROW_FLOATS))


@op.infer(9, 11, 22)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    return data and TensorType(data.dtype, unpooled_dims(inference))


def unpooled_dims(inference: Inference) -> Shape | None:
    kernel = inference.integers("kernel_shape")
    assert kernel is not None, "the signature requires kernel_shape"
    shape = merge_shapes(inference, (inference.shape(0), inference.shape(1)), "x and the indices")
    if shape is not None and len(shape) != len(kernel) + 2:
        inference.fail(
            f"x must have rank {len(kernel) + 2} for {len(kernel)} entries of kernel_shape; got rank {len(shape)}"
        )
    shape = shape or (None,) * (len(kernel) + 2)
    computed = dims_from_attributes(inference, shape, kernel)
    return dims_from_output_shape(inference, shape) if inference.has(2) else computed


def dims_from_output_shape(inference: Inference, shape: Shape) -> Shape:
    """The dims from the elements of output_shape."""
    sizes = inference.dims(2) or (None,) * len(shape)
    if len(sizes) != len(shape):
        inference.fail(f"output_shape must have {len(shape)} entries; got {len(sizes)}")
    lead = (
        merge_dims(inference, pair, "x and output_shape") for pair in zip(shape[:2], sizes[:2], strict=True)
    )
    return (*lead, *(inference.new_dim() if n is None else n for n in sizes[2:]))


def dims_from_attributes(inference: Inference, shape: Shape, kernel: Sequence[int]) -> Shape:
    """The dims computed from those of x and the attributes."""
    try:
        strides = values_per_axis("strides", inference.integers("strides"), len(kernel), minimum=1)
        pads = values_per_axis("pads", inference.integers("pads"), 2 * len(kernel), minimum=0)
    except EvaluationError as error:
        inference.fail(error.why)
    spatial: list[Dim] = []
    for i, (n, k, s) in enumerate(zip(shape[2:], kernel, strides, strict=True)):
        spatial.append(dim_add(dim_mul(s, dim_add(n, -1)), k - pads[i] - pads[len(kernel) + i]))
    return (*shape[:2], *spatial)


@op.eval(9, 11, 22)
def eval_22(
    x: Array,
    indices: Array,
    output_shape: Array | None = None,
    *,
    context: RunContext,
    kernel_shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
) -> Array:
    """x, indices: [N, C, *spatial], output_shape: [rank]; with it, `pads` are ignored."""
    rank = len(kernel_shape)
    if x.ndim != rank + 2 or indices.shape != x.shape:
        what = f"{list(x.shape)} and {list(indices.shape)}"
        raise EvaluationError(
            f"x and indices must have the same shape, of rank {rank + 2} with this kernel_shape; got {what}"
        )
    pads = values_per_axis("pads", pads if output_shape is None else None, 2 * rank, minimum=0)
    strides = values_per_axis("strides", strides, rank, minimum=1)
    spatial = tuple(
        (n - 1) * s + k - pads[i] - pads[rank + i]
        for i, (n, s, k) in enumerate(zip(x.shape[2:], strides, kernel_shape, strict=True))
    )
    inferred = (*x.shape[:2], *spatial)
    final = final_shape(output_shape, inferred)
    shape = tuple(min(a, b) for a, b in zip(inferred, final, strict=True))
    check_result_bytes(context, final, x.dtype, "MaxUnpool result")
    result = scatter_flat(x, indices, shape)
    missing = [(0, b - a) for a, b in zip(shape, final, strict=True)]
    return np.pad(result, missing) if shape != final else result


def final_shape(output_shape: Array | None, inferred: tuple[int, ...]) -> tuple[int, ...]:
    final = inferred if output_shape is None else tuple(int(n) for n in output_shape.reshape(-1))
    if len(final) != len(inferred) or final[:2] != inferred[:2] or min(final) < 0:
        expected = f"[{inferred[0]}, {inferred[1]}, ...] of rank {len(inferred)}"
        raise EvaluationError(f"the result must have shape {expected}; got {list(final)}")
    return final


def scatter_flat(x: Array, indices: Array, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with x at the flat `indices`; raises EvaluationError for indices out of range."""
    result = np.zeros(math.prod(shape), x.dtype)
    if indices.size and (indices.min() < 0 or indices.max() >= result.size):
        raise EvaluationError(
            f"indices must lie in [0, {result.size}); got {indices.min()} to {indices.max()}"
        )
    result[indices.reshape(-1)] = x.reshape(-1)
    return result.reshape(shape)
