"""Rows and groups brought to mean 0 and variance 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.loops.ir import Apply, Local
from sardonyx._src.compile.rows.groups import group_normalised
from sardonyx._src.compile.rows.norms import Norm, normalised
from sardonyx._src.compile.tail import RESULT, Tail
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

# Sums of n products are off by a few ulp of their parts, and all else rounds a handful of times.
CLOSE = (1e-5, 2e-6)
EPSILON = 1e-5


class Memory:
    """Tensors of float32 arrays and the storages that hold them."""

    def __init__(self) -> None:
        self.arrays: dict[Storage, Array] = {}

    def drawn(self, *shape: int) -> tuple[Tensor, Array]:
        array = np.random.default_rng(len(self.arrays)).normal(1, 2, shape).astype(np.float32)
        return self.holding(array), array

    def holding(self, array: Array) -> Tensor:
        tensor, storage = guarded.tensor(array)
        self.arrays[storage] = array
        return tensor


def standard(x: Array, axes: tuple[int, ...]) -> Array:
    wide = x.astype(np.float64)
    deviation = wide - wide.mean(axes, keepdims=True)
    return np.asarray(deviation / np.sqrt((deviation**2).mean(axes, keepdims=True) + EPSILON))


@pytest.mark.parametrize("n", [1, 7, 16, 63, 64, 65, 768, 1000])
def test_rows_of_any_length(n: int) -> None:
    memory = Memory()
    (x, a), (scale, s), (bias, b) = memory.drawn(5, n), memory.drawn(n), memory.drawn(n)
    y = memory.holding(found := np.zeros_like(a))
    step = normalised(x, y, -1, Norm(EPSILON, scale=scale, bias=bias))
    assert step is not None
    guarded.run(step, memory.arrays)
    np.testing.assert_allclose(found, standard(a, (1,)) * s + b, *CLOSE)


@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3), (2, 3, 0), (3, 5, 7)])
def test_trailing_dims_make_one_row(shape: tuple[int, int, int]) -> None:
    memory = Memory()
    (x, a), (scale, s) = memory.drawn(*shape), memory.drawn(*shape[1:])
    y = memory.holding(found := np.zeros_like(a))
    mean, inverse = (memory.holding(np.zeros((shape[0], 1, 1), np.float32)) for _ in range(2))
    step = normalised(x, y, 1, Norm(EPSILON, scale=scale, mean=mean, inverse=inverse))
    assert step is not None
    guarded.run(step, memory.arrays)
    if a.size:
        np.testing.assert_allclose(found, standard(a, (1, 2)) * s, *CLOSE)
        means, inverses = memory.arrays[mean.storage], memory.arrays[inverse.storage]
        np.testing.assert_allclose(means, a.mean((1, 2), keepdims=True), *CLOSE)
        np.testing.assert_allclose(inverses, 1 / np.sqrt(a.var((1, 2), keepdims=True) + EPSILON), *CLOSE)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("centered", [False, True])
def test_a_sum_goes_before(centered: bool, kept: bool) -> None:
    memory = Memory()
    (x, a), (addend, more), (scale, s) = memory.drawn(4, 3, 50), memory.drawn(4, 3, 50), memory.drawn(50)
    y = memory.holding(found := np.zeros_like(a))
    total = memory.holding(np.zeros_like(a)) if kept else None
    norm = Norm(EPSILON, centered, scale=scale, addend=addend, total=total)
    step = normalised(x, y, -1, norm)
    assert step is not None
    guarded.run(step, memory.arrays)
    both = a.astype(np.float64) + more
    root = np.sqrt((both**2).mean(-1, keepdims=True) + EPSILON)
    np.testing.assert_allclose(found, (standard(both, (2,)) if centered else both / root) * s, *CLOSE)
    if total is not None:
        np.testing.assert_array_equal(memory.arrays[total.storage], a + more)


def test_a_tail_goes_behind() -> None:
    memory = Memory()
    (x, a), (column, c), (matrix, m) = memory.drawn(6, 37), memory.drawn(37), memory.drawn(6, 37)
    y = memory.holding(found := np.zeros_like(a))
    value = Apply("add", (Apply("mul", (RESULT, Local("o0"))), Local("o1")))
    tail = Tail(value, ("column", "matrix"))
    step = normalised(x, y, 1, Norm(EPSILON, tail=tail, operands=(column, matrix)))
    assert step is not None
    guarded.run(step, memory.arrays)
    np.testing.assert_allclose(found, standard(a, (1,)) * c + m, *CLOSE)


def test_rows_may_lie_apart_and_sizes_be_known_late() -> None:
    memory = Memory()
    n = symbol("N")
    (whole, a), (bias, b) = memory.drawn(3, 4, 30), memory.drawn(20)
    frame = memory.holding(found := np.full((3, 4, 30), -1, np.float32))
    x, y = (Tensor(t.dtype, (n, 4, 20), (120, 30, 1), t.storage, 5) for t in (whole, frame))
    step = normalised(x, y, -1, Norm(EPSILON, bias=bias))
    assert step is not None
    guarded.run(step, memory.arrays, {"N": 3})
    np.testing.assert_allclose(found[..., 5:25], standard(a[..., 5:25], (2,)) + b, *CLOSE)
    assert (found[..., :5] == -1).all() and (found[..., 25:] == -1).all()


def test_y_may_be_x_and_nan_stays_in_its_row() -> None:
    memory = Memory()
    x, a = memory.drawn(5, 40)
    a[2, 3], a[4, 0] = np.nan, np.inf
    before = a.copy()
    step = normalised(x, x, -1, Norm(EPSILON))
    assert step is not None
    guarded.run(step, memory.arrays)
    assert np.isnan(a[[2, 4]]).all()
    np.testing.assert_allclose(a[[0, 1, 3]], standard(before[[0, 1, 3]], (1,)), *CLOSE)


@pytest.mark.parametrize("shape", [(2, 6, 5, 7), (1, 4, 1, 1), (3, 8, 16, 16), (0, 4, 3, 3), (2, 4, 0, 3)])
def test_groups_of_channels(shape: tuple[int, int, int, int]) -> None:
    for groups in (1, 2, shape[1]):
        memory = Memory()
        (x, a), (scale, s), (bias, b) = memory.drawn(*shape), memory.drawn(shape[1]), memory.drawn(shape[1])
        y = memory.holding(found := np.zeros_like(a))
        tail = Tail(Apply("max", (RESULT, Apply("neg", (RESULT,)))))
        step = group_normalised(x, y, scale, bias, groups=groups, epsilon=EPSILON, tail=tail)
        assert step is not None
        guarded.run(step, memory.arrays)
        if a.size:
            grouped = standard(a.reshape(shape[0], groups, -1), (2,)).reshape(shape)
            wanted = grouped * s[:, None, None] + b[:, None, None]
            np.testing.assert_allclose(found, abs(wanted), *CLOSE)


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
def test_every_width_of_vectors(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target = replace(host(), lanes=lanes)
    monkeypatch.setattr(guarded, "target", lambda: target)
    test_rows_of_any_length(39)
    test_groups_of_channels((2, 6, 5, 7))


def test_rows_are_counted_as_the_shape_says() -> None:
    """Not as they lie in memory, where statistics or operands go by their number."""
    memory = Memory()
    x, a = memory.drawn(3, 4, 20)
    y = memory.holding(found := np.zeros_like(a))
    mean = memory.holding(np.zeros((4, 3, 1), np.float32))
    turned = x.permuted((1, 0, 2)), y.permuted((1, 0, 2))
    assert normalised(*turned, -1, Norm(EPSILON, mean=mean)) is None
    step = normalised(*turned, -1, Norm(EPSILON))
    assert step is not None
    guarded.run(step, memory.arrays)
    np.testing.assert_allclose(found, standard(a, (2,)), *CLOSE)
