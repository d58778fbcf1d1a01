"""Tile: a tensor repeated whole.

Spec: ai.onnx Tile-1, -6, -13.  Version 1 repeats `tiles` times along `axis`, both scalars of the type of the data; 6
has a number of repeats for each axis; 13 adds an element type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_mul
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import axis_of, product
from sardonyx._src.ops.tensor.elements import LIMIT, elements, numbers, settled

op = Operator("Tile")


@op.eval(1)
def eval_1(input: Array, tiles: Array, axis: Array, *, call: Call) -> Array:
    """tiles, axis: one element each."""
    repeats = [1] * input.ndim
    repeats[axis_of(int(axis.reshape(())), input.ndim)] = int(tiles.reshape(()))
    return tiled(input, repeats, call)


@op.eval(6, 13)
def evaluate(input: Array, repeats: Array, *, call: Call) -> Array:
    """repeats: [rank of input] int64; result: of the size input.shape[i] * repeats[i] along axis i."""
    if repeats.shape != (input.ndim,):
        what = f"repeats has shape {list(repeats.shape)}, where one number for each axis of {list(input.shape)} is wanted"
        raise EvaluationError(what)
    return tiled(input, [int(n) for n in repeats], call)


def tiled(input: Array, repeats: Sequence[int], call: Call) -> Array:
    if min(repeats, default=0) < 0:
        raise EvaluationError(f"repeats are {list(repeats)}, where none may be negative")
    claim(call, [n * k for n, k in zip(input.shape, repeats, strict=True)], input.dtype, "Tile result")
    return np.tile(input, repeats)


@op.convert((1, 6))
def to_6(c: Change) -> Converted:
    """One axis repeated is every other repeated once: 1 + (tiles - 1) where a place is the axis."""
    rank, axis, tiles = c.rank(0), c.t.constant(2), c.t.constant(1)
    if axis is not None and tiles is not None:
        along, count = c.t.axis(int(axis.reshape(())), rank), int(tiles.reshape(()))
        return c.same([c.input(0), c.integers([count if i == along else 1 for i in range(rank)])])
    repeated, place = (c.Reshape(c.Cast(c.input(i), to=DataType.INT64), c.integers([1])) for i in (1, 2))
    is_axis = c.Equal(c.integers(range(rank)), place, broadcast=1)
    more = c.Sub(repeated, c.integers([1]))
    repeats = c.Add(
        c.Mul(c.Cast(is_axis, to=DataType.INT64), more, broadcast=1), c.integers([1]), broadcast=1
    )
    return c.same([c.input(0), repeats])


@op.convert((6, 1))
def to_1(c: Change) -> Converted:
    """One node for each axis that is repeated."""
    repeats = c.t.constant(1)
    if repeats is None:
        c.refuse("how often each axis is repeated is not constant")
    dtype = c.dtype(0)
    result: Value = c.input(0)
    for axis, count in enumerate(repeats.reshape(-1).tolist()):
        with np.errstate(over="ignore"):
            held = float(np.float64(count).astype(dtype.numpy))
        if held != count:
            c.refuse(f"axis {axis} is repeated {count} times, which {dtype.text} cannot hold")
        if count != 1:
            result = c.Tile(result, c.constant(count, dtype), c.constant(axis, dtype))
    return result


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 6, 13)
def infer(t: Inference) -> Result:
    data = t.tensor(0)
    if data is None:
        return None
    repeats = repeats_1(t) if t.version == 1 else t.dims(1)
    if data.shape is None:
        return TensorType(data.dtype, None if repeats is None else (None,) * len(repeats))
    if repeats is None:
        return TensorType(data.dtype, (None,) * len(data.shape))
    if len(repeats) != len(data.shape):
        t.fail(f"{len(repeats)} repeats are given for rank {len(data.shape)}")
    return TensorType(data.dtype, tuple(dim_mul(n, k) for n, k in zip(data.shape, repeats, strict=True)))


def repeats_1(t: Inference) -> Sequence[Dim] | None:
    rank, tiles, axis = t.rank(0), t.constant(1), t.constant(2)
    if rank is None or axis is None:
        return None
    along = t.axis(int(axis.reshape(())), rank)
    count = None if tiles is None else int(tiles.reshape(()))
    return [count if i == along else 1 for i in range(rank)]


@op.value(1, 6, 13)
@settled
def value(t: Inference) -> Known | None:
    found = elements(t, 0)
    repeats = repeats_1(t) if t.version == 1 else t.dims(1)
    counts = None if repeats is None else numbers(repeats)
    if found is None or counts is None or len(counts) != found.ndim or min(counts, default=0) < 0:
        return None
    total = product([found.size, *counts])
    return np.tile(found, counts) if isinstance(total, int) and total <= LIMIT else None
