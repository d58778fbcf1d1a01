"""Tile: repeats a tensor along its axes.

Spec: ai.onnx Tile-1, -6, -13.  Version 1 repeats `tiles` times along `axis`, both scalars of the type of the data; 6
has a number of repeats for each axis; 13 adds an element type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Value
from sardonyx._src.ir.dims import Dim, dim_mul
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import axis_of, element_count
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS, elements, numbers, restore_element_type
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

BEYOND_ANY_AXIS = (
    1 << 62
)  # an index that Gather rejects; adding a small negative number to it does not make it valid
op = Operator("Tile", moves_data=True, sizes_input=1, parameters=(1,))


@op.eval(1)
def eval_1(input: Array, tiles: Array, axis: Array, *, context: RunContext) -> Array:
    """tiles, axis: one element each."""
    repeats = [1] * input.ndim
    repeats[axis_of(int(axis.reshape(())), input.ndim)] = int(tiles.reshape(()))
    return repeat_axes(input, repeats, context)


@op.eval(6, 13)
def evaluate(input: Array, repeats: Array, *, context: RunContext) -> Array:
    """repeats: [rank of input] int64; the size of the result along axis i is input.shape[i] * repeats[i]."""
    if repeats.shape != (input.ndim,):
        what = f"repeats must have shape [{input.ndim}], one number per axis; got {list(repeats.shape)}"
        raise EvaluationError(what)
    return repeat_axes(input, [int(n) for n in repeats], context)


def repeat_axes(input: Array, repeats: Sequence[int], context: RunContext) -> Array:
    if min(repeats, default=0) < 0:
        raise EvaluationError(f"repeats must be >= 0; got {list(repeats)}")
    check_result_bytes(
        context, [n * k for n, k in zip(input.shape, repeats, strict=True)], input.dtype, "Tile result"
    )
    return np.tile(input, repeats)


@op.convert((1, 6))
def to_6(adapter: Adapter) -> AdaptedNode:
    """State or compute `repeats` for all axes: the number of tiles for the repeated axis, 1 for the others."""
    rank, axis, tiles = adapter.rank(0), adapter.inference.constant(2), adapter.inference.constant(1)
    if axis is not None and tiles is not None:
        along, count = adapter.inference.axis(int(axis.reshape(())), rank), int(tiles.reshape(()))
        return adapter.same(
            [adapter.input(0), adapter.integers([count if i == along else 1 for i in range(rank)])]
        )
    tile_count, repeated_axis = (
        adapter.Reshape(adapter.Cast(adapter.input(i), to=DataType.INT64), adapter.integers([1]))
        for i in (1, 2)
    )
    front_axis = valid_axis(adapter, repeated_axis, rank)
    is_axis = adapter.Equal(adapter.integers(range(rank)), front_axis, broadcast=1)
    extra = adapter.Sub(tile_count, adapter.integers([1]))
    repeats = adapter.Add(
        adapter.Mul(adapter.Cast(is_axis, to=DataType.INT64), extra, broadcast=1),
        adapter.integers([1]),
        broadcast=1,
    )
    return adapter.same([adapter.input(0), repeats])


def valid_axis(adapter: Adapter, axis: Value, rank: int) -> Value:
    """An axis in [-rank, rank) counted from the front: [1] int64, as the axis.

    In a run, the Gather fails for any other axis; BEYOND_ANY_AXIS is added to an axis below -rank, since Gather would
    accept some negative indices.
    """
    shifted = adapter.Add(axis, adapter.integers([rank]))
    is_below = adapter.Less(
        adapter.Cast(shifted, to=DataType.FLOAT), adapter.constant(0, DataType.FLOAT), broadcast=1
    )
    beyond = adapter.Mul(adapter.Cast(is_below, to=DataType.INT64), adapter.integers([BEYOND_ANY_AXIS]))
    return adapter.Gather(adapter.integers([*range(rank), *range(rank)]), adapter.Add(shifted, beyond))


@op.convert((6, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    """Use one node for each repeated axis."""
    repeats = adapter.inference.constant(1)
    if repeats is None:
        adapter.refuse("repeats must be constant for Tile-1")
    dtype = adapter.dtype(0)
    result: Value = adapter.input(0)
    for axis, count in enumerate(repeats.reshape(-1).tolist()):
        with np.errstate(over="ignore"):
            converted = float(np.float64(count).astype(dtype.numpy))
        if converted != count:
            adapter.refuse(f"repeats must be representable as {dtype.text} for Tile-1; got {count}")
        if count != 1:
            result = adapter.Tile(result, adapter.constant(count, dtype), adapter.constant(axis, dtype))
    return result


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 6, 13)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    if data is None:
        return None
    repeats = repeats_1(inference) if inference.version == 1 else inference.dims(1)
    if data.shape is None:
        return TensorType(data.dtype, None if repeats is None else (None,) * len(repeats))
    if repeats is None:
        return TensorType(data.dtype, (None,) * len(data.shape))
    if len(repeats) != len(data.shape):
        inference.fail(f"repeats must have {len(data.shape)} entries, one per axis; got {len(repeats)}")
    return TensorType(data.dtype, tuple(dim_mul(n, k) for n, k in zip(data.shape, repeats, strict=True)))


def repeats_1(inference: Inference) -> Sequence[Dim] | None:
    """The repeats of all axes in version 1, from the inputs `tiles` and `axis`; None if the axis is not known."""
    rank, tiles, axis = inference.rank(0), inference.constant(1), inference.constant(2)
    if rank is None or axis is None:
        return None
    along = inference.axis(int(axis.reshape(())), rank)
    count = None if tiles is None else int(tiles.reshape(()))
    return [count if i == along else 1 for i in range(rank)]


@op.value(1, 6, 13)
@restore_element_type
def value(inference: Inference) -> Known | None:
    known = elements(inference, 0)
    repeats = repeats_1(inference) if inference.version == 1 else inference.dims(1)
    counts = None if repeats is None else numbers(repeats)
    if known is None or counts is None or len(counts) != known.ndim or min(counts, default=0) < 0:
        return None
    total = element_count([known.size, *counts])
    return np.tile(known, counts) if isinstance(total, int) and total <= MAX_KNOWN_ELEMENTS else None
