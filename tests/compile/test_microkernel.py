"""GEMM register tiles and the microkernel: choice of a tile, packed panels, and rows of A with a stride."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.microkernel import MicrokernelEmitter
from sardonyx._src.compile.kernels.gemm.output import TileStore, output_arguments
from sardonyx._src.compile.kernels.gemm.packing import make_constant, make_lazy_panels, pack_bias
from sardonyx._src.compile.kernels.gemm.register_tile import (
    MAX_TILE_ROWS,
    RegisterTile,
    choose_tile,
    make_tile,
)
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program.step import Kernel, Step


@pytest.mark.parametrize("registers", [16, 32])
def test_a_tile_fits_the_registers(registers: int) -> None:
    for vectors in MAX_TILE_ROWS[registers]:
        tile = make_tile(vectors, 16, registers)
        assert tile.rows * vectors + vectors + 1 <= registers  # accumulators, a row of B, an element of A
        assert tile.rows * vectors >= 8  # two multiply-adds a cycle with a latency of four


@pytest.mark.parametrize(
    ("columns", "vectors"),
    [(1, 1), (16, 1), (17, 2), (48, 3), (64, 4), (80, 3), (96, 3), (144, 3), (1000, 3)],
)
def test_the_chosen_tile_has_little_padding(columns: int, vectors: int) -> None:
    assert choose_tile(columns, 16, 32).vectors == vectors


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


def transposed_matmul_kernel(tile: RegisterTile, target: Target) -> Kernel:
    """A kernel of one panel for a transposed A [k, m]: arguments a, b, m, n, k, y; a unit of work is a block of rows."""

    def source(name: str, _: Target) -> str:
        emitter = MicrokernelEmitter(tile, Epilogue(), target)
        a, b, m, n, k = (
            emitter.pointer_argument(0),
            emitter.pointer_argument(1),
            emitter.size_argument(2),
            emitter.size_argument(3),
            emitter.size_argument(4),
        )
        output = emitter.output_matrix(5)

        def unit(unit: LLVMValue) -> None:
            row = unit * tile.rows

            def accumulate_rows(rows: int) -> None:
                emitter.init_accumulators(rows)
                addresses = [emitter.gep(a, row + emitter.clamp_row(r, m - row)) for r in range(rows)]
                emitter.accumulate(addresses, b, k, stride=m)

            emitter.emit_block(m - row, accumulate_rows, TileStore(output, row, emitter.constant(0, I64), n))

        emitter.loop_call(emitter.first_unit, emitter.end_unit, 1, unit)
        return emitter.build_module(name)

    return Kernel(f"transposed {tile}", source)


@pytest.mark.parametrize(
    "tile",
    [
        RegisterTile(6, 4, 16),
        RegisterTile(14, 1, 16),
        RegisterTile(6, 2, 8),
        RegisterTile(2, 1, 4),
        RegisterTile(3, 2, 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [(1, 5), (6, 1), (17, 33), (3, 0), (0, 2)], ids=str)
def test_rows_of_a_may_have_a_stride(tile: RegisterTile, size: tuple[int, int]) -> None:
    m, k = size
    n = tile.width - (tile.width > 1)
    draw = np.random.default_rng(m + k)
    a, b = draw.normal(size=(k, m)).astype(np.float32), draw.normal(size=(k, n)).astype(np.float32)
    y = np.full((m, n), np.nan, np.float32)
    a_tensor, a_buffer = guarded.tensor(a)
    y_tensor, y_buffer = guarded.tensor(y)
    panel = make_constant(make_lazy_panels(b[None], tile).materialize())
    target = replace(host_target(), lanes=tile.lanes)
    step = Step(
        transposed_matmul_kernel(tile, target),
        (a_tensor, panel, m, n, k, *output_arguments(y_tensor, Epilogue(), ())),
        -(-m // tile.rows),
        (a_tensor, panel),
        (y_tensor,),
    )
    guarded.run(step, {a_buffer: a, y_buffer: y})
    expected = a.T.astype(np.float64) @ b
    np.testing.assert_allclose(
        y, expected, 0, 1e-6 * max(1.0, np.abs(expected).max(initial=0))
    )  # sums of 33 terms
