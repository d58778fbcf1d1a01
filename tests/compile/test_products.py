"""Tiles of products: which one is chosen, how weights lie for it, and strided rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.ending import Ending, result_arguments
from sardonyx._src.compile.products.micro import Micro
from sardonyx._src.compile.products.packing import constant, packed, packed_bias
from sardonyx._src.compile.products.tiles import ROWS, Tile, tile_for, tile_of
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Value


@pytest.mark.parametrize("registers", [16, 32])
def test_a_tile_fits_the_registers(registers: int) -> None:
    for vectors in ROWS[registers]:
        tile = tile_of(vectors, 16, registers)
        assert tile.rows * vectors + vectors + 1 <= registers  # sums, a row of B, an element of A
        assert tile.rows * vectors >= 8  # two multiply-adds a cycle that take four


@pytest.mark.parametrize(
    ("columns", "vectors"),
    [(1, 1), (16, 1), (17, 2), (48, 3), (64, 4), (80, 3), (96, 3), (144, 3), (1000, 3)],
)
def test_a_tile_computes_few_dead_columns(columns: int, vectors: int) -> None:
    assert tile_for(columns, 16, 32).vectors == vectors


def test_panels_are_filled_up_with_zeros() -> None:
    tile, b = Tile(6, 2, 4), np.arange(2 * 3 * 11, dtype=np.float32).reshape(2, 3, 11)
    panels = packed(b, tile)
    assert panels.shape == (2, 2, 3, 8)
    np.testing.assert_array_equal(panels[0], b[..., :8])
    np.testing.assert_array_equal(panels[1, ..., :3], b[..., 8:])
    assert not panels[1, ..., 3:].any()
    np.testing.assert_array_equal(packed_bias(b[0, 0], tile).reshape(-1)[:11], b[0, 0])


def test_code_is_made_for_few_numbers_of_rows() -> None:
    assert [Tile(rows, 1, 16).heights for rows in (1, 2, 6, 14)] == [[1], [1, 2], [1, 5, 6], [1, 7, 14]]


def transposed_product(tile: Tile, target: Target) -> Kernel:
    """A kernel of one panel for a transposed A [k, m]: arguments a, b, m, n, k, result; a unit is a block of rows."""

    def source(name: str, _: Target) -> str:
        code = Micro(tile, Tail(), target.fused)
        a, b, m, n, k = code.pointer(0), code.pointer(1), code.size(2), code.size(3), code.size(4)
        result = code.result(5)

        def unit(unit: Value) -> None:
            row = unit * tile.rows

            def sums(rows: int) -> None:
                code.start(rows)
                addresses = [code.address(a, row + code.clamped(r, m - row)) for r in range(rows)]
                code.accumulate(addresses, b, k, stride=m)

            code.block(m - row, sums, Ending(result, row, code.constant(0, I64), n))

        code.counted(code.first, code.last, 1, unit)
        return code.module(name)

    return Kernel(f"transposed {tile}", source)


@pytest.mark.parametrize(
    "tile", [Tile(6, 4, 16), Tile(14, 1, 16), Tile(6, 2, 8), Tile(2, 1, 4), Tile(3, 2, 1)], ids=str
)
@pytest.mark.parametrize("size", [(1, 5), (6, 1), (17, 33), (3, 0), (0, 2)], ids=str)
def test_rows_may_be_strided(tile: Tile, size: tuple[int, int]) -> None:
    m, k = size
    n = tile.width - (tile.width > 1)
    draw = np.random.default_rng(m + k)
    a, b = draw.normal(size=(k, m)).astype(np.float32), draw.normal(size=(k, n)).astype(np.float32)
    y = np.full((m, n), np.nan, np.float32)
    given, source = guarded.tensor(a)
    result, sink = guarded.tensor(y)
    panel = constant(packed(b[None], tile))
    target = replace(host(), lanes=tile.lanes)
    step = Step(
        transposed_product(tile, target),
        (given, panel, m, n, k, *result_arguments(result, Tail(), ())),
        -(-m // tile.rows),
        (given, panel),
        (result,),
    )
    guarded.run(step, {source: a, sink: y})
    wanted = a.T.astype(np.float64) @ b
    np.testing.assert_allclose(
        y, wanted, 0, 1e-6 * max(1.0, np.abs(wanted).max(initial=0))
    )  # sums of 33 terms
