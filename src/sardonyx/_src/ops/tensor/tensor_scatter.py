"""TensorScatter: an update written into a cache of keys or values, at its own place in each sample of the batch.

Spec: ai.onnx TensorScatter-24.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axis_of, merge_dims, merge_shapes

op = Operator("TensorScatter")


@op.infer(24)
def infer(t: Inference) -> Result:
    cache, update = t.tensor(0), t.shape(1)
    if cache is None or cache.shape is None or update is None:
        return cache
    if len(cache.shape) != len(update):
        t.fail(f"past_cache has rank {len(cache.shape)} and update rank {len(update)}")
    axis = t.axis(t.integer("axis"), len(update))
    if axis == 0:
        t.fail("axis 0 is the batch, not a sequence")
    size, length, starts = cache.shape[axis], update[axis], t.shape(2)
    if isinstance(size, int) and isinstance(length, int) and length > size:
        t.fail(f"update has {length} entries along axis {axis}, where the cache has {size}")
    if starts is not None:
        merge_shapes(t, [starts, cache.shape[:1]], "write_indices and the batch")
    pairs = enumerate(zip(cache.shape, update, strict=True))
    return TensorType(
        cache.dtype, tuple(n if i == axis else merge_dims(t, [n, m], "sizes") for i, (n, m) in pairs)
    )


@op.convert((24, 0))
def by_scatter_elements(c: Change) -> Converted:
    """An index for every entry of the update."""
    rank, axis, update = c.rank(0), c.axis(), c.input(1)
    sizes = c.Shape(update)
    length = c.Gather(sizes, c.integers(axis))
    steps = c.Range(c.integers(0), length, c.integers(1))
    places = c.Reshape(steps, c.integers([-1] + [1] * (rank - axis - 1)))
    if c.optional(2) is not None:
        starts = c.Cast(c.input(2), to=DataType.INT64)
        places = c.Add(places, c.Reshape(starts, c.integers([-1] + [1] * (rank - 1))))
    if c.t.attributes["mode"] == "circular":
        places = c.Mod(places, c.Gather(c.Shape(c.input(0)), c.integers(axis)))
    return c.ScatterElements(c.input(0), c.Expand(places, sizes), update, axis=axis)


@op.eval(24)
def evaluate(
    past_cache: Array, update: Array, write_indices: Array | None = None, *, axis: int, mode: str
) -> Array:
    """past_cache, result: [B, ..., n, ...]; update: [B, ..., m, ...] with m <= n; write_indices: [B] int64, 0 by default.

    Mode linear writes from each index on, circular goes on at 0 behind the end.
    """
    axis = axis_of(axis, past_cache.ndim)
    places = written(past_cache.shape, update.shape, write_indices, axis, mode)
    result = past_cache.copy()
    np.moveaxis(result, axis, 1)[np.arange(len(places))[:, None], places] = np.moveaxis(update, axis, 1)
    return result


def written(
    cache: tuple[int, ...], update: tuple[int, ...], write_indices: Array | None, axis: int, mode: str
) -> Array:
    """[B, m]: where in the sequence each entry of the update goes; raises EvaluationError where it cannot."""
    if axis == 0 or cache[:axis] + cache[axis + 1 :] != update[:axis] + update[axis + 1 :]:
        what = f"update of shape {list(update)} and past_cache of shape {list(cache)} may differ in axis {axis} alone"
        raise EvaluationError(f"{what}, which may not be 0")
    size, length = cache[axis], update[axis]
    starts = np.zeros(cache[0], np.int64) if write_indices is None else write_indices
    if starts.shape != cache[:1] or length > size:
        raise EvaluationError(
            f"{starts.size} write_indices and {length} entries, where the batch has {cache[0]} and the cache {size}"
        )
    places = starts[:, None] + np.arange(length)
    if mode == "circular":
        return places % max(size, 1)
    if mode != "linear":
        raise EvaluationError(f"mode is {mode!r}, where linear or circular is wanted")
    if ((places < 0) | (places >= size)).any():
        raise EvaluationError(
            f"write_indices {starts.tolist()} and {length} entries reach out of a cache of {size}"
        )
    return places
