"""Indices as data: counting from the back, bounds, and the NumPy indices that gathering and scattering share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array


def from_front(indices: Array, size: int, what: str = "indices") -> Array:
    """Indices counted from the front, int64; raises EvaluationError for one outside of [-size, size)."""
    counted = indices.astype(np.int64)
    wrong = (counted < -size) | (counted >= size)
    if wrong.any():
        raise EvaluationError(f"{what} hold {counted[wrong].flat[0]}, where an axis has {size} entries")
    return np.where(counted < 0, counted + size, counted)


def along(indices: Array, axis: int) -> tuple[Array, ...]:
    """One index for each axis: at [i, j, k] it leads to [i, indices[i, j, k], k] when `axis` is 1."""
    grid = np.indices(indices.shape, sparse=True)
    return (*grid[:axis], indices, *grid[axis + 1 :])


def row_major(indices: Array, sizes: Sequence[int], what: str = "indices") -> Array:
    """The position that each tuple [..., k] has in k axes of these sizes, flattened; bounds as in `from_front`."""
    flat = np.zeros(indices.shape[:-1], np.int64)
    for axis, size in enumerate(sizes):
        flat = flat * size + from_front(indices[..., axis], size, what)
    return flat
