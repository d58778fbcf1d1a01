"""TensorScatter: writes an update into a key or value cache, at a separate position for each sample of the batch.

Spec: ai.onnx TensorScatter-24.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import axis_of, merge_dims, merge_shapes
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("TensorScatter", moves_data=True, enum_attributes={"mode": enum_values("linear", "circular")})


@op.infer(24)
def infer(inference: Inference) -> Result:
    cache, update = inference.tensor(0), inference.shape(1)
    if cache is None or cache.shape is None or update is None:
        return cache
    if len(cache.shape) != len(update):
        inference.fail(
            f"past_cache and update must have the same rank; got {len(cache.shape)} and {len(update)}"
        )
    axis = inference.axis(inference.integer("axis"), len(update))
    if axis == 0:
        inference.fail("axis must not be 0, the batch")
    size, length, starts = cache.shape[axis], update[axis], inference.shape(2)
    if isinstance(size, int) and isinstance(length, int) and length > size:
        inference.fail(
            f"update must have at most {size} entries along axis {axis}, as the cache; got {length}"
        )
    if starts is not None:
        merge_shapes(inference, [starts, cache.shape[:1]], "write_indices and the batch")
    pairs = enumerate(zip(cache.shape, update, strict=True))
    return TensorType(
        cache.dtype, tuple(n if i == axis else merge_dims(inference, [n, m], "sizes") for i, (n, m) in pairs)
    )


@op.convert((24, 0))
def replace_by_scatter_elements(adapter: Adapter) -> AdaptedNode:
    """ScatterElements, with an index that other nodes compute for every element of the update."""
    rank, axis, update = adapter.rank(0), adapter.axis(), adapter.input(1)
    sizes = adapter.Shape(update)
    length = adapter.Gather(sizes, adapter.integers(axis))
    steps = adapter.Range(adapter.integers(0), length, adapter.integers(1))
    positions = adapter.Reshape(steps, adapter.integers([-1] + [1] * (rank - axis - 1)))
    if adapter.optional(2) is not None:
        starts = adapter.Cast(adapter.input(2), to=DataType.INT64)
        positions = adapter.Add(positions, adapter.Reshape(starts, adapter.integers([-1] + [1] * (rank - 1))))
    if adapter.inference.attributes["mode"] == "circular":
        positions = adapter.Mod(
            positions, adapter.Gather(adapter.Shape(adapter.input(0)), adapter.integers(axis))
        )
    return adapter.ScatterElements(adapter.input(0), adapter.Expand(positions, sizes), update, axis=axis)


@op.eval(24)
def evaluate(
    past_cache: Array, update: Array, write_indices: Array | None = None, *, axis: int, mode: str
) -> Array:
    """past_cache, result: [B, ..., n, ...]; update: [B, ..., m, ...] with m <= n; write_indices: [B] int64, 0 by default.

    The update of a sample is written from its index on; mode circular wraps around at the end of the cache.
    """
    axis = axis_of(axis, past_cache.ndim)
    positions = write_positions(past_cache.shape, update.shape, write_indices, axis, mode)
    result = past_cache.copy()
    np.moveaxis(result, axis, 1)[np.arange(len(positions))[:, None], positions] = np.moveaxis(update, axis, 1)
    return result


def write_positions(
    cache: tuple[int, ...], update: tuple[int, ...], write_indices: Array | None, axis: int, mode: str
) -> Array:
    """[B, m]: the sequence position of each entry of the update; raises EvaluationError for inconsistent shapes."""
    if axis == 0 or cache[:axis] + cache[axis + 1 :] != update[:axis] + update[axis + 1 :]:
        what = f"update and past_cache must agree except in axis {axis}, not 0; got {list(update)} and {list(cache)}"
        raise EvaluationError(what)
    size, length = cache[axis], update[axis]
    starts = np.zeros(cache[0], np.int64) if write_indices is None else write_indices
    if starts.shape != cache[:1] or length > size:
        raise EvaluationError(
            f"write_indices must have {cache[0]} entries and update at most {size}; got {starts.size} and {length}"
        )
    if mode == "circular":
        return ((starts % max(size, 1))[:, None] + np.arange(length)) % max(
            size, 1
        )  # without the first remainder, the sum could overflow
    if mode != "linear":
        raise EvaluationError(f"mode must be linear or circular; got {mode!r}")
    if ((starts < 0) | (starts > size - length)).any():
        raise EvaluationError(
            f"write_indices plus {length} entries must fit a cache of {size}; got {starts.tolist()}"
        )
    return starts[:, None] + np.arange(length)
