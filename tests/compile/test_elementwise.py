"""Elementwise kernels over tensors of any layout, against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number, Scalar, Select
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.loops.iteration_space import broadcast_space, simplify
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Buffer, Kernel, Step, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, symbol

LANES = [16, 8, 4, 1]
F, B = DataType.FLOAT, DataType.BOOL
A0, A1, A2 = (Local(f"i{i}") for i in range(3))
SUM = Apply("add", (A0, A1))


def with_lane_count(step: Step, lanes: int) -> Step:
    """The step compiled for vectors of another number of lanes."""
    source = step.kernel.source
    kernel = Kernel(
        f"{step.kernel.key}@{lanes}", lambda name, target: source(name, replace(host_target(), lanes=lanes))
    )
    return replace(step, kernel=kernel)


def run(value: Scalar, arrays: Sequence[Array], shape: tuple[int, ...], dtype: DataType, lanes: int) -> Array:
    """The expression evaluated over dense arrays that broadcast to a shape."""
    result = np.zeros(shape, dtype.numpy)
    tensors = [guarded.tensor(a) for a in (*arrays, result)]
    step = elementwise_step(value, [t for t, _ in tensors[:-1]], tensors[-1][0])
    guarded.run(
        with_lane_count(step, lanes), {s: a for (_, s), a in zip(tensors, (*arrays, result), strict=True)}
    )
    return result


def random_array(*shape: int, seed: int = 0) -> Array:
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
        ((2, 5, 4, 3), (2, 5, 4, 1)),  # a factor for each pixel
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
    a, b = random_array(*first), random_array(*second, seed=1)
    result = run(SUM, [a, b], np.broadcast_shapes(first, second), F, lanes)
    np.testing.assert_array_equal(result, a + b)


@pytest.mark.parametrize("lanes", LANES)
def test_output_may_be_a_slice_of_a_larger_tensor(lanes: int) -> None:
    x = random_array(6, 5)
    backing = np.full((6, 12), -7, np.float32)
    (t, s), (_, storage) = guarded.tensor(x), guarded.tensor(backing)
    output = TensorView(F, (6, 5), (12, 1), storage, offset=3)
    guarded.run(
        with_lane_count(elementwise_step(Apply("neg", (A0,)), [t], output), lanes), {s: x, storage: backing}
    )
    np.testing.assert_array_equal(backing[:, 3:8], -x)
    assert (np.delete(backing, range(3, 8), axis=1) == -7).all()


@pytest.mark.parametrize("lanes", LANES)
def test_output_may_be_strided(lanes: int) -> None:
    x, backing = random_array(40), np.full(120, -7, np.float32)
    (t, s), (_, storage) = guarded.tensor(x), guarded.tensor(backing)
    guarded.run(
        with_lane_count(
            elementwise_step(Apply("neg", (A0,)), [t], TensorView(F, (40,), (3,), storage, 1)), lanes
        ),
        {s: x, storage: backing},
    )
    np.testing.assert_array_equal(backing[1::3], -x)
    assert (np.delete(backing, range(1, 120, 3)) == -7).all()


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8, np.float64], ids=str)
def test_other_element_types(dtype: type[np.generic], lanes: int) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 100, (3, 77)).astype(dtype) for _ in range(2))
    result = run(SUM, [a, b], (3, 77), DataType.of(a.dtype), lanes)
    np.testing.assert_array_equal(result, a + b)
    selected = run(
        Apply("where", (A0, A1, A2)), [a > b, a, b[:, :1].copy()], (3, 77), DataType.of(a.dtype), lanes
    )
    np.testing.assert_array_equal(selected, np.where(a > b, a, b[:, :1]))


def test_dims_may_be_symbolic() -> None:
    n, c = symbol("N"), symbol("C")
    shape, size = (n, 3, c), n * c * 12
    s, t, u = (Buffer("arena", size if name != "b" else c * 4, name) for name in "aby")
    x, b, y = (
        TensorView(F, shape, row_major_strides(shape), s),
        TensorView(F, (c,), (1,), t),
        TensorView(F, shape, row_major_strides(shape), u),
    )
    step = elementwise_step(SUM, [x, b], y)
    for sizes in ({"N": 2, "C": 20}, {"N": 0, "C": 5}, {"N": 1, "C": 1}, {"N": 3, "C": 0}):
        storage = random_array(sizes["N"], 3, sizes["C"]), random_array(sizes["C"], seed=1)
        result = np.zeros(storage[0].shape, np.float32)
        guarded.run(step, {s: storage[0], t: storage[1], u: result}, sizes)
        np.testing.assert_array_equal(result, storage[0] + storage[1])


def test_a_symbolic_dim_may_broadcast_at_run_time() -> None:
    m, n = symbol("M"), symbol("N")
    s, t = Buffer("arena", m * 4, "b"), Buffer("arena", n * 8, "y")
    x, y = TensorView(F, (2, m), (0, 1), s), TensorView(F, (2, n), (n, 1), t)
    step = elementwise_step(Apply("neg", (A0,)), [x], y)
    for sizes in ({"M": 1, "N": 21}, {"M": 21, "N": 21}):
        storage, result = random_array(sizes["M"]), np.zeros((2, 21), np.float32)
        guarded.run(step, {s: storage, t: result}, sizes)
        np.testing.assert_array_equal(result, np.broadcast_to(-storage, (2, 21)))


def tensor(shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> TensorView:
    return TensorView(F, shape, strides or row_major_strides(shape), Buffer("arena", 4, ""))


def test_contiguous_dims_are_coalesced() -> None:
    shape = (2, 3, 4, 8)
    assert coalesced_dims([tensor(shape)] * 3) == (192,)
    assert coalesced_dims([tensor(shape), tensor((8,))]) == (24, 8)
    assert coalesced_dims([tensor(shape), tensor((2, 1, 1, 8))]) == (2, 12, 8)
    assert coalesced_dims([tensor(shape), tensor(())]) == (192,)
    last = tensor(shape, (96, 1, 24, 3))
    assert coalesced_dims([last, last]) == (192,)
    n, c = symbol("N"), symbol("C")
    symbolic = TensorView(F, (n, c, 4, 4), (c * 16, 1, c * 4, c), Buffer("arena", 4, ""))
    assert coalesced_dims([symbolic, symbolic]) == (n * c * 16,)
    moved = TensorView(F, (c, n, 4), (1, 4 * c, c), Buffer("arena", 4, ""))  # C may be 1, as 4 * C may be 4
    assert coalesced_dims([moved, moved]) == (n * c * 4,)


def coalesced_dims(tensors: list[TensorView]) -> tuple[Known, ...]:
    return simplify(broadcast_space(tensors[0].shape, tensors), by=0).shape


def test_shared_subexpressions_are_evaluated_once() -> None:
    value: Scalar = A0
    for _ in range(40):
        value = Apply("add", (value, value))  # 2^40 as a tree
    result = run(Select("lt", value, Number(0), A0, value), [np.array([1, -1], np.float32)], (2,), F, 16)
    assert result.tolist() == [2.0**40, -1]


def test_kernels_do_not_depend_on_sizes() -> None:
    first = elementwise_step(SUM, [tensor((2, 3)), tensor((3,))], tensor((2, 3)))
    second = elementwise_step(SUM, [tensor((5, 9, 7)), tensor((7,))], tensor((5, 9, 7)))
    assert first.kernel == second.kernel
    assert first.kernel != elementwise_step(SUM, [tensor((2, 3)), tensor((2, 1))], tensor((2, 3))).kernel
