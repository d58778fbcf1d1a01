"""Products of bytes: exact, for any size, by each way that a target has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.products.integer_matmul import integer_matmul
from sardonyx._src.compile.products.integer_tail import IntegerTail, of_rows
from sardonyx._src.compile.products.packing import constant
from sardonyx._src.compile.products.words import constant_words, in_words, packed_sums, padded
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array

SIZES = [
    (1, 1, 1),
    (3, 4, 5),
    (1, 250, 128),
    (7, 31, 65),
    (101, 17, 33),
    (9, 64, 200),
    (2, 0, 3),
    (0, 5, 2),
    (5, 2100, 40),
]
PLAIN = "+sse2,+avx2,+avx512bw"  # features of a processor without products of bytes


def targets() -> list[Target]:
    here = host()
    ways = [here, replace(here, features=PLAIN), replace(here, features="")]
    narrow = [
        replace(here, lanes=lanes, registers=16, features=f)
        for lanes in (8, 4)
        for f in (here.features, PLAIN, "")
    ]
    return [*ways, *narrow, replace(here, lanes=1, registers=16, features="")]


def of_target(step: Step, target: Target) -> Step:
    kernel = step.kernel
    key = f"{kernel.key}:{target.lanes}:{hash(target.features)}"
    return replace(step, kernel=Kernel(key, lambda name, _: kernel.source(name, target)))


def rows_in_words(a: Array) -> tuple[Tensor, Array]:
    """A, [..., k] of bytes, as words, and the memory that it lies in: behind rows there is anything."""
    tensor = padded(DataType.of(a.dtype), a.shape, "a")
    memory = np.full((*a.shape[:-1], -(-a.shape[-1] // 4) * 4), 77, a.dtype)
    memory[..., : a.shape[-1]] = a
    words = in_words(tensor)
    assert words is not None, "rows have been made so"
    return words, memory


def draw(*shape: int, dtype: str, seed: int = 0) -> Array:
    info = np.iinfo(dtype)
    found = np.random.default_rng(seed).integers(info.min, info.max, shape, dtype, endpoint=True)
    found.reshape(-1)[: found.size // 2] = info.max if seed else info.min  # sums as far away as they can be
    return found


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_sums_are_exact_on_every_target(size: tuple[int, int, int], dtype: str) -> None:
    m, k, n = size
    a, b = draw(m, k, dtype=dtype), draw(k, n, dtype="i1", seed=1)
    moved = a.astype(np.int64) + (128 if dtype == "i1" else 0)
    bias = np.arange(n, dtype=np.int32) - 5
    want = moved @ b.astype(np.int64) + bias
    for target in targets():
        words, memory = rows_in_words(a)
        panels = constant_words(b, target)
        y, storage = guarded.tensor(np.zeros((m, n), np.int32))
        added = constant(packed_sums(bias, panels.tile))
        steps = integer_matmul(words, panels, y, added, IntegerTail(), flips=dtype == "i1")
        found = np.zeros((m, n), np.int32)
        guarded.run([of_target(step, target) for step in steps], {words.storage: memory, storage: found})
        np.testing.assert_array_equal(found, want, f"{target.lanes} lanes")


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_a_tail_takes_operands_of_all_types_and_writes_bytes(lanes: int, batch: tuple[int, ...]) -> None:
    m, k, n = 11, 9, 37
    target = replace(host(), lanes=lanes, registers=32 if lanes == 16 else 16)
    a, b = draw(*batch, m, k, dtype="u1"), draw(k, n, dtype="i1", seed=1)
    column = np.random.default_rng(2).normal(size=n).astype(np.float32)
    zero, rest = np.array([7], np.uint8), draw(*batch, m, n, dtype="u1", seed=3)
    of_row = np.arange(a.size // k, dtype=np.int32).reshape(*batch, m)
    words, memory = rows_in_words(a)
    y, y_storage = guarded.tensor(np.zeros((*batch, m, n), np.uint8))
    tensors = [guarded.tensor(one) for one in (column, zero, rest, of_row)]
    sums = Apply("sub", (Local("x"), Local("o3")))
    scaled = Apply("mul", (Cast(DataType.FLOAT, sums), Local("o0")))
    value: Scalar = scaled
    for other in ("o1", "o2"):
        value = Apply("add", (value, Cast(DataType.FLOAT, Local(other))))
    clamped = Apply("clamp", (Apply("round", (value,)), Number(0), Number(255)))
    types = (DataType.FLOAT, DataType.UINT8, DataType.UINT8, DataType.INT32)
    tail = IntegerTail(
        Cast(DataType.UINT8, clamped), ("column", "scalar", "matrix", "matrix"), types, DataType.UINT8, (3,)
    )
    operands = (*(t for t, _ in tensors[:3]), of_rows(tensors[3][0], y))
    steps = integer_matmul(words, constant_words(b, target), y, None, tail, operands)
    found = np.zeros((*batch, m, n), np.uint8)
    given: tuple[Array, ...] = (column, zero, rest, of_row)
    arrays = {storage: array for (_, storage), array in zip(tensors, given, strict=True)}
    guarded.run([of_target(s, target) for s in steps], {words.storage: memory, y_storage: found, **arrays})
    exact = a.astype(np.int32) @ b.astype(np.int32) - of_row[..., None]
    want = exact.astype(np.float32) * column + np.float32(7) + rest.astype(np.float32)
    np.testing.assert_array_equal(found, np.clip(np.rint(want), 0, 255).astype(np.uint8))
