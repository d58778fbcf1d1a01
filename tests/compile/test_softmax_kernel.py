"""Kernels of Softmax and LogSoftmax, along rows and columns, against the reference kernels."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.kernels.reductions.softmax import softmax_step
from sardonyx._src.compile.program import TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.nn.log_softmax import eval_13 as log_softmax_reference
from sardonyx._src.ops.nn.softmax import eval_13 as softmax_reference

# exp is within 1 ulp, sums of n terms within a few more, and the quotient by a reciprocal within 1.5
CLOSE = (2e-6, 1e-38)


def random_array(shape: tuple[int, ...]) -> Array:
    return (np.random.default_rng(3).normal(size=shape) * 4).astype(np.float32)


def run(array: Array, axis: int, *, log: bool = False) -> Array:
    result = np.zeros_like(array)
    (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(result)
    step = softmax_step(x, y, axis, log=log)
    guarded.run(step, {x_buffer: array, y_buffer: result})
    return result


def compute_expected(array: Array, axis: int, *, log: bool = False) -> Array:
    with np.errstate(all="ignore"):
        in_double = array.astype(np.float64)
        return np.asarray((log_softmax_reference if log else softmax_reference)(in_double, axis=axis))


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "shape", [(2, 3, 5), (3, 7, 1), (1, 21, 300), (2, 4, 64), (0, 3, 4), (2, 0, 5), (2, 3, 0)]
)
def test_any_axis(shape: tuple[int, int, int], log: bool) -> None:
    array = random_array(shape)
    for axis in range(3):
        close = (2e-6, 2e-6) if log else CLOSE
        np.testing.assert_allclose(run(array, axis, log=log), compute_expected(array, axis, log=log), *close)


@pytest.mark.parametrize("axis", [0, 1])
def test_infinities_and_nan_match_the_reference(axis: int) -> None:
    array = random_array((20, 20))
    array[3, :] = -np.inf
    array[:, 5] = -np.inf
    array[7, 7], array[9, 9], array[11, 4] = np.inf, np.nan, -np.inf
    for log in (False, True):
        with np.errstate(all="ignore"):
            reference_result = (log_softmax_reference if log else softmax_reference)(array, axis=axis)
        np.testing.assert_allclose(run(array, axis, log=log), reference_result, 1e-5, 1e-5)


def test_symbolic_dims() -> None:
    n, s = symbol("N"), symbol("S")
    array = random_array((3, 2, 19, 19))
    result = np.zeros_like(array)
    (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(result)
    shape, strides = (n, 2, s, s), (2 * s * s, s * s, s, 1)
    for axis in range(4):
        symbolic = [TensorView(t.dtype, shape, strides, t.buffer) for t in (x, y)]
        step = softmax_step(symbolic[0], symbolic[1], axis)
        guarded.run(step, {x_buffer: array, y_buffer: result}, {"N": 3, "S": 19})
        np.testing.assert_allclose(result, compute_expected(array, axis), *CLOSE)
