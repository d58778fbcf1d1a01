"""Products by constants of 16 bits, whose panels stay of 16 bits where they are large."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from compile.test_matmul_kernel import LANES, SIZES, Memory, close, drawn, machine
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Apply, Local
from sardonyx._src.compile.pending import bytes_of
from sardonyx._src.compile.products import panels
from sardonyx._src.compile.products.matmul import matmul
from sardonyx._src.compile.products.packing import constant, packed_bias, panels_of
from sardonyx._src.compile.products.panels import constant_panels
from sardonyx._src.compile.products.tiles import tile_of
from sardonyx._src.compile.tail import Tail
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
kinds = pytest.mark.parametrize("kind", HALVES, ids=str)


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "LARGE", 0)


def product(a: Array, b: Array, target: Target) -> Array:
    y = np.full((*a.shape[:-1], b.shape[-1]), -7, np.float32)
    memory, packed = Memory(), constant_panels(b, target)
    assert packed.tensor.dtype is DataType.of(b.dtype)
    memory.run(matmul(memory.tensor(a), packed, memory.tensor(y)), target)
    return y


@kinds
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_of_any_size(
    size: tuple[int, int, int], lanes: int | None, kind: np.dtype[np.generic]
) -> None:
    m, n, k = size
    a, b = drawn(m, k), drawn(k, n, seed=2).astype(kind)
    close(product(a, b, machine(lanes)), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("lanes", [None, 4])
def test_float16_needs_no_instructions_of_its_own(lanes: int | None) -> None:
    a, b = drawn(7, 130), drawn(130, 70, seed=2).astype(np.float16)
    target = replace(machine(lanes), fused=False)
    close(product(a, b, target), a.astype(np.float64) @ b.astype(np.float64))


@kinds
def test_batches_have_panels_of_their_own(kind: np.dtype[np.generic]) -> None:
    a, b = drawn(3, 9, 20), drawn(3, 20, 17, seed=2).astype(kind)
    close(product(a, b, host()), a.astype(np.float64) @ b.astype(np.float64))


@kinds
def test_bias_and_tail_come_with_it(kind: np.dtype[np.generic]) -> None:
    a, b, bias, y = drawn(8, 40), drawn(40, 90, seed=2).astype(kind), drawn(90, seed=3), drawn(8, 90)
    memory, packed = Memory(), constant_panels(b, host())
    tail = Tail(Apply("max", (Local("x"), Local("o0"))), ("column",))
    other = drawn(90, seed=4)
    added = constant(packed_bias(bias, packed.tile), "bias")
    operands = (memory.tensor(other),)
    steps = matmul(memory.tensor(a), packed, memory.tensor(y), bias=added, tail=tail, operands=operands)
    memory.run(steps, host())
    close(y, np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, other))


@kinds
@pytest.mark.parametrize("is_turned", [False, True])
def test_panels_hold_the_numbers_of_the_constant(is_turned: bool, kind: np.dtype[np.generic]) -> None:
    tile = tile_of(1, host().lanes, host().registers)
    b = drawn(2, 1, 33, 70).astype(kind)
    b = b.swapaxes(-1, -2) if is_turned else b
    narrow, wide = panels_of(b, tile, narrow=True), panels_of(b, tile)
    assert narrow.nbytes * 2 == wide.nbytes
    assert narrow.made().astype(np.float32).tobytes() == wide.made().tobytes()
    assert b"".join(bytes(one) for one in bytes_of(narrow)) == narrow.made().tobytes()


def test_small_constants_are_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "LARGE", 1 << 17)
    found = constant_panels(drawn(20, 30).astype(np.float16), host())
    assert found.tensor.dtype is DataType.FLOAT
