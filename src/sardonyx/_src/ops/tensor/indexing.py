"""Index tensors: negative indices, bounds checks, and the NumPy indices shared by gather and scatter operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.version_adapter import Adapter


def from_front(indices: Array, size: int, what: str = "indices") -> Array:
    """The indices as int64, negative ones counted from the front; raises EvaluationError outside [-size, size)."""
    values = indices.astype(np.int64)
    invalid = (values < -size) | (values >= size)
    if invalid.any():
        raise EvaluationError(f"{what} must be in [{-size}, {size}); got {values[invalid].flat[0]}")
    return np.where(values < 0, values + size, values)


def check_bounds(inference: Inference, indices: Array | None, size: Dim) -> None:
    """Raises InferenceError if the indices and the size are known and an index lies outside [-size, size)."""
    if isinstance(size, int) and indices is not None and ((indices < -size) | (indices >= size)).any():
        inference.fail(f"indices must be in [{-size}, {size})")


def check_tuples(inference: Inference, indices: Array | None, sizes: Shape) -> None:
    """Raises InferenceError if an index tuple, of [..., k], is known to lie outside k axes of these sizes."""
    if indices is not None:
        for axis, size in enumerate(sizes):
            check_bounds(inference, indices[..., axis], size)


def non_negative(adapter: Adapter, i: int, axis: int) -> Value:
    """Input i, indices into an axis of input 0, made non-negative: opsets before 11 have no negative indices."""
    indices, known = adapter.input(i), adapter.inference.constant(i)
    if known is not None and (known >= 0).all():
        return indices
    dtype = adapter.dtype(i)
    sizes = adapter.Cast(adapter.Shape(adapter.input(0)), to=dtype)
    size = adapter.Squeeze(
        adapter.Slice(sizes, adapter.integers([axis]), adapter.integers([axis + 1])), axes=[0]
    )
    return adapter.Where(
        adapter.Less(indices, adapter.constant(0, dtype)), adapter.Add(indices, size), indices
    )


def along(indices: Array, axis: int) -> tuple[Array, ...]:
    """One index array per axis, for NumPy indexing: with `axis` 1, entry [i, j, k] selects [i, indices[i, j, k], k]."""
    grid = np.indices(indices.shape, sparse=True)
    return (*grid[:axis], indices, *grid[axis + 1 :])


def row_major(indices: Array, sizes: Sequence[int], what: str = "indices") -> Array:
    """The row-major flat index of each tuple [..., k] into k axes of these sizes; bounds as in `from_front`."""
    flat = np.zeros(indices.shape[:-1], np.int64)
    for axis, size in enumerate(sizes):
        flat = flat * size + from_front(indices[..., axis], size, what)
    return flat
