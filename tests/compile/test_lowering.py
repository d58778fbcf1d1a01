"""Compiled loops do what Python does with them, at every width, for every element type, in any split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.loops.ir import (
    Apply,
    Buffer,
    Cast,
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
from sardonyx._src.compile.loops.runner import number, run
from sardonyx._src.compile.loops.steps import step
from sardonyx._src.compile.step import Kernel as Native
from sardonyx._src.compile.step import Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

M, N, i, j = map(symbol, "MNij")
F, I32, U8, B = DataType.FLOAT, DataType.INT32, DataType.UINT8, DataType.BOOL
SHAPES = [(0, 0), (1, 1), (2, 3), (3, 16), (2, 37), (5, 64)]
X, Z = Load("x", i * N + j), Load("z", i * N + j)


def narrow(step: Step, lanes: int) -> Step:
    """The step compiled for registers of some other width."""
    source = step.kernel.source
    kernel = Native(
        f"{step.kernel.key}@{lanes}", lambda name, target: source(name, replace(host(), lanes=lanes))
    )
    return replace(step, kernel=kernel)


def drawn(dtype: DataType, size: int, draw: np.random.Generator) -> Array:
    if dtype.is_float:
        return draw.normal(size=size).astype(dtype.numpy)
    if dtype is B:
        return draw.integers(0, 2, size).astype(np.bool_)
    info = np.iinfo(dtype.numpy)
    found = draw.integers(info.min, info.max, size, dtype.numpy, endpoint=True)
    found[:3] = np.array([info.min, info.max, 0], dtype.numpy)[:size]
    return found


def agrees(kernel: Kernel, lanes: int, m: int, n: int, rtol: float = 0) -> None:
    """Asserts that compiled and interpreted kernel write the same into every buffer that is not only read."""
    draw = np.random.default_rng(m * 100 + n)
    sizes = {"M": m, "N": n}
    made = {b.name: drawn(b.dtype, number(b.size, sizes), draw) for b in kernel.buffers}
    mine, theirs = ({k: v.copy() for k, v in made.items()} for _ in range(2))
    tensors = {name: guarded.tensor(array, name) for name, array in mine.items()}
    call = step(kernel, {k: t for k, (t, _) in tensors.items()}, {"M": M, "N": N})
    guarded.run(narrow(call, lanes), {s: mine[k] for k, (_, s) in tensors.items()}, sizes)
    run(kernel, theirs, sizes)
    for name in made:
        np.testing.assert_allclose(mine[name], theirs[name], rtol, 1e-6 if rtol else 0, err_msg=name)


def elementwise(value: Scalar, dtype: DataType = F, result: DataType | None = None) -> Kernel:
    of = (("x", dtype, "in"), ("z", dtype, "in"), ("y", result or dtype, "out"))
    buffers = tuple(Buffer(name, t, M * N, role) for name, t, role in of)  # type: ignore[arg-type]
    inner = For("j", N, (Store("y", i * N + j, value),), vector=True)
    return Kernel("k", buffers, ("M", "N"), (For("i", M, (inner,), parallel=True),))


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elements_are_computed_as_python_does(lanes: int, shape: tuple[int, int]) -> None:
    value = Apply(
        "add", (Apply("mul", (X, Z)), Select("lt", X, Number(0), Apply("neg", (X,)), Apply("sqrt", (X,))))
    )
    agrees(elementwise(value), lanes, *shape)


@pytest.mark.parametrize("op", ["sub", "div", "max", "min"])
@pytest.mark.parametrize("dtype", [F, DataType.DOUBLE, I32, DataType.INT64, U8, DataType.INT8], ids=str)
def test_operations_of_two_values(op: str, dtype: DataType) -> None:
    agrees(elementwise(Apply(op, (X, Z)), dtype), 8, 3, 21)


@pytest.mark.parametrize("op", ["mod", "fmod", "and", "or", "xor"])
@pytest.mark.parametrize("dtype", [I32, DataType.INT64, U8, DataType.INT8, DataType.UINT32], ids=str)
def test_operations_of_two_integers(op: str, dtype: DataType) -> None:
    agrees(elementwise(Apply(op, (X, Z)), dtype), 8, 3, 21)


@pytest.mark.parametrize("op", ["abs", "floor", "ceil", "round", "trunc", "sign"])
def test_operations_of_one_value(op: str) -> None:
    agrees(elementwise(Apply(op, (X,))), 8, 3, 21)


@pytest.mark.parametrize("op", ["lt", "le", "eq"])
@pytest.mark.parametrize("dtype", [F, I32, U8], ids=str)
@pytest.mark.parametrize("lanes", [1, 16])
def test_comparisons_make_bools(op: str, dtype: DataType, lanes: int) -> None:
    agrees(elementwise(Apply(op, (X, Z)), dtype, B), lanes, 3, 21)


def test_bools_have_a_logic_and_choose() -> None:
    either = Apply("or", (Apply("lt", (X, Number(0))), Apply("not", (Apply("le", (Z, Number(0))),))))
    agrees(elementwise(either, F, B), 16, 3, 21)
    agrees(elementwise(Apply("where", (either, X, Number(7)))), 16, 3, 21)


@pytest.mark.parametrize("source", [F, DataType.DOUBLE, I32, DataType.INT64, U8, DataType.INT8, B], ids=str)
@pytest.mark.parametrize("to", [F, DataType.DOUBLE, I32, DataType.INT64, U8, DataType.INT8, B], ids=str)
def test_casts_are_those_of_the_operator(source: DataType, to: DataType) -> None:
    agrees(elementwise(Cast(to, X), source, to), 16, 2, 21)


def test_extremes_hand_on_nan() -> None:
    x = np.array([np.nan, 1, -0.0, np.inf], np.float32)
    z = np.array([1, np.nan, 0.0, -np.inf], np.float32)
    y = np.zeros(4, np.float32)
    tensors = [guarded.tensor(a) for a in (x, z, y)]
    call = step(
        elementwise(Apply("max", (X, Z))),
        dict(zip("xzy", (t for t, _ in tensors), strict=True)),
        {"M": 1, "N": 4},
    )
    guarded.run(call, {s: a for (_, s), a in zip(tensors, (x, z, y), strict=True)})
    assert np.isnan(y[:2]).all()
    assert y[2:].tolist() == [0, np.inf]


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("op", ["add", "max"])
@pytest.mark.parametrize("dtype", [F, I32], ids=str)
def test_a_row_is_folded(op: str, shape: tuple[int, int], lanes: int, dtype: DataType) -> None:
    buffers = (Buffer("x", dtype, M * N, "in"), Buffer("y", dtype, M, "out"))
    fold = For("j", N, (Put("t", Apply(op, (Local("t"), X))),), vector=True)
    first = Cast(dtype, Number(-1))
    row = For("i", M, (Put("t", first), fold, Store("y", i, Local("t"))), parallel=True)
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


@pytest.mark.parametrize("lanes", [1, 16])
def test_a_parallel_loop_may_be_of_vectors(lanes: int) -> None:
    buffers = (Buffer("x", F, M, "in"), Buffer("y", F, M, "out"))
    loop = For("i", M, (Store("y", i, Apply("neg", (Load("x", i),))),), vector=True, parallel=True)
    agrees(Kernel("k", buffers, ("M", "N"), (loop,)), lanes, 37, 0)


def test_a_row_is_spread_over_all() -> None:
    value = Apply("mul", (X, Load("z", j)))
    buffers = (Buffer("x", F, M * N, "in"), Buffer("z", F, N, "in"), Buffer("y", F, M * N, "out"))
    kernel = Kernel(
        "k", buffers, ("M", "N"), (For("i", M, (For("j", N, (Store("y", i * N + j, value),), vector=True),)),)
    )
    agrees(kernel, 16, 3, 37)
