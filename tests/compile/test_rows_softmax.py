"""Softmax along any axis, of any layout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.rows.softmax import softmax
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.nn.log_softmax import eval_13 as reference_log
from sardonyx._src.ops.nn.softmax import eval_13 as reference

# exp is within 1 ulp, sums of n terms within a few more, and the quotient by a reciprocal within 1.5
CLOSE = (2e-6, 1e-38)


def drawn(shape: tuple[int, ...]) -> Array:
    return (np.random.default_rng(3).normal(size=shape) * 4).astype(np.float32)


def run(array: Array, axis: int, *, log: bool = False) -> Array:
    found = np.zeros_like(array)
    (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
    step = softmax(x, y, axis, log=log)
    assert step is not None
    guarded.run(step, {from_: array, to: found})
    return found


def expected(array: Array, axis: int, *, log: bool = False) -> Array:
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        return np.asarray((reference_log if log else reference)(wide, axis=axis))


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 64, 65, 100, 1000])
def test_rows_of_any_length(n: int, log: bool) -> None:
    array = drawn((5, n))
    np.testing.assert_allclose(
        run(array, -1, log=log), expected(array, -1, log=log), rtol=2e-6, atol=2e-6 if log else 1e-38
    )


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "shape", [(2, 3, 5), (3, 7, 1), (1, 21, 300), (2, 4, 64), (0, 3, 4), (2, 0, 5), (2, 3, 0)]
)
def test_any_axis(shape: tuple[int, int, int], log: bool) -> None:
    array = drawn(shape)
    for axis in range(3):
        close = (2e-6, 2e-6) if log else CLOSE
        np.testing.assert_allclose(run(array, axis, log=log), expected(array, axis, log=log), *close)


@pytest.mark.parametrize("axis", [0, 1])
def test_infinities_and_nan_mean_what_they_do_in_the_reference(axis: int) -> None:
    array = drawn((20, 20))
    array[3, :] = -np.inf
    array[:, 5] = -np.inf
    array[7, 7], array[9, 9], array[11, 4] = np.inf, np.nan, -np.inf
    for log in (False, True):
        with np.errstate(all="ignore"):
            wanted = (reference_log if log else reference)(array, axis=axis)
        np.testing.assert_allclose(run(array, axis, log=log), wanted, 1e-5, 1e-5)


def test_a_scale_and_a_mask_go_before() -> None:
    array, bias = drawn((2, 3, 4, 21)), drawn((2, 1, 1, 21))
    bias[1, 0, 0, 5:] = -np.inf
    found = np.zeros_like(array)
    (x, from_), (y, to), (m, by) = guarded.tensor(array), guarded.tensor(found), guarded.tensor(bias)
    spread = replace(m, shape=x.shape, strides=(21, 0, 0, 1))
    step = softmax(x, y, scale=0.125, mask=spread)
    assert step is not None
    guarded.run(step, {from_: array, to: found, by: bias})
    wanted = expected(array.astype(np.float64) * 0.125 + bias, -1)
    np.testing.assert_allclose(found, wanted, 4e-6, 1e-38)


def test_y_may_be_x() -> None:
    array = drawn((6, 33))
    for axis in (0, 1):
        found = array.copy()
        x, storage = guarded.tensor(found)
        step = softmax(x, x, axis)
        assert step is not None
        guarded.run(step, {storage: found})
        np.testing.assert_allclose(found, expected(array, axis), *CLOSE)


def test_sizes_may_be_known_late() -> None:
    n, s = symbol("N"), symbol("S")
    array = drawn((3, 2, 19, 19))
    found = np.zeros_like(array)
    (x, from_), (y, to) = guarded.tensor(array), guarded.tensor(found)
    shape, strides = (n, 2, s, s), (2 * s * s, s * s, s, 1)
    for axis in range(4):
        late = [Tensor(t.dtype, shape, strides, t.storage) for t in (x, y)]
        step = softmax(late[0], late[1], axis)
        assert step is not None
        guarded.run(step, {from_: array, to: found}, {"N": 3, "S": 19})
        np.testing.assert_allclose(found, expected(array, axis), *CLOSE)


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
def test_every_width_of_vectors(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target = replace(host(), lanes=lanes)
    monkeypatch.setattr(guarded, "target", lambda: target)
    array = drawn((5, 39))
    for axis in (0, 1):
        np.testing.assert_allclose(run(array, axis), expected(array, axis), *CLOSE)
