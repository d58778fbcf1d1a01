"""Running sums and products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.rows.running import Run, running
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.math.cumulative import shifted

EVERY = [Run(p, e, r) for p in (False, True) for e in (False, True) for r in (False, True)]


def expected(array: Array, axis: int, run: Run) -> Array:
    """As NumPy runs in the type of the array, one element after the other."""
    forwards = np.flip(array, axis) if run.reverse else array
    found = (np.cumprod if run.product else np.cumsum)(forwards, axis, dtype=array.dtype)
    if run.exclusive:
        found = shifted(found, axis, 1 if run.product else 0)
    return np.flip(found, axis) if run.reverse else found


@pytest.mark.parametrize("run", EVERY, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_any_axis_of_any_type(dtype: Any, run: Run) -> None:
    for shape in ((3, 5, 7), (2, 33, 40), (1, 1, 300), (2, 0, 3), (0, 2, 2)):
        array = np.random.default_rng(9).normal(0, 2, shape).astype(dtype)
        for axis in range(3):
            found = np.full_like(array, 7)
            (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
            step = running(x, y, axis, run)
            assert step is not None
            guarded.run(step, {from_: array, to: found})
            np.testing.assert_array_equal(found, expected(array, axis, run))


def test_sizes_may_be_known_late_and_y_be_x() -> None:
    n = symbol("N")
    for size in (0, 1, 20):
        for axis in (0, 1):
            array = np.random.default_rng(10).normal(0, 2, (3, size)).astype(np.float32)
            wanted = expected(array, axis, Run(reverse=True))
            x, storage = guarded.tensor(array)
            late = Tensor(x.dtype, (3, n), (n, 1), storage)
            step = running(late, late, axis, Run(reverse=True))
            assert step is not None
            guarded.run(step, {storage: array}, {"N": size})
            np.testing.assert_array_equal(array, wanted)
