"""Register tiles by the number of rows: those of small batches compute no other rows, and results have the same bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from compile.reference_comparison import normal
from models import parse_model
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, choose_tile
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.ir import Tensor

AVX512 = replace(host_target(), lanes=16, registers=32)
AVX2 = replace(host_target(), lanes=8, registers=16)


@pytest.mark.parametrize(
    ("rows", "computed"), [(1, 2), (2, 5), (5, 5), (6, 6), (7, 8), (8, 11), (10, 10), (14, 17), (64, 64)]
)
def test_computed_rows(rows: int, computed: int) -> None:
    """Code for 1, 5 and 6 rows of four vectors; a single row takes as long as two."""
    assert RegisterTile(6, 4, 16).computed_rows(rows) == computed


@pytest.mark.parametrize("target", [AVX512, AVX2], ids=["avx512", "avx2"])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 14, 16, 100, 1000])
def test_tiles_for_known_rows_waste_least(rows: int, target: Target) -> None:
    best, default = choose_tile(512, target, rows), choose_tile(512, target)
    assert best.computed_rows(rows) <= default.computed_rows(rows)


def test_eight_rows_are_one_tile() -> None:
    assert choose_tile(512, AVX512, 8).computed_rows(8) == 8
    assert choose_tile(512, AVX512).computed_rows(8) == 11


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 14])
@pytest.mark.parametrize("columns", [40, 256, 500])
def test_bits_do_not_depend_on_the_tile(rows: int, columns: int) -> None:
    """A symbolic number of rows has the default tile."""
    x, w = normal(rows, 70, seed=1), normal(70, columns, seed=2)
    results = []
    for dim in (str(rows), "N"):
        text = f"g (float[{dim},70] x, float[70,{columns}] w) => (float[{dim},{columns}] y) {{ y = MatMul(x, w) }}"
        model = parse_model(text, opset=20)
        value = model.graph.inputs[1]
        model.graph.remove_input(value)
        value.initializer = Tensor.of(w)
        model.graph.add_initializer(value)
        results.append(np.asarray(sx.Session(model, engine="native", threads=1).run({"x": x})["y"]))
    assert results[0].tobytes() == results[1].tobytes()
    np.testing.assert_allclose(results[0], x.astype(np.float64) @ w.astype(np.float64), 1e-4, 1e-4)
