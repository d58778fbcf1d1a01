"""OneHot: for each index, a line of `off` values with an `on` value at that index.

Spec: ai.onnx OneHot-9, -11, -28.  Valid indices are [0, depth) in 9, [-depth, depth) from 11 on; any other index gives a
line of `off` values.  11 specifies a negative `axis`, which is supported here in all versions; 28 adds an element type.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import axis_of, check_one_element
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator("OneHot", moves_data=True, parameters=(1, 2))


@op.infer(9, 11, 28)
def infer(inference: Inference) -> Result:
    values, shape = inference.tensor(2), inference.shape(0)
    check_one_element(inference, 1, "depth")
    if values is None:
        return None
    if shape is None:
        return TensorType(values.dtype)
    if values.shape is not None and not can_be_shape(values.shape, (2,)):
        inference.fail(f"values must be two elements, off and on; got {values}")
    axis = inference.axis(inference.integer("axis"), len(shape) + 1)
    return TensorType(values.dtype, (*shape[:axis], depth_dim(inference), *shape[axis:]))


def can_be_shape(shape: Shape, expected: tuple[int, ...]) -> bool:
    """Whether a partially known shape can be the expected one."""
    return len(shape) == len(expected) and all(
        n == m for n, m in zip(shape, expected, strict=True) if isinstance(n, int)
    )


def depth_dim(inference: Inference) -> Dim:
    """The depth, as far as inference knows it."""
    dims = inference.dims(1)
    depth = dims[0] if dims is not None and len(dims) == 1 else None
    if isinstance(depth, int) and depth < 0:
        inference.fail(f"depth must be >= 0; got {depth}")
    return depth


@op.eval(9, 11, 28)
def evaluate(indices: Array, depth: Array, values: Array, *, axis: int, context: RunContext) -> Array:
    """indices: any shape; depth: one element; values: [off, on]; result: a new axis of size `depth` at `axis`.

    Floating-point indices and depths are truncated to integers.
    """
    if depth.size != 1 or values.shape != (2,):
        what = f"depth must have one element and values shape [2]; got {depth.size} and {list(values.shape)}"
        raise EvaluationError(what)
    count = int(depth.reshape(()))
    if count < 0:
        raise EvaluationError(f"depth must be >= 0; got {count}")
    axis = axis_of(axis, indices.ndim + 1)
    shape = (*indices.shape[:axis], count, *indices.shape[axis:])
    check_result_bytes(context, shape, values.dtype, "OneHot result")
    positions = normalize_indices(indices, count, negative=context.version >= 11)
    line = np.arange(count).reshape(-1, *[1] * (indices.ndim - axis))
    return np.where(np.expand_dims(positions, axis) == line, values[1:], values[:1])


op.convert((11, 28), (28, 11))(keep)


@op.convert((9, 11))
def to_11(adapter: Adapter) -> AdaptedNode:
    """Replace negative indices, which are invalid in 9 but valid from 11 on, by `depth`, which is invalid in both."""
    indices = adapter.inference.constant(0)
    if (indices is not None and (indices >= 0).all()) or adapter.dtype(0).numpy.kind == "u":
        return adapter.same()
    wide = (
        DataType.INT64 if adapter.dtype(0).is_integer else DataType.DOUBLE
    )  # unlike other types, holds every depth
    positions, depth = (
        adapter.Cast(adapter.input(0), to=wide),
        adapter.Cast(adapter.Reshape(adapter.input(1), adapter.integers([])), to=wide),
    )
    counts_from_front = adapter.Greater(
        positions, adapter.constant(-1, wide)
    )  # values above -1 are truncated to 0
    return adapter.same([adapter.Where(counts_from_front, positions, depth), *adapter.node.inputs[1:]])


@op.convert((11, 9))
def to_9(adapter: Adapter) -> AdaptedNode:
    indices = adapter.inference.constant(0)
    if not ((indices is not None and (indices >= 0).all()) or adapter.dtype(0).numpy.kind == "u"):
        adapter.refuse("indices must be known to be >= 0 for OneHot-9")
    return with_front_axis(adapter)


def with_front_axis(adapter: Adapter) -> AdaptedNode:
    """Make the axis non-negative; -1, the last axis, is the only negative one that 9 supports."""
    axis = adapter.inference.integer("axis")
    return (
        adapter.same() if axis >= -1 else adapter.same(axis=adapter.inference.axis(axis, adapter.rank(0) + 1))
    )


def normalize_indices(indices: Array, count: int, *, negative: bool) -> Array:
    """Each index as a position in [0, count), int64; -1 if out of range."""
    truncated = np.trunc(indices.astype(np.float64)) if indices.dtype.kind == "f" else indices
    in_range = (truncated >= (-count if negative else 0)) & (truncated < count)
    positions = np.where(in_range, truncated, 0).astype(np.int64)
    return np.where(in_range, np.where(positions < 0, positions + count, positions), -1)
