"""MaxUnpool: values put back where MaxPool found them, among zeros.

Spec: ai.onnx MaxUnpool-9, -11, -22.  All mean the same; 22 adds bfloat16.  Indices count in the tensor that the
attributes make of x, not larger than output_shape; where output_shape is larger, zeros follow at the end of an axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_add, dim_mul
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.windows import per_axis
from sardonyx._src.ops.shapes import merge_dims, merge_shapes
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("MaxUnpool")
op.convert((22, 11))(widening(NARROW_FLOATS))


@op.infer(9, 11, 22)
def infer(t: Inference) -> Result:
    found = t.tensor(0)
    return found and TensorType(found.dtype, unpooled_dims(t))


def unpooled_dims(t: Inference) -> Shape | None:
    kernel = t.integers("kernel_shape")
    assert kernel is not None, "the signature requires kernel_shape"
    shape = merge_shapes(t, (t.shape(0), t.shape(1)), "x and the indices")
    if shape is not None and len(shape) != len(kernel) + 2:
        t.fail(
            f"x has rank {len(shape)} and kernel_shape {len(kernel)} entries: [N, C] and one axis each are wanted"
        )
    shape = shape or (None,) * (len(kernel) + 2)
    counted = counted_dims(t, shape, kernel)
    return given_dims(t, shape) if t.has(2) else counted


def given_dims(t: Inference, shape: Shape) -> Shape:
    """The dims that output_shape gives."""
    sizes = t.dims(2) or (None,) * len(shape)
    if len(sizes) != len(shape):
        t.fail(f"output_shape has {len(sizes)} entries, {len(shape)} are wanted")
    lead = (merge_dims(t, pair, "x and output_shape") for pair in zip(shape[:2], sizes[:2], strict=True))
    return (*lead, *(t.new_dim() if n is None else n for n in sizes[2:]))


def counted_dims(t: Inference, shape: Shape, kernel: Sequence[int]) -> Shape:
    """The dims that follow from those of x and the attributes."""
    try:
        strides = per_axis("strides", t.integers("strides"), len(kernel), least=1)
        pads = per_axis("pads", t.integers("pads"), 2 * len(kernel), least=0)
    except EvaluationError as error:
        t.fail(error.why)
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
    call: Call,
    kernel_shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
) -> Array:
    """x, indices: [N, C, *spatial], output_shape: [rank], which makes `pads` void."""
    rank = len(kernel_shape)
    if x.ndim != rank + 2 or indices.shape != x.shape:
        what = f"x is {list(x.shape)}, indices {list(indices.shape)}"
        raise EvaluationError(f"{what}: the same shape is wanted, of rank {rank + 2} with this kernel_shape")
    pads = per_axis("pads", pads if output_shape is None else None, 2 * rank, least=0)
    strides = per_axis("strides", strides, rank, least=1)
    spatial = tuple(
        (n - 1) * s + k - pads[i] - pads[rank + i]
        for i, (n, s, k) in enumerate(zip(x.shape[2:], strides, kernel_shape, strict=True))
    )
    inferred = (*x.shape[:2], *spatial)
    final = wanted_shape(output_shape, inferred)
    shape = tuple(min(a, b) for a, b in zip(inferred, final, strict=True))
    claim(call, final, x.dtype, "MaxUnpool result")
    result = scattered(x, indices, shape)
    missing = [(0, b - a) for a, b in zip(shape, final, strict=True)]
    return np.pad(result, missing) if shape != final else result


def wanted_shape(output_shape: Array | None, inferred: tuple[int, ...]) -> tuple[int, ...]:
    final = inferred if output_shape is None else tuple(int(n) for n in output_shape.reshape(-1))
    if len(final) != len(inferred) or final[:2] != inferred[:2] or min(final) < 0:
        wanted = f"[{inferred[0]}, {inferred[1]}, ...] of rank {len(inferred)}"
        raise EvaluationError(f"the result would have shape {list(final)}, {wanted} is wanted")
    return final


def scattered(x: Array, indices: Array, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with x at the linear `indices`."""
    result = np.zeros(math.prod(shape), x.dtype)
    if indices.size and (indices.min() < 0 or indices.max() >= result.size):
        bad = f"{indices.min()} to {indices.max()}"
        raise EvaluationError(
            f"indices reach from {bad}, a tensor of shape {list(shape)} has 0 to {result.size - 1}"
        )
    result[indices.reshape(-1)] = x.reshape(-1)
    return result.reshape(shape)
