"""Where along an axis the greatest or the least element is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.rows.arg import Ends, places_of_extremes
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.math.arg_reductions import located

EVERY = [Ends(greatest, last) for greatest in (True, False) for last in (True, False)]


def run(array: Array, axis: int, ends: Ends) -> Array:
    shape = [1 if d == axis else n for d, n in enumerate(array.shape)]
    places = np.full(shape, -1, np.int64)
    (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(places)
    step = places_of_extremes(x, y, axis, ends)
    assert step is not None
    guarded.run(step, {from_: array, to: places})
    return places.squeeze(axis)


def expected(array: Array, axis: int, ends: Ends) -> Array:
    return located(array, axis, np.argmax if ends.greatest else np.argmin, ends.last)


def drawn(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    """Few different numbers, so that many are equal."""
    return np.random.default_rng(8).integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("ends", EVERY, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_any_axis_of_any_type(dtype: Any, ends: Ends) -> None:
    for shape in ((3, 5, 7), (2, 33, 40), (1, 1, 300), (4, 2, 1)):
        array = drawn(shape, dtype)
        for axis in range(3):
            np.testing.assert_array_equal(run(array, axis, ends), expected(array, axis, ends))


@pytest.mark.parametrize("ends", EVERY, ids=str)
def test_nan_is_found_first_and_infinities_are_numbers(ends: Ends) -> None:
    array = drawn((7, 70))
    array[1, [3, 50]], array[2], array[3] = np.nan, np.inf, -np.inf
    array[4, 60], array[4, 5], array[5, 9:20], array[6] = np.inf, -np.inf, np.nan, np.nan
    for axis in (0, 1):
        np.testing.assert_array_equal(run(array, axis, ends), expected(array, axis, ends))


@pytest.mark.parametrize("ends", EVERY, ids=str)
def test_the_ends_of_integers_are_numbers_too(ends: Ends) -> None:
    for extreme in (np.iinfo(np.int64).min, np.iinfo(np.int64).max):
        array = np.full((3, 20), extreme, np.int64)
        np.testing.assert_array_equal(run(array, 1, ends), expected(array, 1, ends))


def test_elements_may_lie_apart_and_the_axis_be_gone() -> None:
    array, places = drawn((20, 30)), np.zeros(10, np.int64)
    (whole, from_), (y, to) = guarded.tensor(array), guarded.tensor(places)
    step = places_of_extremes(Tensor(whole.dtype, (10, 15), (60, 2), from_, 31), y, 1, Ends(True))
    assert step is not None
    guarded.run(step, {from_: array, to: places})
    np.testing.assert_array_equal(places, array[1::2, 1::2].argmax(1))


def test_sizes_may_be_known_late_or_be_nothing() -> None:
    n = symbol("N")
    for size in (0, 1, 9):
        for axis in (1, 2):
            array, shape = drawn((2, max(size, 1), 21)), (2, n, 21)
            if size == 0:
                array = array[:, :0]
            places = np.zeros([s for d, s in enumerate(array.shape) if d != axis], np.int64)
            (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(places)
            inner = 21 if axis == 1 else n
            late = Tensor(x.dtype, shape, (21 * n, 21, 1), from_)
            step = places_of_extremes(late, Tensor(y.dtype, (2, inner), (inner, 1), to), axis, Ends(True))
            assert step is not None
            guarded.run(step, {from_: array, to: places}, {"N": size})
            if size:
                np.testing.assert_array_equal(places, array.argmax(axis))


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
def test_every_width_of_vectors(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target = replace(host(), lanes=lanes)
    monkeypatch.setattr(guarded, "target", lambda: target)
    array = drawn((6, 39))
    for axis in (0, 1):
        np.testing.assert_array_equal(run(array, axis, EVERY[0]), expected(array, axis, EVERY[0]))
