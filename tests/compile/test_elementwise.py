"""Elementwise kernels over tensors of any layout, against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.elementwise.kernel import elementwise
from sardonyx._src.compile.elementwise.layout import layout
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.loops.ir import Apply, Cast, Local, Number, Scalar, Select
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

LANES = [16, 8, 4, 1]
F, B = DataType.FLOAT, DataType.BOOL
A0, A1, A2 = (Local(f"i{i}") for i in range(3))
SUM = Apply("add", (A0, A1))


def narrow(step: Step, lanes: int) -> Step:
    """The step compiled for registers of some other width."""
    source = step.kernel.source
    kernel = Kernel(
        f"{step.kernel.key}@{lanes}", lambda name, target: source(name, replace(host(), lanes=lanes))
    )
    return replace(step, kernel=kernel)


def run(value: Scalar, arrays: Sequence[Array], shape: tuple[int, ...], dtype: DataType, lanes: int) -> Array:
    """The value over dense arrays that broadcast to a shape."""
    found = np.zeros(shape, dtype.numpy)
    tensors = [guarded.tensor(a) for a in (*arrays, found)]
    step = elementwise(value, [t for t, _ in tensors[:-1]], tensors[-1][0])
    guarded.run(narrow(step, lanes), {s: a for (_, s), a in zip(tensors, (*arrays, found), strict=True)})
    return found


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((), ()),
        ((0,), (0,)),
        ((1,), (1,)),
        ((5,), (5,)),
        ((16,), ()),
        ((9000,), (9000,)),
        ((2, 3, 37), (2, 3, 37)),
        ((2, 5, 4, 24), (24,)),  # a bias for each channel, innermost
        ((2, 5, 4, 24), (2, 1, 1, 24)),  # a gate for each image and channel
        ((2, 5, 4, 3), (2, 5, 4, 1)),  # one number for each pixel
        ((2, 3, 35), (3, 1)),
        ((7, 1), (1, 70)),
        ((3, 1, 5, 1), (1, 4, 1, 17)),
        ((2, 3, 2, 3, 2, 3), (3, 1, 3, 1, 3)),
        ((3, 0, 5), (1, 5)),
        ((2, 5000), (2, 1)),
        ((2, 3, 4500), (2, 1, 4500)),
        ((400, 3, 9), (400, 1, 9)),
    ],
    ids=str,
)
def test_operands_broadcast(first: tuple[int, ...], second: tuple[int, ...], lanes: int) -> None:
    a, b = drawn(*first), drawn(*second, seed=1)
    found = run(SUM, [a, b], np.broadcast_shapes(first, second), F, lanes)
    np.testing.assert_array_equal(found, a + b)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("perm", [(0, 2, 3, 1), (3, 2, 1, 0), (0, 1, 3, 2)], ids=str)
def test_tensors_of_any_order_of_strides(perm: tuple[int, ...], lanes: int) -> None:
    a, b = drawn(2, 3, 5, 20), drawn(*(2, 3, 5, 20)[::1], seed=1).transpose(perm)
    shape = b.shape
    a = a.reshape(shape)
    dense = np.ascontiguousarray(b.transpose(np.argsort(perm)))
    (x, xs), (held, hs) = guarded.tensor(a), guarded.tensor(dense)
    found = np.zeros(shape, np.float32)
    y, ys = guarded.tensor(found)
    step = elementwise(SUM, [x, held.permuted(perm)], y)
    guarded.run(narrow(step, lanes), {xs: a, hs: dense, ys: found})
    np.testing.assert_array_equal(found, a + b)


@pytest.mark.parametrize("lanes", LANES)
def test_an_output_may_be_a_part_of_a_larger_tensor(lanes: int) -> None:
    x = drawn(6, 5)
    whole = np.full((6, 12), -7, np.float32)
    (t, s), (_, held) = guarded.tensor(x), guarded.tensor(whole)
    part = Tensor(F, (6, 5), (12, 1), held, offset=3)
    guarded.run(narrow(elementwise(Apply("neg", (A0,)), [t], part), lanes), {s: x, held: whole})
    np.testing.assert_array_equal(whole[:, 3:8], -x)
    assert (np.delete(whole, range(3, 8), axis=1) == -7).all()


@pytest.mark.parametrize("lanes", LANES)
def test_an_output_may_have_gaps_between_its_elements(lanes: int) -> None:
    x, whole = drawn(40), np.full(120, -7, np.float32)
    (t, s), (_, held) = guarded.tensor(x), guarded.tensor(whole)
    guarded.run(
        narrow(elementwise(Apply("neg", (A0,)), [t], Tensor(F, (40,), (3,), held, 1)), lanes),
        {s: x, held: whole},
    )
    np.testing.assert_array_equal(whole[1::3], -x)
    assert (np.delete(whole, range(1, 120, 3)) == -7).all()


@pytest.mark.parametrize("lanes", LANES)
def test_an_output_may_be_in_the_place_of_an_input(lanes: int) -> None:
    x, bias = drawn(7, 33), drawn(33, seed=1)
    want = x + bias
    (t, s), (b, bs) = guarded.tensor(x), guarded.tensor(bias)
    guarded.run(narrow(elementwise(SUM, [t, b], t), lanes), {s: x, bs: bias})
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize("lanes", LANES)
def test_several_outputs_of_several_types(lanes: int) -> None:
    x, y, is_less = drawn(3, 50), np.zeros((3, 50), np.float64), np.zeros((3, 50), np.bool_)
    (t, s), (u, us), (v, vs) = map(guarded.tensor, (x, y, is_less))
    step = elementwise([Cast(DataType.DOUBLE, A0), Apply("lt", (A0, Number(0.5)))], [t], [u, v])
    guarded.run(narrow(step, lanes), {s: x, us: y, vs: is_less})
    np.testing.assert_array_equal(y, x.astype(np.float64))
    np.testing.assert_array_equal(is_less, x < np.float32(0.5))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8, np.float64], ids=str)
def test_elements_of_other_types(dtype: type[np.generic], lanes: int) -> None:
    draw = np.random.default_rng(3)
    a, b = (draw.integers(0, 100, (3, 77)).astype(dtype) for _ in range(2))
    found = run(SUM, [a, b], (3, 77), DataType.of(a.dtype), lanes)
    np.testing.assert_array_equal(found, a + b)
    picked = run(
        Apply("where", (A0, A1, A2)), [a > b, a, b[:, :1].copy()], (3, 77), DataType.of(a.dtype), lanes
    )
    np.testing.assert_array_equal(picked, np.where(a > b, a, b[:, :1]))


def test_sizes_may_be_symbols() -> None:
    n, c = symbol("N"), symbol("C")
    shape, size = (n, 3, c), n * c * 12
    s, t, u = (Storage("arena", size if name != "b" else c * 4, name) for name in "aby")
    x, b, y = (
        Tensor(F, shape, row_major(shape), s),
        Tensor(F, (c,), (1,), t),
        Tensor(F, shape, row_major(shape), u),
    )
    step = elementwise(SUM, [x, b], y)
    for sizes in ({"N": 2, "C": 20}, {"N": 0, "C": 5}, {"N": 1, "C": 1}, {"N": 3, "C": 0}):
        held = drawn(sizes["N"], 3, sizes["C"]), drawn(sizes["C"], seed=1)
        found = np.zeros(held[0].shape, np.float32)
        guarded.run(step, {s: held[0], t: held[1], u: found}, sizes)
        np.testing.assert_array_equal(found, held[0] + held[1])


def test_a_symbolic_dim_may_turn_out_to_be_one() -> None:
    m, n = symbol("M"), symbol("N")
    s, t = Storage("arena", m * 4, "b"), Storage("arena", n * 8, "y")
    x, y = Tensor(F, (2, m), (0, 1), s), Tensor(F, (2, n), (n, 1), t)
    step = elementwise(Apply("neg", (A0,)), [x], y)
    for sizes in ({"M": 1, "N": 21}, {"M": 21, "N": 21}):
        held, found = drawn(sizes["M"]), np.zeros((2, 21), np.float32)
        guarded.run(step, {s: held, t: found}, sizes)
        np.testing.assert_array_equal(found, np.broadcast_to(-held, (2, 21)))


def tensor(shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Tensor:
    return Tensor(F, shape, strides or row_major(shape), Storage("arena", 4, ""))


def test_dims_are_as_few_as_strides_allow() -> None:
    shape = (2, 3, 4, 8)
    assert layout(shape, [tensor(shape)] * 3).dims == (192,)
    assert layout(shape, [tensor(shape), tensor((8,))]).dims == (24, 8)
    assert layout(shape, [tensor(shape), tensor((2, 1, 1, 8))]).dims == (2, 12, 8)
    assert layout(shape, [tensor(shape), tensor(())]).dims == (192,)
    last = tensor(shape, (96, 1, 24, 3))
    assert layout(shape, [last, last]).dims == (192,)
    n, c = symbol("N"), symbol("C")
    lasting = Tensor(F, (n, c, 4, 4), (c * 16, 1, c * 4, c), Storage("arena", 4, ""))
    assert layout(lasting.shape, [lasting, lasting]).dims == (n * c * 16,)


def test_what_values_share_is_worked_out_once() -> None:
    value: Scalar = A0
    for _ in range(40):
        value = Apply("add", (value, value))  # 2^40 as a tree
    found = run(Select("lt", value, Number(0), A0, value), [np.array([1, -1], np.float32)], (2,), F, 16)
    assert found.tolist() == [2.0**40, -1]


def test_kernels_are_shared_by_tensors_of_any_size() -> None:
    first = elementwise(SUM, [tensor((2, 3)), tensor((3,))], tensor((2, 3)))
    second = elementwise(SUM, [tensor((5, 9, 7)), tensor((7,))], tensor((5, 9, 7)))
    assert first.kernel == second.kernel
    assert first.kernel != elementwise(SUM, [tensor((2, 3)), tensor((2, 1))], tensor((2, 3))).kernel
