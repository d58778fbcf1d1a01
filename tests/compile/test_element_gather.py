"""Gathers of single elements from a vector, a vector of indices at a time, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.kernels.data_movement.gather import gather_elements_step, gather_step
from sardonyx._src.compile.program import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

VECTOR_KEY = "gather_elements_"


def gather(x: Array, indices: Array, lanes: int) -> tuple[Array, int]:
    """x[indices], and the status; every element must be written."""
    result, status = np.full(indices.shape, 77, x.dtype), np.zeros(1, np.int64)
    arrays, tensors = {}, []
    for array in (x, indices, result, status):
        tensor, buffer = guarded.tensor(array)
        arrays[buffer] = array
        tensors.append(tensor)
    table, positions, y, state = tensors
    step = gather_step(table, positions, y, 0, state)
    assert step.kernel.key.startswith(VECTOR_KEY)
    guarded.run(with_lanes(step, lanes), arrays)
    return result, int(status[0])


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("last", [0, 3, 16, 1040, 2001])
def test_status_is_of_the_last_index_out_of_bounds(last: int, lanes: int) -> None:
    x = np.arange(1, 6, dtype=np.float32)
    indices = np.random.default_rng(4).integers(-5, 5, 2002)
    indices[: last + 1 : 3], indices[last] = 5, -6
    is_valid = (indices >= -5) & (indices < 5)
    result, status = gather(x, indices, lanes)
    np.testing.assert_array_equal(result, np.where(is_valid, x[np.where(is_valid, indices, 0)], 0))
    assert status == last + 1


def test_nothing_is_read_from_an_empty_vector() -> None:
    result, status = gather(np.zeros(0, np.float32), np.array([0, -1, 2**40]), 8)
    assert result.tolist() == [0, 0, 0] and status == 3


def test_other_gathers_are_indexed_copies() -> None:
    def key(x: TensorView, positions: TensorView, axis: int) -> str:
        step = gather_elements_step if positions.rank == x.rank else gather_step
        y = guarded.tensor(np.zeros((4, 4), np.float32))[0]
        return step(x, positions, y, axis, positions).kernel.key

    matrix, indices = (
        guarded.tensor(a)[0] for a in (np.zeros((4, 4), np.float32), np.zeros((4, 4), np.int64))
    )
    assert matrix.dtype is DataType.FLOAT
    assert not key(matrix, indices, 1).startswith(VECTOR_KEY)
    assert not key(matrix, guarded.tensor(np.zeros(4, np.int64))[0], 1).startswith(VECTOR_KEY)
