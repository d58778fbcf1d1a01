"""Units of work of products: groups of rows by panels, evenly divided among two threads."""

from __future__ import annotations

import pytest

from sardonyx._src.compile.kernels.gemm.tile.row_blocks import (
    balanced_rows_per_unit,
    imbalance,
    rows_per_unit,
)
from sardonyx._src.ir.dims import symbol

TARGET_ROWS = 96


def unit_tiles(rows: int, panels: int, tile_rows: int, group_rows: int) -> list[int]:
    """The register tiles of each unit, in order: all panels of the first group of rows, then those of the next."""
    starts = range(0, rows, group_rows)
    groups = [-(-min(group_rows, rows - start) // tile_rows) for start in starts]
    return [tiles for tiles in groups for _ in range(panels)]


def larger_half(rows: int, panels: int, tile_rows: int, group_rows: int) -> int:
    tiles = unit_tiles(rows, panels, tile_rows, group_rows)
    middle = len(tiles) // 2
    return max(sum(tiles[:middle]), sum(tiles[middle:]))


@pytest.mark.parametrize("tile_rows", [6, 8])
@pytest.mark.parametrize("panels", [1, 2, 3, 5, 8])
def test_no_thread_has_more_tiles_than_without_balance(panels: int, tile_rows: int) -> None:
    for rows in range(1, 400, 3):
        group_rows = balanced_rows_per_unit(rows, panels, tile_rows, TARGET_ROWS)
        usual = rows_per_unit(rows, tile_rows, TARGET_ROWS)
        assert group_rows % tile_rows == 0 and 0 < group_rows <= usual
        assert -(-rows // group_rows) <= -(-rows // usual) + 1
        assert larger_half(rows, panels, tile_rows, group_rows) <= larger_half(rows, panels, tile_rows, usual)


def test_few_units_are_divided() -> None:
    assert unit_tiles(49, 3, 6, rows_per_unit(49, 6, TARGET_ROWS)) == [9, 9, 9]
    assert unit_tiles(49, 3, 6, balanced_rows_per_unit(49, 3, 6, TARGET_ROWS)) == [5, 5, 5, 4, 4, 4]


def test_even_units_remain() -> None:
    assert balanced_rows_per_unit(49, 20, 6, TARGET_ROWS) == rows_per_unit(49, 6, TARGET_ROWS)
    assert balanced_rows_per_unit(symbol("n"), 3, 6, TARGET_ROWS) == TARGET_ROWS


@pytest.mark.parametrize(("tiles", "group_tiles", "panels"), [(9, 9, 3), (9, 5, 3), (98, 11, 1), (25, 9, 2)])
def test_imbalance_is_the_share_above_one_half(tiles: int, group_tiles: int, panels: int) -> None:
    share = larger_half(tiles, panels, 1, group_tiles) / (tiles * panels)
    assert imbalance(tiles, group_tiles, panels) == pytest.approx(share - 0.5)
