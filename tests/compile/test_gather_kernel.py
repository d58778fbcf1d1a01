"""Kernels of gathers, scatters and OneHot with run-time indices, against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.kernels.data_movement.gather import (
    gather_step,
    scatter_elements_steps,
    scatter_nd_steps,
)
from sardonyx._src.compile.program import Buffer, Step, TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol


class Memory:
    """Arrays by the buffers of their tensors, and a status tensor."""

    def __init__(self) -> None:
        self.arrays: dict[Buffer, Array] = {}
        self.status_value = np.zeros(1, np.int64)
        self.status = self.add(self.status_value)

    def add(self, array: Array) -> TensorView:
        tensor, buffer = guarded.tensor(array)
        self.arrays[buffer] = array
        return tensor

    def run(self, steps: Step | Sequence[Step], sizes: dict[str, int] | None = None) -> int:
        """Runs steps; returns the status: 1 + the offset of an index out of bounds, or 0."""
        guarded.run(steps, self.arrays, sizes)
        return int(self.status_value[0])


def random_values(shape: Sequence[int], dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def random_indices(size: int, shape: Sequence[int], dtype: Any = np.int64) -> Array:
    return np.random.default_rng(1).integers(-size, size, shape).astype(dtype)


@pytest.mark.parametrize("bad_index", [5, -6, 2**40, -(2**62)])
def test_index_out_of_bounds_yields_zero_and_sets_status(bad_index: int) -> None:
    for axis, shape in ((0, (5, 300)), (1, (7, 5))):
        array, memory = random_values(shape) + 1, Memory()
        indices = np.array([1, bad_index, 0, bad_index, 3], np.int64)
        valid_indices = np.array([1, 0, 0, 0, 3])
        reference = array.take(valid_indices, axis)
        (reference if axis == 0 else reference.T)[[1, 3]] = 0
        result = np.full(reference.shape, -1, np.float32)
        x, index_tensor, y = memory.add(array), memory.add(indices), memory.add(result)
        assert memory.run(gather_step(x, index_tensor, y, axis, memory.status)) == 4
        np.testing.assert_array_equal(result, reference)


def test_every_index_into_an_empty_axis_is_out_of_bounds() -> None:
    memory = Memory()
    result = np.full((3, 2), -1, np.float32)
    x, y = memory.add(np.zeros((0, 2), np.float32)), memory.add(result)
    index_tensor = memory.add(np.zeros(3, np.int64))
    assert memory.run(gather_step(x, index_tensor, y, 0, memory.status)) == 3
    assert (result == 0).all()


def test_symbolic_number_of_indices() -> None:
    memory, n = Memory(), symbol("N")
    table, indices = random_values((50, 96)), random_indices(50, (2, 20), np.int32)
    result = np.zeros((2, 20, 96), np.float32)
    x, index_tensor, y = memory.add(table), memory.add(indices), memory.add(result)
    symbolic_indices = TensorView(index_tensor.dtype, (2, n), (n, 1), index_tensor.buffer)
    symbolic_y = TensorView(y.dtype, (2, n, 96), (n * 96, 96, 1), y.buffer)
    assert memory.run(gather_step(x, symbolic_indices, symbolic_y, 0, memory.status), {"N": 20}) == 0
    np.testing.assert_array_equal(result, table[indices])


def test_last_of_several_updates_wins() -> None:
    memory, array = Memory(), random_values((4, 5))
    indices, updates = np.array([[0, 0], [1, -3], [7, 2]]), -random_values((3, 2)) - 1
    result = np.zeros_like(array)
    x, index_tensor, update_tensor, y = (memory.add(a) for a in (array, indices, updates, result))
    assert memory.run(scatter_elements_steps(x, index_tensor, update_tensor, y, 1, memory.status)) == 5
    reference = array.copy()
    reference[0, 0], reference[2, 2], reference[1, [1, 2]] = updates[0, 1], updates[2, 1], updates[1]
    np.testing.assert_array_equal(result, reference)


def test_update_out_of_bounds_is_skipped() -> None:
    memory, array = Memory(), random_values((4, 40))
    updates, result = -random_values((3, 40)) - 1, np.zeros_like(array)
    x, index_tensor, update_tensor, y = (
        memory.add(a) for a in (array, np.array([[1], [9], [-1]]), updates, result)
    )
    assert memory.run(scatter_nd_steps(x, index_tensor, update_tensor, y, memory.status)) == 2
    np.testing.assert_array_equal(result[[1, 3]], updates[[0, 2]])
    np.testing.assert_array_equal(result[[0, 2]], array[[0, 2]])
