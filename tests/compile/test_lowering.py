"""Compiled loops do what Python does with them, at every width."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np
import pytest

from sardonyx.compile.llvm.jit import load
from sardonyx.compile.loops.ir import (
    Apply,
    Binary,
    Buffer,
    For,
    Kernel,
    Load,
    Local,
    Number,
    Put,
    Scalar,
    Select,
    Store,
)
from sardonyx.compile.loops.lowering import lowered
from sardonyx.compile.loops.runner import run
from sardonyx.dtypes import DataType
from sardonyx.ir.dims import symbol
from sardonyx.ir.tensors import Array

M, N, i, j = map(symbol, "MNij")
F = DataType.FLOAT
SHAPES = [(0, 0), (1, 1), (2, 3), (3, 16), (2, 37), (5, 64)]


def compiled(kernel: Kernel, lanes: int, buffers: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    library = load(lowered(kernel, lanes, {}, fused=True), [kernel.name])
    types = [ctypes.c_void_p] * len(kernel.buffers) + [ctypes.c_int64] * len(kernel.sizes)
    addresses = [buffers[b.name].ctypes.data for b in kernel.buffers]
    library.function(kernel.name, *types)(*addresses, *(sizes[s] for s in kernel.sizes))


def agrees(kernel: Kernel, lanes: int, m: int, n: int, rtol: float = 0) -> None:
    """Asserts that compiled and interpreted kernel write the same into every buffer that is not only read."""
    draw = np.random.default_rng(m * 100 + n)
    sizes = {"M": m, "N": n}
    made = {b.name: draw.normal(size=max(m * n, m, 1)).astype(np.float32) for b in kernel.buffers}
    mine, theirs = ({k: v.copy() for k, v in made.items()} for _ in range(2))
    compiled(kernel, lanes, mine, sizes)
    run(kernel, theirs, sizes)
    for name in made:
        np.testing.assert_allclose(mine[name], theirs[name], rtol, 1e-6 if rtol else 0, err_msg=name)


def elementwise(value: Scalar, lanes_over: str = "j") -> Kernel:
    buffers = (Buffer("x", F, M * N, "in"), Buffer("z", F, M * N, "in"), Buffer("y", F, M * N, "out"))
    inner = For("j", N, (Store("y", i * N + j, value),), vector=True)
    return Kernel("k", buffers, ("M", "N"), (For("i", M, (inner,)),))


X, Z = Load("x", i * N + j), Load("z", i * N + j)


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elements_are_computed_as_python_does(lanes: int, shape: tuple[int, int]) -> None:
    value = Apply(
        "add", (Apply("mul", (X, Z)), Select("lt", X, Number(0), Apply("neg", (X,)), Apply("sqrt", (X,))))
    )
    agrees(elementwise(value), lanes, *shape)


@pytest.mark.parametrize("op", ["sub", "div", "max", "min"])
def test_operations_of_two_values(op: Binary) -> None:
    agrees(elementwise(Apply(op, (X, Z))), 8, 3, 21)


@pytest.mark.parametrize("op", ["abs", "floor", "ceil", "round"])
def test_operations_of_one_value(op: str) -> None:
    agrees(elementwise(Apply(op, (X,))), 8, 3, 21)  # type: ignore[arg-type]


def test_extremes_hand_on_nan() -> None:
    x = np.array([np.nan, 1, -0.0, np.inf], np.float32)
    z = np.array([1, np.nan, 0.0, -np.inf], np.float32)
    y = np.zeros(4, np.float32)
    compiled(elementwise(Apply("max", (X, Z))), 4, {"x": x, "z": z, "y": y}, {"M": 1, "N": 4})
    assert np.isnan(y[:2]).all()
    assert y[2:].tolist() == [0, np.inf]


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("op", ["add", "max"])
def test_a_row_is_folded(op: Binary, shape: tuple[int, int], lanes: int) -> None:
    buffers = (Buffer("x", F, M * N, "in"), Buffer("y", F, M, "out"))
    fold = For("j", N, (Put("t", Apply(op, (Local("t"), X))),), vector=True)
    row = For("i", M, (Put("t", Number(-1)), fold, Store("y", i, Local("t"))))
    agrees(Kernel("k", buffers, ("M", "N"), (row,)), lanes, *shape, rtol=1e-5)


@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_places_that_are_no_neighbours_are_gathered_and_scattered(shape: tuple[int, int], lanes: int) -> None:
    buffers = (Buffer("x", F, M * N, "in"), Buffer("y", F, M * N, "out"))
    turned = For("j", N, (Store("y", j * M + i, X),), vector=True)
    back = For("i", M, (Store("y", i * N + j, Load("x", j * M + i)),), vector=True)
    for kernel in (
        Kernel("k", buffers, ("M", "N"), (For("i", M, (turned,)),)),
        Kernel("k", buffers, ("M", "N"), (For("j", N, (back,)),)),
    ):
        agrees(kernel, lanes, *shape)


def test_a_row_is_spread_over_all() -> None:
    value = Apply("mul", (X, Load("z", j)))
    buffers = (Buffer("x", F, M * N, "in"), Buffer("z", F, N, "in"), Buffer("y", F, M * N, "out"))
    kernel = Kernel(
        "k", buffers, ("M", "N"), (For("i", M, (For("j", N, (Store("y", i * N + j, value),), vector=True),)),)
    )
    agrees(kernel, 16, 3, 37)
