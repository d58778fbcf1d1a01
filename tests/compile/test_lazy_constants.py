"""Lazy constants: materialized whole or in chunks of any size, they have the same bytes."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from sardonyx._src.compile.kernels.gemm.packing.packing import make_lazy_panels
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms
from sardonyx._src.compile.kernels.winograd.transforms import F2X3, F4X3
from sardonyx._src.compile.kernels.winograd.weight_transform import transform_weights
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program.operands import lazy_constants
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant, iter_bytes
from sardonyx._src.ir import Array

F = np.float32
TILE = make_tile(1, host_target())
DRAW = np.random.default_rng(0)
CONSTANTS = {
    "matrix": make_lazy_panels(DRAW.standard_normal((1, 33, 70), F), TILE),
    "stack": make_lazy_panels(DRAW.standard_normal((2, 3, 9, 5, 20), F), TILE),
    "columns": make_lazy_panels(DRAW.standard_normal((1, 70, 33), F).swapaxes(1, 2), TILE),
    "nothing": make_lazy_panels(np.empty((1, 4, 0), F), TILE),
    "winograd": transform_weights(DRAW.standard_normal((37, 5, 3, 3), F), TileTransforms(F4X3, F2X3), TILE),
}


@pytest.mark.parametrize("chunk_bytes", [1, 3000, 1 << 20])
@pytest.mark.parametrize("name", CONSTANTS)
def test_chunks_concatenate_to_the_whole(
    name: str, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    constant = CONSTANTS[name]
    expected = constant.materialize()
    monkeypatch.setattr(lazy_constants, "MAX_CHUNK_BYTES", chunk_bytes)
    assert expected.shape == constant.shape and expected.nbytes == constant.nbytes
    assert b"".join(bytes(chunk) for chunk in iter_bytes(constant)) == expected.tobytes()
    assert constant.materialize().tobytes() == expected.tobytes()


def test_rows_overwrite_uninitialized_memory() -> None:
    constant = CONSTANTS["stack"]
    rows = np.full((constant.num_rows, *constant.row_shape), np.nan, F)
    constant.fill_rows(rows, 0)
    assert rows.tobytes() == constant.materialize().tobytes()


def test_the_bytes_of_an_array_are_in_row_major_order() -> None:
    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4).swapaxes(0, 2)
    assert b"".join(bytes(chunk) for chunk in iter_bytes(array)) == array.tobytes()
    assert isinstance(CONSTANTS["matrix"], LazyConstant)


def test_chunks_of_a_large_constant_are_computed_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_constants, "MIN_PARALLEL_BYTES", 1)
    monkeypatch.setattr(lazy_constants, "MAX_CHUNK_BYTES", 64)
    monkeypatch.setattr(lazy_constants, "available_threads", lambda: 3)
    source = np.arange(1000, dtype=np.float32).reshape(125, 8)
    threads = set()

    def compute_rows(rows: Array, first: int) -> None:
        threads.add(threading.get_ident())
        time.sleep(0.0005)
        rows[:] = source[first : first + len(rows)] * 2

    constant = LazyConstant((125, 8), 1, source, compute_rows)
    np.testing.assert_array_equal(constant.materialize(), source * 2)
    assert len(threads) > 1
