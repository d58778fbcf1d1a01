"""GEMM register tiles: choice of a tile, its row counts, and packed panels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sardonyx._src.compile.kernels.gemm.packing.packing import make_lazy_panels, pack_bias
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, choose_tile, make_tile
from sardonyx._src.compile.kernels.tuning import tuning_for
from sardonyx._src.compile.llvm.jit import host_target


@pytest.mark.parametrize("registers", [16, 32])
def test_a_tile_fits_the_registers(registers: int) -> None:
    target = replace(host_target(), registers=registers)
    for vectors in tuning_for(target).gemm.tile_rows:
        tile = make_tile(vectors, target)
        assert tile.rows * vectors + vectors + 1 <= registers  # accumulators, a row of B, an element of A
        # Two multiply-adds a cycle with a latency of four need eight sums.  Of x86-64's 16 integer registers, seven are left
        # for the rows of A: a tile of one vector with more rows loads addresses from the stack.
        assert tile.rows * vectors >= (7 if (registers, vectors) == (16, 1) else 8)


@pytest.mark.parametrize(
    ("columns", "vectors"),
    [(1, 1), (16, 1), (17, 2), (48, 3), (64, 4), (80, 3), (96, 3), (144, 3), (1000, 3)],
)
def test_the_chosen_tile_has_little_padding(columns: int, vectors: int) -> None:
    assert choose_tile(columns, replace(host_target(), lanes=16, registers=32)).vectors == vectors


def test_panels_are_padded_with_zeros() -> None:
    tile, b = RegisterTile(6, 2, 4), np.arange(2 * 3 * 11, dtype=np.float32).reshape(2, 3, 11)
    panels = make_lazy_panels(b, tile).materialize()
    assert panels.shape == (2, 2, 3, 8)
    np.testing.assert_array_equal(panels[0], b[..., :8])
    np.testing.assert_array_equal(panels[1, ..., :3], b[..., 8:])
    assert not panels[1, ..., 3:].any()
    np.testing.assert_array_equal(pack_bias(b[0, 0], tile).reshape(-1)[:11], b[0, 0])


def test_a_tile_has_at_most_three_row_counts() -> None:
    assert [RegisterTile(rows, 1, 16).row_counts for rows in (1, 2, 6, 14)] == [
        [1],
        [1, 2],
        [1, 5, 6],
        [1, 7, 14],
    ]
