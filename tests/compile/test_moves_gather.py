"""Gathering and scattering by indices that are known at run time alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.moves.gather import (
    gathered,
    gathered_elements,
    gathered_tuples,
    scattered_elements,
    scattered_tuples,
)
from sardonyx._src.compile.moves.one_hot import one_hot
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array


class Memory:
    """Tensors of arrays, the storages that hold them, and a status."""

    def __init__(self) -> None:
        self.arrays: dict[Storage, Array] = {}
        self.word = np.zeros(1, np.int64)
        self.status = self.holding(self.word)

    def holding(self, array: Array) -> Tensor:
        tensor, storage = guarded.tensor(array)
        self.arrays[storage] = array
        return tensor

    def run(self, steps: Step | Sequence[Step] | None, sizes: dict[str, int] | None = None) -> int:
        """What the status says afterwards."""
        assert steps is not None
        guarded.run(steps, self.arrays, sizes)
        return int(self.word[0])


def numbers(shape: Sequence[int], dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def drawn(size: int, shape: Sequence[int], dtype: Any = np.int64) -> Array:
    return np.random.default_rng(1).integers(-size, size, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("places", [(), (7,), (2, 3), (0,)])
@pytest.mark.parametrize("shape", [(6, 5, 4), (3, 1, 1), (2, 9, 33), (1, 4, 0)])
def test_entries_of_any_axis(shape: tuple[int, ...], places: tuple[int, ...], dtype: Any) -> None:
    array = numbers(shape)
    for axis in range(3):
        if shape[axis] == 0:
            continue
        memory, chosen = Memory(), np.asarray(drawn(shape[axis], places, dtype))
        wanted = array.take(chosen, axis)
        found = np.full(wanted.shape, -1, np.float32)
        x, indices, y = memory.holding(array), memory.holding(chosen), memory.holding(found)
        assert memory.run(gathered(x, indices, y, axis, memory.status)) == 0
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.complex128])
def test_elements_of_any_width(dtype: Any) -> None:
    array, memory = numbers((5, 8), dtype), Memory()
    for axis in (0, 1):
        chosen = drawn(5, (6,))
        wanted = array.take(chosen, axis)
        found = np.zeros(wanted.shape, dtype)
        x, indices, y = memory.holding(array), memory.holding(chosen), memory.holding(found)
        assert memory.run(gathered(x, indices, y, axis, memory.status)) == 0
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("wrong", [5, -6, 2**40, -(2**62)])
def test_an_index_outside_reads_nothing_and_is_told(wrong: int) -> None:
    for axis, shape in ((0, (5, 300)), (1, (7, 5))):
        array, memory = numbers(shape) + 1, Memory()
        chosen = np.array([1, wrong, 0, wrong, 3], np.int64)
        safe = np.array([1, 0, 0, 0, 3])
        wanted = array.take(safe, axis)
        (wanted if axis == 0 else wanted.T)[[1, 3]] = 0
        found = np.full(wanted.shape, -1, np.float32)
        x, indices, y = memory.holding(array), memory.holding(chosen), memory.holding(found)
        assert memory.run(gathered(x, indices, y, axis, memory.status)) == 4
        np.testing.assert_array_equal(found, wanted)


def test_nothing_can_be_gathered_from_nothing() -> None:
    memory = Memory()
    found = np.full((3, 2), -1, np.float32)
    x, y = memory.holding(np.zeros((0, 2), np.float32)), memory.holding(found)
    indices = memory.holding(np.zeros(3, np.int64))
    assert memory.run(gathered(x, indices, y, 0, memory.status)) == 3
    assert (found == 0).all()


def test_rows_of_a_table_where_sizes_are_known_late() -> None:
    memory, n = Memory(), symbol("N")
    table, chosen = numbers((50, 96)), drawn(50, (2, 20), np.int32)
    found = np.zeros((2, 20, 96), np.float32)
    x, indices, y = memory.holding(table), memory.holding(chosen), memory.holding(found)
    late = Tensor(indices.dtype, (2, n), (n, 1), indices.storage)
    result = Tensor(y.dtype, (2, n, 96), (n * 96, 96, 1), y.storage)
    assert memory.run(gathered(x, late, result, 0, memory.status), {"N": 20}) == 0
    np.testing.assert_array_equal(found, table[chosen])


def test_elements_by_indices_of_their_own() -> None:
    array = numbers((4, 6, 5))
    for axis in range(3):
        memory, shape = Memory(), [3, 4, 2]
        shape[axis] = 9
        chosen = drawn(array.shape[axis], shape)
        found = np.zeros(shape, np.float32)
        x, indices, y = memory.holding(array), memory.holding(chosen), memory.holding(found)
        assert memory.run(gathered_elements(x, indices, y, axis, memory.status)) == 0
        part = array[tuple(slice(None) if a == axis else slice(n) for a, n in enumerate(shape))]
        np.testing.assert_array_equal(found, np.take_along_axis(part, chosen, axis))


def test_indices_that_are_larger_than_the_data_have_no_kernel() -> None:
    memory = Memory()
    x, y = memory.holding(numbers((2, 3))), memory.holding(numbers((3, 3)))
    assert gathered_elements(x, memory.holding(drawn(3, (3, 3))), y, 1, memory.status) is None


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("depth", [1, 2])
def test_entries_by_tuples(depth: int, batch: int) -> None:
    array, memory = numbers((3, 4, 5, 6)), Memory()
    sizes = np.array(array.shape[batch : batch + depth])
    lead = (3,) if batch else ()
    chosen = np.random.default_rng(2).integers(-sizes, sizes, (*lead, 7, depth))
    first = (np.arange(3)[:, None],) if batch else ()
    wanted = array[(*first, *np.moveaxis(chosen, -1, 0))]
    found = np.zeros(wanted.shape, np.float32)
    x, indices, y = memory.holding(array), memory.holding(chosen), memory.holding(found)
    assert memory.run(gathered_tuples(x, indices, y, batch, memory.status)) == 0
    np.testing.assert_array_equal(found, wanted)


def test_the_last_of_several_updates_counts() -> None:
    memory, array = Memory(), numbers((4, 5))
    chosen, updates = np.array([[0, 0], [1, -3], [7, 2]]), -numbers((3, 2)) - 1
    found = np.zeros_like(array)
    x, indices, more, y = (memory.holding(a) for a in (array, chosen, updates, found))
    assert memory.run(scattered_elements(x, indices, more, y, 1, memory.status)) == 5
    wanted = array.copy()
    wanted[0, 0], wanted[2, 2], wanted[1, [1, 2]] = updates[0, 1], updates[2, 1], updates[1]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_updates_by_tuples(depth: int) -> None:
    memory, array = Memory(), numbers((4, 5, 6))
    sizes = np.array(array.shape[:depth])
    chosen = np.random.default_rng(3).integers(-sizes, sizes, (2, 3, depth))
    updates = -numbers((2, 3, *array.shape[depth:])) - 1
    found, wanted = np.zeros_like(array), array.copy()
    x, indices, more, y = (memory.holding(a) for a in (array, chosen, updates, found))
    assert memory.run(scattered_tuples(x, indices, more, y, memory.status)) == 0
    for place in np.ndindex(2, 3):
        wanted[tuple(chosen[place])] = updates[place]
    np.testing.assert_array_equal(found, wanted)


def test_an_update_outside_is_left_out() -> None:
    memory, array = Memory(), numbers((4, 40))
    updates, found = -numbers((3, 40)) - 1, np.zeros_like(array)
    x, indices, more, y = (memory.holding(a) for a in (array, np.array([[1], [9], [-1]]), updates, found))
    assert memory.run(scattered_tuples(x, indices, more, y, memory.status)) == 2
    np.testing.assert_array_equal(found[[1, 3]], updates[[0, 2]])
    np.testing.assert_array_equal(found[[0, 2]], array[[0, 2]])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_value_where_indices_point_and_another_one_elsewhere(axis: int) -> None:
    memory, chosen = Memory(), np.array([[0, -1, 6], [5, -6, -7]])
    values = np.array([2, 9], np.float32)
    moved = np.moveaxis(np.where(chosen[..., None] % 6 == np.arange(6), 9, 2), -1, axis)
    moved = np.where(np.expand_dims((chosen >= -6) & (chosen < 6), axis), moved, 2)
    found = np.zeros(moved.shape, np.float32)
    indices, pair, y = (memory.holding(a) for a in (chosen, values, found))
    memory.run(one_hot(indices, pair, y, axis, memory.status))
    np.testing.assert_array_equal(found, moved)
