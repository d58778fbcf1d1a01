"""Products of few rows with B where it stands, beside NumPy in double precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile.test_matmul_kernel import LANES, Memory, close, drawn, machine
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.loops.ir import Apply, Local
from sardonyx._src.compile.products.matvec import matvec, takes
from sardonyx._src.compile.tail import Tail
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

SIZES = [(1, 1, 1), (1, 64, 5), (2, 3, 0), (0, 4, 2), (1, 0, 2), (3, 300, 70), (1, 128, 33), (4, 273, 16)]


def beside(b: Array, *, crosswise: bool) -> Array:
    """B, or what a transposed view of is B."""
    return np.ascontiguousarray(b.swapaxes(-1, -2)) if crosswise else b


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("crosswise", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_of_any_size_along_rows_or_columns_of_b(
    size: tuple[int, int, int], crosswise: bool, lanes: int | None
) -> None:
    m, n, k = size
    a, b, y = drawn(m, k), drawn(k, n, seed=2), np.full((m, n), -7, np.float32)
    memory = Memory()
    right = memory.tensor(beside(b, crosswise=crosswise))
    right = right.permuted((1, 0)) if crosswise else right
    memory.run(matvec(memory.tensor(a), right, memory.tensor(y)), machine(lanes))
    close(y, a.astype(np.float64) @ b)


@pytest.mark.parametrize("crosswise", [False, True])
def test_batches_are_broadcast_and_a_tail_comes_with_it(crosswise: bool) -> None:
    a, b, y = drawn(2, 3, 2, 20), drawn(2, 1, 20, 150, seed=2), np.zeros((2, 3, 2, 150), np.float32)
    scalar, column, more = drawn(1, seed=3), drawn(150, seed=4), drawn(3, 1, 150, seed=5)
    x = Apply("mul", (Local("x"), Local("o0")))
    for i in (1, 2):
        x = Apply("add", (x, Local(f"o{i}")))
    memory = Memory()
    right = memory.tensor(beside(b, crosswise=crosswise))
    right = right.permuted((0, 1, 3, 2)) if crosswise else right
    operands = tuple(memory.tensor(one) for one in (scalar, column, more))
    tail = Tail(x, ("scalar", "column", "matrix"))
    memory.run(matvec(memory.tensor(a), right, memory.tensor(y), tail=tail, operands=operands), host())
    close(y, (a.astype(np.float64) @ b) * scalar + column + more)


def test_a_may_stand_crosswise_where_rows_of_b_are_read() -> None:
    a, b, y = drawn(30, 3), drawn(30, 40, seed=2), np.zeros((3, 40), np.float32)
    memory = Memory()
    left, right = memory.tensor(a).permuted((1, 0)), memory.tensor(b)
    assert takes(left, right)
    assert not takes(left, memory.tensor(drawn(40, 30)).permuted((1, 0)))
    memory.run(matvec(left, right, memory.tensor(y)), host())
    close(y, a.T.astype(np.float64) @ b)


def test_sizes_may_be_known_late() -> None:
    n = symbol("n")
    arrays = [drawn(2, 1, 9), drawn(2, 9, 9, seed=2), drawn(2, 1, 9)]
    memory = Memory()
    a, b, y = (memory.tensor(one) for one in arrays)
    a, y = (replace(one, shape=(2, 1, n), strides=(n, n, 1)) for one in (a, y))
    b = replace(b, shape=(2, n, n), strides=(n * n, 1, n))
    memory.run(matvec(a, b, y), host(), {"n": 9})
    close(arrays[2], arrays[0].astype(np.float64) @ arrays[1].swapaxes(1, 2))
