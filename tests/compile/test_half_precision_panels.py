"""GEMMs with half-precision constants, whose panels are not promoted to float32 if they are large."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from compile.test_matmul_kernel import Memory, assert_close, draw, make_target
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, make_lazy_panels, pack_bias
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.tuning import TUNINGS
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program.operands.lazy_constants import iter_bytes
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

HALF_DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
half_dtypes = pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)


@pytest.fixture(autouse=True)
def keep_all_in_half_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    promote_below(0, monkeypatch)


def promote_below(num_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the bytes of a constant from which on it is not promoted."""
    for name, table in TUNINGS.copy().items():
        gemm = replace(table.gemm, min_half_bytes=num_bytes)
        monkeypatch.setitem(TUNINGS, name, replace(table, gemm=gemm))


def product(a: Array, b: Array, target: Target) -> Array:
    y = np.full((*a.shape[:-1], b.shape[-1]), -7, np.float32)
    memory, packed = Memory(), pack_constant(b, target)
    assert packed.tensor.dtype is DataType.of(b.dtype)
    memory.run(matmul_steps(memory.tensor(a), packed, memory.tensor(y)), target)
    return y


@half_dtypes
@pytest.mark.parametrize("rows", [1, 12, 13, 60, 300])
def test_a_row_has_equal_bits_whether_its_panel_is_promoted_or_not(
    rows: int, dtype: np.dtype[np.generic]
) -> None:
    """Few rows convert vectors as they load them; many read a block that was promoted once."""
    a, b = draw(rows, 1100), draw(1100, 70, seed=2).astype(dtype)
    y = product(a, b, host_target())
    for first in range(0, rows, 7):
        few = slice(first, first + 7)
        np.testing.assert_array_equal(product(a[few], b, host_target()), y[few])


@pytest.mark.parametrize("lanes", [None, 4])
def test_float16_needs_no_special_instructions(lanes: int | None) -> None:
    a, b = draw(7, 130), draw(130, 70, seed=2).astype(np.float16)
    target = replace(make_target(lanes), has_fma=False)
    assert_close(product(a, b, target), a.astype(np.float64) @ b.astype(np.float64))


@half_dtypes
def test_batches_have_panels_of_their_own(dtype: np.dtype[np.generic]) -> None:
    a, b = draw(3, 9, 20), draw(3, 20, 17, seed=2).astype(dtype)
    assert_close(product(a, b, host_target()), a.astype(np.float64) @ b.astype(np.float64))


@half_dtypes
def test_bias_and_epilogue_are_fused(dtype: np.dtype[np.generic]) -> None:
    a, b, bias, y = draw(8, 40), draw(40, 90, seed=2).astype(dtype), draw(90, seed=3), draw(8, 90)
    memory, packed = Memory(), pack_constant(b, host_target())
    epilogue = Epilogue(Apply("max", (Local("x"), Local("o0"))), ("column",))
    operand = draw(90, seed=4)
    bias_panels = make_constant(pack_bias(bias, packed.tile), "bias")
    operands = (memory.tensor(operand),)
    steps = matmul_steps(
        memory.tensor(a), packed, memory.tensor(y), bias=bias_panels, epilogue=epilogue, operands=operands
    )
    memory.run(steps, host_target())
    assert_close(y, np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, operand))


@half_dtypes
@pytest.mark.parametrize("is_transposed", [False, True])
def test_panels_hold_the_elements_of_the_constant(is_transposed: bool, dtype: np.dtype[np.generic]) -> None:
    tile = make_tile(1, host_target())
    b = draw(2, 1, 33, 70).astype(dtype)
    b = b.swapaxes(-1, -2) if is_transposed else b
    half, single = make_lazy_panels(b, tile, keep_half=True), make_lazy_panels(b, tile)
    assert half.nbytes * 2 == single.nbytes
    assert half.materialize().astype(np.float32).tobytes() == single.materialize().tobytes()
    assert b"".join(bytes(chunk) for chunk in iter_bytes(half)) == half.materialize().tobytes()


def test_small_constants_are_promoted(monkeypatch: pytest.MonkeyPatch) -> None:
    promote_below(1 << 17, monkeypatch)
    packed = pack_constant(draw(20, 30).astype(np.float16), host_target())
    assert packed.tensor.dtype is DataType.FLOAT
