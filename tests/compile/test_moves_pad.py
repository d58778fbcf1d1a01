"""Frames around tensors, and tensors over and over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.moves.fill import broadcast, filled, tiled
from sardonyx._src.compile.moves.pad import Mode, padded
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

Pads = tuple[tuple[int, int], ...]


def numbers(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).integers(1, 100, shape).astype(dtype)


def pad(array: Array, pads: Pads, mode: Mode) -> Array:
    shape = [n + a + b for n, (a, b) in zip(array.shape, pads, strict=True)]
    found = np.full(shape, 77, array.dtype)
    (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
    steps = padded(x, y, [a for a, _ in pads], mode, np.array(5, array.dtype))
    assert steps is not None
    guarded.run(steps, {from_: array, to: found})
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64])
@pytest.mark.parametrize("pads", [((0, 0), (1, 2), (3, 0)), ((2, 1), (0, 0), (0, 9)), ((0, 0),) * 3])
@pytest.mark.parametrize("shape", [(2, 5, 6), (1, 17, 40), (0, 3, 4)])
def test_a_frame_of_one_value(shape: tuple[int, ...], pads: Pads, dtype: Any) -> None:
    array = numbers(shape, dtype)
    np.testing.assert_array_equal(pad(array, pads, "constant"), np.pad(array, pads, constant_values=5))


@pytest.mark.parametrize("pads", [((0, 0), (1, 2), (3, 0)), ((1, 1), (4, 4), (0, 5)), ((0, 0),) * 3])
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_a_frame_that_continues_the_tensor(mode: Mode, pads: Pads) -> None:
    array = numbers((2, 5, 6))
    np.testing.assert_array_equal(pad(array, pads, mode), np.pad(array, pads, mode=mode))


def test_negative_pads_crop() -> None:
    array = numbers((6, 7, 8))
    found = pad(array, ((-1, -2), (-3, 2), (1, -8)), "constant")
    expected = np.pad(array[1:4, 3:], ((0, 0), (0, 2), (1, 0)), constant_values=5)[..., :1]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("mode", "before", "sizes"),
    [("reflect", 5, 5), ("wrap", 6, 5), ("edge", 1, 0), ("reflect", -1, 5), ("reflect", symbol("P"), 5)],
)
def test_what_continues_too_little_has_no_kernel(mode: Mode, before: Any, sizes: int) -> None:
    x, _ = guarded.tensor(np.zeros(sizes, np.float32))
    y = Tensor(x.dtype, (sizes + before,), (1,), x.storage)
    assert padded(x, y, [before], mode, np.zeros((), np.float32)) is None


def test_sizes_may_be_known_late() -> None:
    n = symbol("N")
    for size in (0, 1, 5, 40):
        array = numbers((3, size))
        found = np.zeros((3, size + 3), np.float32)
        (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
        late = Tensor(x.dtype, (3, n), (n, 1), from_), Tensor(y.dtype, (3, n + 3), (n + 3, 1), to)
        steps = padded(*late, [0, 1], "constant", np.array(5, np.float32))
        assert steps is not None
        guarded.run(steps, {from_: array, to: found}, {"N": size})
        np.testing.assert_array_equal(found, np.pad(array, ((0, 0), (1, 2)), constant_values=5))


@pytest.mark.parametrize("repeats", [(1, 1, 1), (2, 1, 3), (1, 4, 2), (3, 0, 1)])
def test_a_tensor_over_and_over(repeats: tuple[int, int, int]) -> None:
    array = numbers((2, 3, 5))
    expected = np.tile(array, repeats)
    found = np.zeros_like(expected)
    (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
    guarded.run(tiled(x, y, repeats), {from_: array, to: found})
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.int16, np.complex128])
def test_one_value_everywhere(dtype: Any) -> None:
    found = np.zeros((3, 50), dtype)
    y, to = guarded.tensor(found)
    guarded.run(filled(y, np.array(7, dtype)), {to: found})
    assert (found == np.array(7, dtype)).all()


def test_a_broadcast_takes_no_copy_until_it_is_written() -> None:
    array, found = numbers((3, 1)), np.zeros((4, 3, 6), np.float32)
    (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
    wide = broadcast(x, (4, 3, 6))
    assert wide is not None and wide.strides == (0, 1, 0)
    guarded.run(copied(wide, y), {from_: array, to: found})
    np.testing.assert_array_equal(found, np.broadcast_to(array, (4, 3, 6)))


def test_dims_that_may_be_one_are_not_broadcast() -> None:
    x, storage = guarded.tensor(numbers((3,)))
    late = Tensor(x.dtype, (symbol("N"),), (1,), storage)
    assert broadcast(late, (5,)) is None
    assert broadcast(late, (2, symbol("N"))) is not None
