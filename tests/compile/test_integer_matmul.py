"""int8 GEMMs: exact for any size, with each dot product instruction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import integer_matmul_steps
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import (
    make_padded_temporary,
    pack_int8_constant,
    view_as_int8x4,
)
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue, expand_row_vector
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

WITHOUT_VNNI = ("+sse2", "+avx2", "+avx512bw")  # of the host's features, for no int8 dot products


def make_targets() -> list[Target]:
    host = host_target()
    known = host.features.split(",")
    without_vnni = ",".join(feature for feature in WITHOUT_VNNI if feature in known)
    wide = [host, replace(host, features=without_vnni), replace(host, features="")]
    narrow = [
        replace(host, lanes=lanes, registers=16, features=f)
        for lanes in (8, 4)
        for f in (host.features, without_vnni, "")
    ]
    return [*wide, *narrow, replace(host, lanes=1, registers=16, features="")]


def compile_for(step: Step, target: Target) -> Step:
    kernel = step.kernel
    key = f"{kernel.key}:{target.lanes}:{hash(target.features)}"
    return replace(step, kernel=Kernel(key, lambda name, _: kernel.source(name, target)))


def pad_to_int8x4(a: Array) -> tuple[TensorView, Array]:
    """A [..., k] of 8-bit elements as packed int8x4, and its memory, in which rows are followed by arbitrary bytes."""
    tensor = make_padded_temporary(DataType.of(a.dtype), a.shape, "a")
    memory = np.full((*a.shape[:-1], -(-a.shape[-1] // 4) * 4), 77, a.dtype)
    memory[..., : a.shape[-1]] = a
    packed = view_as_int8x4(tensor)
    assert packed is not None, "rows are padded"
    return packed, memory


def draw(*shape: int, dtype: str, seed: int = 0) -> Array:
    info = np.iinfo(dtype)
    actual = np.random.default_rng(seed).integers(info.min, info.max, shape, dtype, endpoint=True)
    actual.reshape(-1)[: actual.size // 2] = info.max if seed else info.min  # for extreme sums
    return actual


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_an_epilogue_reads_operands_of_all_types_and_stores_bytes(lanes: int, batch: tuple[int, ...]) -> None:
    m, k, n = 11, 9, 37
    target = replace(host_target(), lanes=lanes, registers=32 if lanes == 16 else 16)
    a, b = draw(*batch, m, k, dtype="u1"), draw(k, n, dtype="i1", seed=1)
    column = np.random.default_rng(2).normal(size=n).astype(np.float32)
    zero, matrix = np.array([7], np.uint8), draw(*batch, m, n, dtype="u1", seed=3)
    of_row = np.arange(a.size // k, dtype=np.int32).reshape(*batch, m)
    packed, memory = pad_to_int8x4(a)
    y, y_storage = guarded.tensor(np.zeros((*batch, m, n), np.uint8))
    tensors = [guarded.tensor(array) for array in (column, zero, matrix, of_row)]
    sums = Apply("sub", (Local("x"), Local("o3")))
    scaled = Apply("mul", (Cast(DataType.FLOAT, sums), Local("o0")))
    value: Scalar = scaled
    for other in ("o1", "o2"):
        value = Apply("add", (value, Cast(DataType.FLOAT, Local(other))))
    clamped = Apply("clamp", (Apply("round", (value,)), Number(0), Number(255)))
    types = (DataType.FLOAT, DataType.UINT8, DataType.UINT8, DataType.INT32)
    epilogue = IntegerEpilogue(
        Cast(DataType.UINT8, clamped), ("column", "scalar", "matrix", "matrix"), types, DataType.UINT8, (3,)
    )
    operands = (*(t for t, _ in tensors[:3]), expand_row_vector(tensors[3][0], y))
    steps = integer_matmul_steps(packed, pack_int8_constant(b, target), y, None, epilogue, operands)
    actual = np.zeros((*batch, m, n), np.uint8)
    operand_arrays: tuple[Array, ...] = (column, zero, matrix, of_row)
    arrays = {buffer: array for (_, buffer), array in zip(tensors, operand_arrays, strict=True)}
    guarded.run([compile_for(s, target) for s in steps], {packed.buffer: memory, y_storage: actual, **arrays})
    exact = a.astype(np.int32) @ b.astype(np.int32) - of_row[..., None]
    expected = exact.astype(np.float32) * column + np.float32(7) + matrix.astype(np.float32)
    np.testing.assert_array_equal(actual, np.clip(np.rint(expected), 0, 255).astype(np.uint8))
