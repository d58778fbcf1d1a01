"""Indices as data: counting from the back, bounds, and the NumPy indices that gathering and scattering share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape
from sardonyx._src.ops.change import Change
from sardonyx._src.ops.inference import Inference


def from_front(indices: Array, size: int, what: str = "indices") -> Array:
    """Indices counted from the front, int64; raises EvaluationError for one outside of [-size, size)."""
    counted = indices.astype(np.int64)
    wrong = (counted < -size) | (counted >= size)
    if wrong.any():
        raise EvaluationError(f"{what} hold {counted[wrong].flat[0]}, where an axis has {size} entries")
    return np.where(counted < 0, counted + size, counted)


def check_bounds(t: Inference, indices: Array | None, size: Dim) -> None:
    """Raises InferenceError where indices are known to lie outside of [-size, size)."""
    if isinstance(size, int) and indices is not None and ((indices < -size) | (indices >= size)).any():
        t.fail(f"indices hold values outside of -{size} to {size - 1}")


def check_tuples(t: Inference, indices: Array | None, sizes: Shape) -> None:
    """Raises InferenceError where tuples [..., k] are known to lie outside of k axes of these sizes."""
    if indices is not None:
        for axis, size in enumerate(sizes):
            check_bounds(t, indices[..., axis], size)


def non_negative(c: Change, i: int, axis: int) -> Value:
    """Input i, indices into an axis of input 0, counted from the front: operator sets before 11 know no others."""
    indices, known = c.input(i), c.t.constant(i)
    if known is not None and (known >= 0).all():
        return indices
    dtype = c.dtype(i)
    sizes = c.Cast(c.Shape(c.input(0)), to=dtype)
    size = c.Squeeze(c.Slice(sizes, c.integers([axis]), c.integers([axis + 1])), axes=[0])
    return c.Where(c.Less(indices, c.constant(0, dtype)), c.Add(indices, size), indices)


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
