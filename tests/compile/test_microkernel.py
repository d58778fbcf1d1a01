"""GEMM register tiles and the microkernel: choice of a tile, packed panels, and rows of A with a stride."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.accumulators import (
    FLOAT32_ARITHMETIC,
    accumulate,
    init_accumulators,
    make_microkernel,
)
from sardonyx._src.compile.kernels.gemm.microkernel import clamp_row, dispatch_tile
from sardonyx._src.compile.kernels.gemm.output import (
    TileStore,
    load_output_matrix,
    output_arguments,
    output_parameters,
)
from sardonyx._src.compile.kernels.gemm.packing import make_constant, make_lazy_panels, pack_bias
from sardonyx._src.compile.kernels.gemm.register_tile import RegisterTile, choose_tile, make_tile
from sardonyx._src.compile.kernels.tuning import tuning_for
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program.step import Kernel, Step


@pytest.mark.parametrize("registers", [16, 32])
def test_a_tile_fits_the_registers(registers: int) -> None:
    target = replace(host_target(), registers=registers)
    for vectors in tuning_for(target).gemm.tile_rows:
        tile = make_tile(vectors, target)
        assert tile.rows * vectors + vectors + 1 <= registers  # accumulators, a row of B, an element of A
        assert tile.rows * vectors >= 8  # two multiply-adds a cycle with a latency of four


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


PARAMETERS = Parameters("a", "b", "m", "n", "k") + output_parameters(Epilogue())


def transposed_matmul_module(name: str, target: Target, tile: RegisterTile) -> str:
    """A kernel of one panel for a transposed A [k, m]; a unit of work is a block of rows."""
    b = KernelBuilder(target, PARAMETERS)
    kernel = make_microkernel(b, tile, Epilogue(), FLOAT32_ARITHMETIC)
    a, panel = b.pointer("a"), b.pointer("b")
    m, n, k = b.integer("m"), b.integer("n"), b.integer("k")
    output = load_output_matrix(b, Epilogue())
    with b.loop(b.first_unit, b.end_unit) as unit:
        row = unit * tile.rows
        for rows in dispatch_tile(kernel, m - row, TileStore(output, row, b.constant(0, I64), n)):
            init_accumulators(kernel, rows)
            addresses = [b.gep(a, row + clamp_row(b, r, m - row)) for r in range(rows)]
            accumulate(kernel, addresses, panel, k, stride=m)
    return b.build_module(name)


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
    kernel = Kernel(
        f"transposed {tile}", lambda name, _: transposed_matmul_module(name, target, tile), PARAMETERS
    )
    output = output_arguments(y_tensor, Epilogue(), ())
    step = Step(
        kernel,
        PARAMETERS.pack(a=a_tensor, b=panel, m=m, n=n, k=k, **output),
        -(-m // tile.rows),
        (a_tensor, panel),
        (y_tensor,),
    )
    guarded.run(step, {a_buffer: a, y_buffer: y})
    expected = a.T.astype(np.float64) @ b
    np.testing.assert_allclose(
        y, expected, 0, 1e-6 * max(1.0, np.abs(expected).max(initial=0))
    )  # sums of 33 terms
