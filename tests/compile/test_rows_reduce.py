"""Reductions along any set of axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.loops.ir import Apply
from sardonyx._src.compile.rows.folds import Name
from sardonyx._src.compile.rows.reduce import reduced
from sardonyx._src.compile.tail import RESULT, Tail
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.math import reductions

REFERENCE: dict[str, Callable[..., Array]] = {
    "sum": reductions.total,
    "mean": reductions.mean,
    "max": reductions.greatest,
    "min": reductions.least,
    "prod": reductions.product,
    "l1": reductions.sum_of_magnitudes,
    "l2": reductions.root_of_squares,
    "sum_square": reductions.sum_of_squares,
    "log_sum": reductions.log_of_sum,
    "log_sum_exp": reductions.log_of_exponentials,
}
NAMES: tuple[Name, ...] = get_args(Name)
# Sums of some hundred terms of either sign are off by a few ulp of the largest of them.
CLOSE = (1e-5, 1e-5)


def run(name: Name, array: Array, axes: tuple[int, ...], *, keepdims: bool = True) -> Array:
    shape = [1 if d in axes else n for d, n in enumerate(array.shape) if keepdims or d not in axes]
    found = np.full(shape, 7, array.dtype)
    (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
    step = reduced(name, x, y, axes)
    assert step is not None
    guarded.run(step, {from_: array, to: found})
    return found


def expected(name: Name, array: Array, axes: tuple[int, ...], *, keepdims: bool = True) -> Array:
    wide = array.astype(np.float64) if array.dtype == np.float32 else array
    with np.errstate(all="ignore"):
        return REFERENCE[name](wide, axes, keepdims)


def drawn(shape: tuple[int, ...], name: str = "") -> Array:
    found = np.random.default_rng(5).normal(0, 1, shape).astype(np.float32)
    return abs(found) + np.float32(0.5) if name == "log_sum" else found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 1, 130), (5, 33, 3), (0, 2, 3), (2, 0, 3), (2, 3, 0)])
def test_any_set_of_axes(shape: tuple[int, int, int], name: Name) -> None:
    array = drawn(shape, name)
    for count in range(4):
        for axes in combinations(range(3), count):
            keepdims = count % 2 == 0
            found = run(name, array, axes, keepdims=keepdims)
            np.testing.assert_allclose(found, expected(name, array, axes, keepdims=keepdims), *CLOSE)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "log_sum_exp"])
@pytest.mark.parametrize("n", [1, 15, 16, 64, 100, 5000])
def test_rows_and_columns_of_any_length(n: int, name: Name) -> None:
    array = drawn((3, n))
    for axes in ((0,), (1,), (0, 1)):
        np.testing.assert_allclose(run(name, array, axes), expected(name, array, axes), 1e-5, 1e-4)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "sum_square"])
def test_other_types(name: Name, dtype: Any) -> None:
    array = np.random.default_rng(6).integers(-9, 9, (4, 3, 21)).astype(dtype)
    array[0, 0, 0] = 2**31 - 1  # so that products wrap around
    for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        found, wanted = run(name, array, axes), expected(name, array, axes)
        np.testing.assert_allclose(found, wanted, 0 if dtype != np.float64 else 1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_infinities_and_nan_mean_what_they_do_in_the_reference(name: Name) -> None:
    array = drawn((6, 40))
    array[0, 3], array[1, 4], array[1, 7] = np.nan, np.inf, -np.inf
    array[2, 8], array[3] = np.inf, -np.inf
    for axes in ((0,), (1,)):
        np.testing.assert_allclose(run(name, array, axes), expected(name, array, axes), *CLOSE)


def test_types_without_a_kernel_get_none() -> None:
    x, _ = guarded.tensor(np.zeros((2, 2), np.int64))
    assert reduced("mean", x, x, ()) is None
    assert reduced("log_sum", x, x, ()) is None


def test_a_tail_goes_behind() -> None:
    array, found = drawn((4, 50)), np.zeros(4, np.float32)
    (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
    step = reduced("sum", x, y, (1,), Tail(Apply("abs", (RESULT,))))
    assert step is not None
    guarded.run(step, {from_: array, to: found})
    np.testing.assert_allclose(found, abs(array.sum(1, dtype=np.float64)), *CLOSE)


def test_elements_may_lie_apart() -> None:
    array, found = drawn((20, 30)), np.zeros(15, np.float32)
    (whole, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
    x = Tensor(whole.dtype, (10, 15), (60, 2), from_, 31)
    step = reduced("sum", x, y, (0,))
    assert step is not None
    guarded.run(step, {from_: array, to: found})
    np.testing.assert_allclose(found, array[1::2, 1::2].sum(0, dtype=np.float64), *CLOSE)


def test_sizes_may_be_known_late() -> None:
    n, h = symbol("N"), symbol("H")
    for axes in ((1,), (2, 3), (1, 2), (0, 3)):
        for sizes in ((2, 9), (0, 3), (3, 0)):
            array = drawn((sizes[0], sizes[1], sizes[1], 24))
            shape: tuple[Any, ...] = (n, h, h, 24)
            kept = tuple(1 if d in axes else s for d, s in enumerate(shape))
            found = np.zeros([1 if d in axes else s for d, s in enumerate(array.shape)], np.float32)
            (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
            late = Tensor(x.dtype, shape, (h * h * 24, h * 24, 24, 1), from_)
            strides = (kept[1] * kept[2] * kept[3], kept[2] * kept[3], kept[3], 1)
            step = reduced("mean", late, Tensor(y.dtype, kept, strides, to), axes)
            assert step is not None
            guarded.run(step, {from_: array, to: found}, {"N": sizes[0], "H": sizes[1]})
            np.testing.assert_allclose(found, expected("mean", array, axes), *CLOSE)


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
def test_every_width_of_vectors(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target = replace(host(), lanes=lanes)
    monkeypatch.setattr(guarded, "target", lambda: target)
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        array = np.random.default_rng(7).integers(-9, 9, (7, 35)).astype(dtype)
        for axes in ((0,), (1,)):
            np.testing.assert_array_equal(run("max", array, axes), expected("max", array, axes))
