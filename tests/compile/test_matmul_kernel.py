"""Matrix products of any batch and any strides, beside NumPy in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Apply, Local, Number
from sardonyx._src.compile.products.matmul import matmul
from sardonyx._src.compile.products.packing import constant, packed_bias
from sardonyx._src.compile.products.panels import Panels, constant_panels, packed_panels
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

LANES = [None, 8, 4, 1]
SIZES = [
    (1, 1, 1), (1, 64, 5), (2, 3, 0), (0, 4, 2), (4, 0, 2), (6, 64, 5), (7, 65, 3), (13, 130, 17), (3, 300, 600),
    (101, 20, 1030), (22, 32, 1100), (26, 16, 1100), (23, 48, 600), (10, 64, 600), (5, 33, 9), (29, 48, 8), (14, 16, 4),
]  # fmt: skip


def close(found: Array, wanted: Array) -> None:
    """Sums of up to a thousand products of about 1, each rounded."""
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-4)


def drawn(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def machine(lanes: int | None) -> Target:
    """The host, or one whose registers hold so many floats."""
    return host() if lanes is None else replace(host(), lanes=lanes, registers=16)


def on(steps: list[Step], target: Target) -> list[Step]:
    """Steps of kernels that are compiled for a machine."""

    def bound(kernel: Kernel) -> Callable[[str, Target], str]:
        return lambda name, _: kernel.source(name, target)

    return [
        replace(step, kernel=Kernel(f"{step.kernel.key}_{target.lanes}", bound(step.kernel)))
        for step in steps
    ]


class Memory:
    """Arrays and their tensors."""

    def __init__(self) -> None:
        self.arrays: dict[Storage, Array] = {}

    def tensor(self, array: Array) -> Tensor:
        tensor, storage = guarded.tensor(array)
        self.arrays[storage] = array
        return tensor

    def run(self, steps: list[Step], target: Target, sizes: dict[str, int] | None = None) -> None:
        guarded.run(on(steps, target), self.arrays, sizes)


def panels_of(memory: Memory, b: Array, target: Target, *, late: bool) -> tuple[Panels, list[Step]]:
    return packed_panels(memory.tensor(b), target) if late else (constant_panels(b, target), [])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_of_any_size_with_b_known_or_late(
    size: tuple[int, int, int], late: bool, lanes: int | None
) -> None:
    m, n, k = size
    a, b, y = drawn(m, k), drawn(k, n, seed=2), np.full((m, n), -7, np.float32)
    memory, target = Memory(), machine(lanes)
    panels, steps = panels_of(memory, b, target, late=late)
    memory.run([*steps, *matmul(memory.tensor(a), panels, memory.tensor(y))], target)
    close(y, a.astype(np.float64) @ b)


BATCHES = [
    ((2, 3), (2, 3), (2, 3)),
    ((2, 3), (3,), (2, 3)),
    ((2, 3), (2, 1), (2, 3)),
    ((3,), (2, 1), (2, 3)),
    ((1,), (4,), (4,)),
    ((4,), (), (4,)),
    ((2, 1, 2, 3), (1, 3, 2, 1), (2, 3, 2, 3)),
    ((2, 2, 2, 2), (2, 1, 2, 1), (2, 2, 2, 2)),
    ((0, 2), (2,), (0, 2)),
]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("shapes", BATCHES, ids=str)
def test_batches_are_broadcast(shapes: tuple[tuple[int, ...], ...], late: bool) -> None:
    first, second, both = shapes
    a, b, y = drawn(*first, 9, 20), drawn(*second, 20, 17, seed=2), np.full((*both, 9, 17), -7, np.float32)
    memory = Memory()
    panels, steps = panels_of(memory, b, host(), late=late)
    memory.run([*steps, *matmul(memory.tensor(a), panels, memory.tensor(y))], host())
    close(y, a.astype(np.float64) @ b)


@pytest.mark.parametrize("lanes", LANES)
def test_operands_may_be_views_of_any_strides(lanes: int | None) -> None:
    q, k, v = drawn(2, 37, 3, 20, seed=1), drawn(2, 45, 3, 20, seed=2), drawn(2, 20, 3, 2, 45, seed=3)
    scores, wild = np.zeros((2, 3, 37, 45), np.float32), np.zeros((2, 3, 37, 45), np.float32)
    memory, target = Memory(), machine(lanes)
    heads = memory.tensor(q).permuted((0, 2, 1, 3))
    keys, packing = packed_panels(memory.tensor(k).permuted((0, 2, 3, 1)), target)
    memory.run([*packing, *matmul(heads, keys, memory.tensor(scores))], target)
    wanted = np.einsum("bqhd,bkhd->bhqk", q.astype(np.float64), k)
    close(scores, wanted)
    every = memory.tensor(v)
    half = replace(every, shape=(2, 20, 3, 45), strides=(*every.strides[:3], 2))  # every second number
    other, packing = packed_panels(half.permuted((0, 2, 1, 3)), target)
    memory.run([*packing, *matmul(heads, other, memory.tensor(wild))], target)
    b = v.reshape(2, 20, 3, 90)[..., ::2].transpose(0, 2, 1, 3)
    close(wild, q.transpose(0, 2, 1, 3).astype(np.float64) @ b)


@pytest.mark.parametrize("lanes", LANES)
def test_a_may_stand_crosswise(lanes: int | None) -> None:
    a, b, y = drawn(700, 15), drawn(700, 70, seed=2), np.zeros((15, 70), np.float32)
    memory, target = Memory(), machine(lanes)
    across = memory.tensor(a).permuted((1, 0))
    memory.run(matmul(across, constant_panels(b, target), memory.tensor(y)), target)
    close(y, a.T.astype(np.float64) @ b)


def test_results_are_written_among_others() -> None:
    a, b, y = drawn(2, 3, 9, 20), drawn(20, 17, seed=2), np.full((2, 9, 3, 30), -7, np.float32)
    memory = Memory()
    whole = memory.tensor(y).permuted((0, 2, 1, 3))
    part = replace(whole, shape=(2, 3, 9, 17), offset=5)
    memory.run(matmul(memory.tensor(a), constant_panels(b, host()), part), host())
    wanted = np.full((2, 3, 9, 30), -7.0)
    wanted[..., 5:22] = a.astype(np.float64) @ b
    close(y.transpose(0, 2, 1, 3), wanted)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("function", [None, "gelu"])
def test_bias_and_tail_come_with_it(function: str | None, lanes: int | None) -> None:
    a, b, y = drawn(2, 3, 11, 700), drawn(2, 1, 700, 70, seed=2), np.zeros((2, 3, 11, 70), np.float32)
    bias, column, scalar = drawn(70, seed=3), drawn(70, seed=4), drawn(1, seed=5)
    own, shared = drawn(2, 3, 11, 70, seed=6), drawn(3, 1, 70, seed=7)
    x = Apply("mul", (Local("x"), Local("o0")))
    for i in (1, 2, 3):
        x = Apply("add", (x, Local(f"o{i}")))
    x = Apply("max", (x, Number(-30.0)))
    tail = Tail(x if function is None else Apply(function, (x,)), ("scalar", "column", "matrix", "matrix"))
    memory, target = Memory(), machine(lanes)
    panels = constant_panels(b, target)
    operands = tuple(memory.tensor(one) for one in (scalar, column, own, shared))
    first = constant(packed_bias(bias, panels.tile))
    memory.run(
        matmul(memory.tensor(a), panels, memory.tensor(y), bias=first, tail=tail, operands=operands), target
    )
    wanted = np.maximum((a.astype(np.float64) @ b + bias) * scalar + column + own + shared, -30)
    if function is not None:
        wanted = 0.5 * wanted * (1 + np.vectorize(math.erf)(wanted / np.sqrt(2)))
    close(y, wanted)


def test_sizes_may_be_known_late() -> None:
    n = symbol("n")
    memory = Memory()
    a, b, y = (
        memory.tensor(one) for one in (drawn(2, 3, 9, 5), drawn(2, 3, 5, 9, seed=2), drawn(2, 3, 9, 9))
    )
    arrays = list(memory.arrays.values())
    a = replace(a, shape=(2, 3, n, 5), strides=(n * 15, n * 5, 5, 1))
    b = replace(b, shape=(2, 3, 5, n), strides=(n * 15, n * 5, n, 1))
    y = replace(y, shape=(2, 3, n, n), strides=(n * n * 3, n * n, n, 1))
    panels, steps = packed_panels(b, host())
    memory.run([*steps, *matmul(a, panels, y)], host(), {"n": 9})
    close(arrays[2], arrays[0].astype(np.float64) @ arrays[1])


def test_nan_and_infinities_stay_in_their_rows_and_columns() -> None:
    a, b, y = drawn(9, 20), drawn(20, 70, seed=2), np.zeros((9, 70), np.float32)
    a[3, 4], a[5, 6], b[7, 8] = np.nan, np.inf, -np.inf
    memory = Memory()
    memory.run(matmul(memory.tensor(a), constant_panels(b, host()), memory.tensor(y)), host())
    with np.errstate(invalid="ignore"):
        close(y, a.astype(np.float64) @ b)
