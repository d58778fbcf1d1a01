"""Kernels of reductions along any set of axes, against the reference kernels in double precision."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.codegen.expressions import Apply
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.reductions.reduce import reduce_step
from sardonyx._src.compile.kernels.reductions.reducers import ReduceOp, find_reducer
from sardonyx._src.compile.program import TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol
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
OPS: list[ReduceOp] = [op for op in get_args(ReduceOp) if op not in ("any", "all")]  # which are of bools
# Sums of some hundred terms of either sign are off by a few ulp of the largest of them.
CLOSE = (1e-5, 1e-5)


def run(op: ReduceOp, array: Array, axes: tuple[int, ...], *, keepdims: bool = True) -> Array:
    shape = [1 if d in axes else n for d, n in enumerate(array.shape) if keepdims or d not in axes]
    result = np.full(shape, 7, array.dtype)
    (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(result)
    step = reduce_step(op, x, y, axes)
    guarded.run(step, {x_buffer: array, y_buffer: result})
    return result


def compute_expected(op: ReduceOp, array: Array, axes: tuple[int, ...], *, keepdims: bool = True) -> Array:
    in_double = array.astype(np.float64) if array.dtype == np.float32 else array
    with np.errstate(all="ignore"):
        return REFERENCE[op](in_double, axes, keepdims)


def random_array(shape: tuple[int, ...], op: str = "") -> Array:
    result = np.random.default_rng(5).normal(0, 1, shape).astype(np.float32)
    return abs(result) + np.float32(0.5) if op == "log_sum" else result


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 1, 130), (5, 33, 3), (0, 2, 3), (2, 0, 3), (2, 3, 0)])
def test_any_set_of_axes(shape: tuple[int, int, int], op: ReduceOp) -> None:
    array = random_array(shape, op)
    for count in range(4):
        for axes in combinations(range(3), count):
            keepdims = count % 2 == 0
            result = run(op, array, axes, keepdims=keepdims)
            np.testing.assert_allclose(result, compute_expected(op, array, axes, keepdims=keepdims), *CLOSE)


def test_longer_results_are_reduced_by_rows() -> None:
    def is_gathered(shape: tuple[int, ...], dtype: Any) -> bool:
        x, y = guarded.tensor(np.zeros(shape, dtype))[0], guarded.tensor(np.zeros(shape[:1], dtype))[0]
        return reduce_step("max", x, y, (1,)).kernel.key.startswith("reduce_columns")

    assert is_gathered((50, 16), np.float32) and is_gathered((50, 3), np.float64)
    assert not is_gathered((50, 17), np.float32)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
@pytest.mark.parametrize("op", ["sum", "max", "min", "prod", "sum_square"])
def test_integer_and_double_elements(op: ReduceOp, dtype: Any) -> None:
    array = np.random.default_rng(6).integers(-9, 9, (4, 3, 21)).astype(dtype)
    array[0, 0, 0] = 2**31 - 1  # so that products wrap around
    for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        result, reference = run(op, array, axes), compute_expected(op, array, axes)
        np.testing.assert_allclose(result, reference, 0 if dtype != np.float64 else 1e-14)


@pytest.mark.parametrize("op", OPS)
def test_infinities_and_nan_match_the_reference(op: ReduceOp) -> None:
    array = random_array((6, 40))
    array[0, 3], array[1, 4], array[1, 7] = np.nan, np.inf, -np.inf
    array[2, 8], array[3] = np.inf, -np.inf
    for axes in ((0,), (1,)):
        np.testing.assert_allclose(run(op, array, axes), compute_expected(op, array, axes), *CLOSE)


def test_unsupported_types_have_no_kernel() -> None:
    assert find_reducer("mean", "i64") is None
    assert find_reducer("log_sum", "i64") is None


def test_epilogue_is_applied_to_the_result() -> None:
    array, result = random_array((4, 50)), np.zeros(4, np.float32)
    (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(result)
    step = reduce_step("sum", x, y, (1,), Epilogue(Apply("abs", (RESULT,))))
    guarded.run(step, {x_buffer: array, y_buffer: result})
    np.testing.assert_allclose(result, abs(array.sum(1, dtype=np.float64)), *CLOSE)


def test_strided_input() -> None:
    array, result = random_array((20, 30)), np.zeros(15, np.float32)
    (full, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(result)
    x = TensorView(full.dtype, (10, 15), (60, 2), x_buffer, 31)
    step = reduce_step("sum", x, y, (0,))
    guarded.run(step, {x_buffer: array, y_buffer: result})
    np.testing.assert_allclose(result, array[1::2, 1::2].sum(0, dtype=np.float64), *CLOSE)


def test_symbolic_dims() -> None:
    n, h = symbol("N"), symbol("H")
    for axes in ((1,), (2, 3), (1, 2), (0, 3)):
        for sizes in ((2, 9), (0, 3), (3, 0)):
            array = random_array((sizes[0], sizes[1], sizes[1], 24))
            shape: tuple[Any, ...] = (n, h, h, 24)
            y_shape = tuple(1 if d in axes else s for d, s in enumerate(shape))
            result = np.zeros([1 if d in axes else s for d, s in enumerate(array.shape)], np.float32)
            (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(result)
            symbolic = TensorView(x.dtype, shape, (h * h * 24, h * 24, 24, 1), x_buffer)
            strides = (y_shape[1] * y_shape[2] * y_shape[3], y_shape[2] * y_shape[3], y_shape[3], 1)
            step = reduce_step("mean", symbolic, TensorView(y.dtype, y_shape, strides, y_buffer), axes)
            guarded.run(step, {x_buffer: array, y_buffer: result}, {"N": sizes[0], "H": sizes[1]})
            np.testing.assert_allclose(result, compute_expected("mean", array, axes), *CLOSE)


def test_sums_of_long_columns_are_as_exact_as_those_of_blocks() -> None:
    """Adding 20,000 terms one after another is off by about 1e-5, since each sum is rounded: n / 2 units in the last place at worst."""
    array = random_array((20_000, 19))
    for op in ("sum_square", "l1", "mean"):
        values = np.abs(array) if op == "mean" else array
        expected = compute_expected(op, values, (0,))
        np.testing.assert_allclose(run(op, values, (0,)), expected, 1e-6, 0)
