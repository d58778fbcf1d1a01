"""Kernels of CumSum and CumProd, bit for bit against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.kernels.reductions.cumulative import CumulativeVariant, cumulative_step
from sardonyx._src.compile.program import TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.math.cumulative import shift_by_one

VARIANTS = [CumulativeVariant(p, e, r) for p in (False, True) for e in (False, True) for r in (False, True)]


def compute_expected(array: Array, axis: int, variant: CumulativeVariant) -> Array:
    """The result of NumPy, which accumulates in the type of the array, element after element."""
    array_in_order = np.flip(array, axis) if variant.reverse else array
    result = (np.cumprod if variant.product else np.cumsum)(array_in_order, axis, dtype=array.dtype)
    if variant.exclusive:
        result = shift_by_one(result, axis, 1 if variant.product else 0)
    return np.flip(result, axis) if variant.reverse else result


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_any_axis_and_element_type(dtype: Any, variant: CumulativeVariant) -> None:
    for shape in ((3, 5, 7), (2, 33, 40), (1, 1, 300), (2, 0, 3), (0, 2, 2)):
        array = np.random.default_rng(9).normal(0, 2, shape).astype(dtype)
        for axis in range(3):
            result = np.full_like(array, 7)
            (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(result)
            step = cumulative_step(x, y, axis, variant)
            guarded.run(step, {x_buffer: array, y_buffer: result})
            np.testing.assert_array_equal(result, compute_expected(array, axis, variant))


def test_symbolic_dims_in_place() -> None:
    n = symbol("N")
    for size in (0, 1, 20):
        for axis in (0, 1):
            array = np.random.default_rng(10).normal(0, 2, (3, size)).astype(np.float32)
            reference = compute_expected(array, axis, CumulativeVariant(reverse=True))
            x, buffer = guarded.tensor(array)
            symbolic = TensorView(x.dtype, (3, n), (n, 1), buffer)
            step = cumulative_step(symbolic, symbolic, axis, CumulativeVariant(reverse=True))
            guarded.run(step, {buffer: array}, {"N": size})
            np.testing.assert_array_equal(array, reference)
